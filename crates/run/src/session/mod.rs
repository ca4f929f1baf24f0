//! One run from beginning to end: prepare, measure cell by cell, finish. Each step is in a separate file. This file
//! calls the steps in their order.

mod ab;
mod dataset_exhausted;
mod finish;
mod follow;
mod in_memory;
mod launched;
mod lengths;
mod missing;
mod passes;
mod prefix_cache;
mod prepare;
mod prompt_findings;
mod resume;
mod slow;
mod trials;

pub use ab::{Pairing, carry_out_pairs};
pub use follow::follow;
pub use in_memory::carry_out_in_memory;
pub use lengths::{ChosenLengths, choose_lengths};

use std::path::PathBuf;

use inferometer_analysis::{Summary, ranks::RankSummary};
use inferometer_cluster::{Order, RankReport};
use inferometer_model::{CellPlan, Finding, calendar::rfc3339, code, request::BodyHasher};
use inferometer_plan::{Plan, Procedure, Repeat, precision::Precision};
use inferometer_report::progress::Notice;
use inferometer_servers::observe::Observer;
use inferometer_store::{RunHeader, RunId};
use inferometer_workload::PromptScope;

use crate::prompts::{PromptCursor, Prompts, WorkloadHash};
use crate::results::summarise::{RunFacts, summarise};
use crate::{
    Context, EmbeddedServer, Event, Events, Network, Outputs, ReadyTarget, RunError, Servers,
    Start, pass::event_loops::EventLoops, pass::runner::PassRunner, recording::recorder::Recording,
    results::grid::Grid, resume::SentPass, target::reach, team,
};
use prefix_cache::PrefixCache;

/// The input of a run.
#[derive(Clone, Copy)]
pub struct RunRequest<'a> {
    /// The plan to measure.
    pub plan: &'a Plan,
    /// The inputs of the run in addition to the plan.
    pub context: &'a Context,
    /// Receives the events of the run.
    pub events: &'a Events,
}

/// A run that has ended, complete or not.
#[derive(Debug)]
pub struct Finished {
    /// The results of the run.
    pub summary: Summary,
    /// The id of the run in the store.
    pub run: RunId,
    /// The folder of the report; absent if the results were copied from an earlier run, which has the report.
    pub folder: Option<PathBuf>,
    /// Whether the user interrupted the run.
    pub interrupted: bool,
}

/// Carries out a run over the sockets of this machine. A server that the plan starts stays in `servers`,
/// so that the next run can use it too.
///
/// # Errors
/// When the run cannot be carried out. If the error is a mistake in the plan, nothing was measured.
pub fn carry_out(request: RunRequest<'_>, servers: &mut Servers) -> Result<Finished, RunError> {
    let RunRequest { plan, context, .. } = request;
    let net = EventLoops::of(plan).map_err(RunError::Sockets)?;
    carry_out_over(net, request, servers, |servers, start| {
        reach::prepare(plan, context, servers, start)
    })
}

/// Carries out a run over any network, with a server that `connect` makes ready.
///
/// # Errors
/// The errors of [`carry_out`] and of `connect`.
pub fn carry_out_over<N: Network>(
    net: N,
    request: RunRequest<'_>,
    servers: &mut Servers,
    connect: impl FnOnce(&mut Servers, Start<'_>) -> Result<ReadyTarget, RunError>,
) -> Result<Finished, RunError> {
    match request.plan.procedure {
        Procedure::Passes | Procedure::Search(_) | Procedure::Sweep(_) => {}
        Procedure::Ab(_) => {
            return Err(RunError::plan(
                "ab: only `inferometer ab` can measure this plan; use this command, or leave out [ab]",
            ));
        }
    }
    let session = prepare::prepare(net, request, servers, connect);
    let finished = session.and_then(Session::play);
    if let Some(lead) = request.context.team.lead() {
        lead.end(match &finished {
            Ok(Finished { interrupted: false, .. }) => None,
            Ok(_) => Some("it was interrupted".to_owned()),
            Err(error) => Some(error.to_string()),
        });
    }
    request.context.host.interrupt.wakes(None);
    request.events.emit(Event::Closed);
    finished
}

/// A run in progress.
struct Session<'a, N> {
    request: RunRequest<'a>,
    servers: &'a mut Servers,
    outputs: Outputs,
    runner: PassRunner<N>,
    prompts: Prompts,
    recording: Recording,
    observer: Observer,
    header: RunHeader,
    grid: Grid,
    findings: Vec<Finding>,
    workload_hash: WorkloadHash,
    body_hasher: BodyHasher,
    /// Whether this process has encoded all request bodies of the run, so that their hash is known.
    bodies_are_known: bool,
    /// The number of the next pass, from 0.
    pass_number: u32,
    /// Number of passes that ran to their end.
    completed: usize,
    cache: PrefixCache,
    cursor: PromptCursor,
    /// Whether a pass had no number of requests. The cursor may then be ahead of the prompts that were sent.
    cursor_is_upper_bound: bool,
    /// The passes whose prompts the server may already have in its cache.
    sent_before: Vec<SentPass>,
    /// Why the run cannot continue; `None` while it can.
    broken: Option<String>,
    /// The reports of the other ranks on each pass.
    reports: Vec<RankReport>,
    /// The embedded engine, if it is measured; it ends with this run.
    _embedded: Option<EmbeddedServer>,
}

