//! Several processes (ranks) that measure one plan together. Finds the rank of this process, and connects it to the
//! other ranks.

use std::{path::PathBuf, sync::Arc, time::Duration};

use clap::Args;
use inferometer_cluster::launcher::{self, LauncherState, RankPlace};
use inferometer_cluster::{Introduction, JoinError, Lead, Meeting, Member, Rendezvous, Token};
use inferometer_plan::Plan;
use inferometer_plan::spec::{Value, Variant, span};
use inferometer_run::{Context, Events, Host, RunRequest, Team, check_ranks, follow, resolve};

use crate::command_line::{Failure, Kind, interrupt, tell, variable};

/// How the processes that a launcher (srun, mpirun, a Kubernetes Job) started find each other.
#[derive(Args)]
pub struct RankFlags {
    /// Address of rank 0, with or without a port; needed if a launcher starts several processes
    /// (ranks) and does not state this address [default: MASTER_ADDR and MASTER_PORT, or the
    /// address that the launcher states. Slurm states it. Kubernetes states it if
    /// INFEROMETER_SERVICE is set. MPI states it only if all ranks run on one machine]
    #[arg(long, value_name = "HOST:PORT", help_heading = "Several processes")]
    rendezvous: Option<Rendezvous>,
    /// How long ranks wait for each other at the start [default: 120s]
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Several processes")]
    join_timeout: Option<Duration>,
    /// File with a secret that all ranks share, so that no other process can join [default: the
    /// launcher's job number, which other users may know]
    #[arg(long, value_name = "FILE", help_heading = "Several processes")]
    token_file: Option<PathBuf>,
}

/// The default time for which ranks wait for each other.
const JOIN_TIMEOUT: Duration = Duration::from_secs(120);

impl RankFlags {
    /// Fills in absent values from `lower`, which has lower precedence.
    pub fn fill_from(&mut self, lower: &Self) {
        self.join_timeout = self.join_timeout.or(lower.join_timeout);
        if self.rendezvous.is_none() {
            self.rendezvous.clone_from(&lower.rendezvous);
        }
        if self.token_file.is_none() {
            self.token_file.clone_from(&lower.token_file);
        }
    }
}

fn time(text: &str) -> Result<Duration, String> {
    span(&Value::Text(text.to_owned())).map_err(str::to_owned)
}

/// Returns the rank of this process and the number of ranks. None if no launcher started several processes. Also None
/// if the number of processes is unknown; a note is then printed.
///
/// # Errors
/// If the launcher's variables contradict each other.
pub fn place() -> Result<Option<RankPlace>, Failure> {
    match launcher::find(&variable).map_err(Failure::usage)? {
        LauncherState::Alone => Ok(None),
        LauncherState::SizeUnknown { note } => {
            tell(note);
            Ok(None)
        }
        LauncherState::Among(place) => Ok(Some(place)),
    }
}

/// Returns an error if a launcher started several processes, for commands that measure with one process.
///
/// # Errors
/// If a launcher started several processes.
pub fn only_one(command: &str) -> Result<(), Failure> {
    match place()? {
        None => Ok(()),
        Some(place) => Err(Failure::usage(format!(
            "`inferometer {command}` is a single process, but {} started {} processes, each of which would measure \
             everything. Start only one process, or set INFEROMETER_RANKS=1 to let each process measure",
            place.launcher.name(),
            place.ranks
        ))),
    }
}

/// Connects this process to the other ranks of a run.
///
/// # Errors
/// If the ranks cannot connect to each other or cannot measure this plan together, or if the token file cannot be read.
pub fn join(
    flags: &RankFlags,
    place: &RankPlace,
    plan: &Plan,
    context: &mut Context,
) -> Result<(), Failure> {
    check_ranks(plan, place.ranks)?;
    let secret = flags.token_file.as_ref().map(|file| {
        let read = std::fs::read(file).map_err(|error| error.to_string());
        let token =
            read.and_then(|text| Token::of_secret(&text).map_err(|error| error.to_string()));
        token.map_err(|why| Failure::usage(format!("--token-file: {}: {why}", file.display())))
    });
    let rendezvous = flags.rendezvous.as_ref();
    let wait = flags.join_timeout.unwrap_or(JOIN_TIMEOUT);
    let meeting = Meeting::of(place, rendezvous, secret.transpose()?, wait);
    let meeting = meeting.map_err(Failure::usage)?;
    let host =
        inferometer_servers::observe::environment().host.unwrap_or_else(|| "unknown".to_owned());
    let me = Introduction {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        plan_hash: plan.hash(),
        rank: place.rank,
        ranks: place.ranks,
        host,
    };
    let stop = context.host.interrupt.flag();
    context.team = if place.rank == 0 {
        Team::Lead(Arc::new(Lead::gather(&meeting, me, &context.salt, tell, stop)?))
    } else {
        let member = Member::join(&meeting, &me, &stop)?;
        context.salt.clone_from(&member.salt);
        Team::Member(Arc::new(member), (place.rank, place.ranks))
    };
    Ok(())
}

/// Measures this process's share of a run, for rank 1 and above. Rank 0 controls the run, and stores and prints the
/// results.
///
/// # Errors
/// If this rank cannot continue, or the run failed at rank 0.
pub fn measure_share(flags: &RankFlags, place: &RankPlace, only: &Variant) -> Result<(), Failure> {
    let (plan, mut context) = resolve(&only.spec, &variable)?;
    context.host = Host { interrupt: interrupt::shared(), ..Host::default() };
    join(flags, place, &plan, &mut context)?;
    interrupt::handle_signals();
    interrupt::recording();
    follow(RunRequest { plan: &plan, context: &context, events: &Events::none() })?;
    Ok(())
}

impl From<JoinError> for Failure {
    fn from(error: JoinError) -> Self {
        match error {
            JoinError::Mistake(_) => Self::usage(error),
            JoinError::Failed(_) => Self::run_failed(error),
            JoinError::Interrupted => Self::new(Kind::Interrupted, error),
        }
    }
}