impl<N: Network> Session<'_, N> {
    fn play(mut self) -> Result<Finished, RunError> {
        let folder = self.outputs.of(self.recording.run());
        if let Err(error) = folder.and_then(|folder| self.servers.keep_files_in(&folder)) {
            self.broken = Some(error.to_string());
            return self.finish();
        }
        for &cell in &self.request.plan.cells {
            // An error in a cell ends the run. The earlier results of the run remain.
            if let Err(error) = self.cell(cell) {
                self.broken = Some(error.to_string());
            }
            if self.is_stopped() {
                break;
            }
        }
        self.finish()
    }

    fn cell(&mut self, cell: CellPlan) -> Result<(), RunError> {
        let warm_up = self.place_of_warm_up(cell);
        if self.request.plan.procedure.chooses_loads() {
            self.resume_trials(cell)?;
            if self.grid.trials_go_on(cell, self.request.plan) {
                self.revive_server()?;
                self.runner.ends = self.time_limit(cell);
                let measured = self.warm_up(cell, warm_up).and_then(|()| self.trials(cell));
                self.runner.ends = None;
                measured?;
            }
        } else {
            self.repeats(cell, warm_up)?;
        }
        // The figures are written now, so that a later crash loses no results of this cell. If the files cannot be
        // written, the run continues: the records are stored, and the report is written again at the end.
        if let Err(error) = self.outputs.write_figures(&self.summary(), self.recording.run()) {
            self.request.events.say(&Notice::FiguresNotWritten { cell, why: error.to_string() });
        }
        Ok(())
    }

    /// Measures the passes of a cell, repeated as often as the plan requires. The warm-up comes before the first pass
    /// that is not copied from an earlier run.
    fn repeats(&mut self, cell: CellPlan, warm_up: Option<PromptScope>) -> Result<(), RunError> {
        let Plan { repeat: Repeat { at_least, at_most, until }, .. } = self.request.plan;
        let passes = self.request.plan.passes_of(cell);
        let mut warm_up = Some(warm_up);
        let mut not_reached: Vec<&Precision> = Vec::new();
        for repeat in 1..=*at_most {
            for pass in &passes {
                if self.is_stopped() {
                    return Ok(());
                }
                if self.resume_repeat(cell, repeat, pass)? {
                    continue;
                }
                if let Some(place) = warm_up.take() {
                    self.revive_server()?;
                    self.warm_up(cell, place)?;
                }
                self.rest()?;
                self.pass(cell, repeat, pass)?;
                if self.server_died(cell, pass).is_some() {
                    return Ok(());
                }
            }
            let passes = self.grid.passes_of(cell);
            not_reached = until
                .iter()
                .filter(|precision| !inferometer_analysis::repeats::is_reached(precision, passes))
                .collect();
            if repeat >= *at_least && not_reached.is_empty() {
                return Ok(());
            }
        }
        for precision in not_reached {
            let message = format!(
                "after {at_most} repeats, {} is not reached for at least one load",
                precision.text
            );
            self.found(Finding::of(code::PRECISION_NOT_REACHED, message).at(cell.to_string()));
        }
        Ok(())
    }

    fn is_stopped(&self) -> bool {
        self.runner.interrupted() || self.broken.is_some()
    }

    /// Waits between two passes, if the plan has a cooldown.
    fn rest(&mut self) -> Result<(), RunError> {
        match self.request.plan.cooldown.filter(|_| self.pass_number > 0) {
            None => Ok(()),
            Some(span) => self.runner.rest(span).map_err(RunError::Sockets),
        }
    }

    /// Sends the other ranks an order for work that only rank 0 does, such as a warm-up. The other ranks then count
    /// its prompts as used.
    fn tell_ranks(&self, order: Order) {
        if let Some(lead) = self.request.context.team.lead() {
            lead.order(order, Vec::new());
        }
    }

    /// The summaries of the ranks that measure the run together; empty for a single process.
    fn ranks(&self) -> Vec<RankSummary> {
        let Some(lead) = self.request.context.team.lead() else { return Vec::new() };
        let host = self.header.environment.host.clone().unwrap_or_default();
        let hosts = std::iter::once(host).chain(lead.hosts());
        // A lost rank also sets the interruption flag of rank 0, although the user did not interrupt the run.
        let lost = lead.lost().into_iter().map(|lost| lost.map(|why| why.to_string()));
        let lost = std::iter::once(None).chain(lost);
        let ranks: Vec<_> = hosts.zip(lost).collect();
        let outcomes = |rank| self.recording.of_rank(rank);
        let interrupted = self.runner.interrupted() && self.broken.is_none();
        team::summaries(&ranks, &self.reports, outcomes, interrupted)
    }

    /// Adds a finding and sends it as an event.
    fn found(&mut self, finding: Finding) {
        self.request.events.emit(Event::Finding(&finding));
        self.findings.push(finding);
    }

    fn summary(&self) -> Summary {
        let facts = RunFacts {
            run_id: self.recording.run().to_string(),
            started_at: rfc3339(self.header.started_unix_ns),
            origin_unix_ns: self.header.origin_unix_ns,
            plan: &self.header.plan,
            target: &self.header.target,
            environment: &self.header.environment,
            tool_version: &self.header.tool_version,
            predicted: self.header.predicted,
            workload_hash: Some(self.workload_hash.hash()),
            body_hash: self.bodies_are_known.then(|| self.body_hasher.clone().finish()),
            ranks: self.ranks(),
        };
        summarise(facts, &self.grid, self.findings.clone())
    }
}
