//! The flags of `run`, which `search`, `sweep` and `ab` also have, and their conversion to keys of a plan.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use inferometer_plan::spec::{PlanCommand, Spec};
use inferometer_run::Strictness;
use serde::Serialize;
use serde_json::{Map, Value};

use super::budget::{Asked, Budget};
use super::ranks::RankFlags;
use crate::command_line::taken::why_left_out;
use crate::command_line::{Failure, View, prometheus};

/// The flags of `run`. Those that describe the measurement are keys of a plan file, with underscores. A command that
/// does not take a flag has no parser for it: see the module `taken`.
#[derive(Args)]
pub struct RunArgs {
    /// A plan file (TOML); flags override its keys. If it has [[target]] tables, each of these
    /// servers is measured, with the same requests; `ab` compares two of them
    plan: Option<PathBuf>,
    /// Server under test, such as http://127.0.0.1:8000 or unix:/path/to.sock. May be given several
    /// times, for identical servers (replicas): the requests of one load are distributed over them.
    /// In `ab`, the second server is side B; a single server is compared with itself [default:
    /// OPENAI_BASE_URL, else the embedded engine]
    #[arg(long = "target", id = "target", value_name = "URL", help_heading = "Target")]
    targets: Option<Vec<String>>,
    /// URL of the server's metrics, or their path on the server. For several pools, such as prefill
    /// and decode, give the flag once for each pool [default: /metrics, if the server has it]
    #[arg(long, value_name = "URL|PATH", help_heading = "Target")]
    metrics_url: Option<Vec<String>>,
    #[command(flatten)]
    spec: Spec,
    /// Resume an interrupted run: copy its completed passes (in a search or a sweep: its completed
    /// trials) into a new run, and measure the rest. A plan with several servers makes a group of
    /// runs: to resume a group, give the plan file and the name of the group
    #[arg(long, value_name = "RUN|GROUP")]
    pub resume: Option<String>,
    /// Print the resolved plan, its hash, and its estimated time and memory; send nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print one JSON document on stdout, and nothing else
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Write a JUnit XML file with one test case for each pass and objective (--slo), for each
    /// answer of a search, or for each metric of a comparison (--gate). A test case passes if the
    /// objective or condition is met, and is skipped if the answer is undecided
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub junit: Option<PathBuf>,
    /// Print less on stderr: only errors, warnings, the verdict on objectives or on --gate (such as
    /// PASS), and the port that --metrics-listen 0 has chosen
    #[arg(long, short, help_heading = "Output")]
    pub quiet: bool,
    /// Do not show progress bars
    #[arg(long, help_heading = "Output")]
    no_progress: bool,
    /// Show the run in progress on the full screen: throughput, latencies, failures, server
    /// metrics. The measurement does not change
    #[arg(long, conflicts_with_all = ["quiet", "no_progress"], help_heading = "Output")]
    pub tui: bool,
    /// Serve metrics of the run in progress for Prometheus (GET /metrics) at this address
    /// (IP:PORT), or at this port of 127.0.0.1; port 0 chooses a free port. The measurement does
    /// not change
    #[arg(long, value_name = "ADDRESS", value_parser = prometheus::address, help_heading = "Output")]
    pub metrics_listen: Option<SocketAddr>,
    /// What to spend on a server if neither lengths nor loads are given: a time, such as 1m, or a
    /// number of tokens, such as 200000tokens. A probe chooses the lengths, and the load rises until
    /// the server is saturated [default: 1m; also at most 500000 tokens if the server has a key]
    #[arg(long, value_name = "TIME|TOKENS", conflicts_with = "full", help_heading = "Load")]
    pub budget: Option<Budget>,
    /// The budget in the settings. It has no effect on a run that chooses nothing.
    #[arg(skip)]
    usual_budget: Option<Budget>,
    /// Measure the default lengths one by one and all at once, however long it takes, instead of a
    /// run within --budget
    #[arg(long, help_heading = "Load")]
    pub full: bool,
    /// Start without confirmation. By default, a run of more than ten minutes must be confirmed if
    /// a terminal is attached. With --quiet, or with several servers or rounds of a plan, no
    /// confirmation is needed
    #[arg(long, short)]
    yes: bool,
    /// Exit with code 4 if the run is suspect (for example, some of its figures cannot be trusted),
    /// or if the answer of a search is undecided; in `ab`, also with code 3 if a condition of --gate
    /// is undecided
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    pub ranks: RankFlags,
}

/// The given flags as a JSON object, by their names with underscores. Absent flags are left out.
pub fn given(flags: &impl Serialize) -> Result<Map<String, Value>, Failure> {
    let Ok(Value::Object(mut keys)) = serde_json::to_value(flags) else {
        return Err(Failure::usage("the flags cannot be read"));
    };
    keys.retain(|_, value| !value.is_null());
    Ok(keys)
}

impl RunArgs {
    /// The plan file, if one was given.
    pub fn plan(&self) -> Option<&Path> {
        self.plan.as_deref()
    }

    /// Takes flags that are not keys of a plan from `lower`, if they are absent here. A flag of `lower` is ignored if
    /// it contradicts a given flag.
    pub fn fill_from(&mut self, lower: &Self) {
        let (shows_all, shows_less) = (self.tui, self.quiet || self.no_progress);
        self.tui |= lower.tui && !shows_less;
        self.quiet |= lower.quiet && !shows_all;
        self.no_progress |= lower.no_progress && !shows_all;
        self.json |= lower.json;
        self.yes |= lower.yes;
        self.strict |= lower.strict;
        self.ranks.fill_from(&lower.ranks);
        self.dry_run |= lower.dry_run;
        self.full |= lower.full && self.budget.is_none();
        self.usual_budget = lower.budget;
        self.metrics_listen = self.metrics_listen.or(lower.metrics_listen);
        if self.resume.is_none() {
            self.resume.clone_from(&lower.resume);
        }
        if self.junit.is_none() {
            self.junit.clone_from(&lower.junit);
        }
    }

    /// What the run may choose by itself; nothing if `has_load`.
    pub fn asked(&self, has_load: bool) -> Asked {
        Asked {
            budget: self.budget,
            usual: self.usual_budget,
            full: self.full || has_load,
            junit: self.junit.is_some(),
        }
    }

    /// How the run is shown on the terminal, and whether to ask for confirmation.
    pub fn view(&self) -> View {
        View {
            quiet: self.quiet,
            progress: !self.no_progress && !self.quiet && !self.tui,
            tui: self.tui,
            ask: !self.yes && !self.quiet,
        }
    }

    /// Whether a suspect run is a failure (`--strict`).
    pub fn strictness(&self) -> Strictness {
        if self.strict { Strictness::Strict } else { Strictness::Lenient }
    }

    /// The values of all `--target` flags.
    pub fn targets(&self) -> &[String] {
        self.targets.as_deref().unwrap_or_default()
    }

    /// The given flags as keys of a plan.
    pub fn keys(&self) -> Result<Map<String, Value>, Failure> {
        let mut keys = given(&self.spec)?;
        for (key, all) in [("target", &self.targets), ("metrics_url", &self.metrics_url)] {
            match all.as_deref() {
                None => {}
                Some([one]) => drop(keys.insert(key.to_owned(), one.clone().into())),
                Some(several) => drop(keys.insert(key.to_owned(), several.into())),
            }
        }
        Ok(keys)
    }

    /// Like [`Self::keys`], with only the first target if there are several.
    pub fn keys_of_first_target(&self) -> Result<Map<String, Value>, Failure> {
        let mut keys = self.keys()?;
        if let Some(first) = self.targets().first() {
            keys.insert("target".to_owned(), first.clone().into());
        }
        Ok(keys)
    }

    /// Clears the flags that a command does not take, because settings may contain them.
    pub fn clear_left_out(&mut self, command: PlanCommand) {
        let is_left_out = |id: &str| why_left_out(command, id).is_some();
        self.junit = self.junit.take().filter(|_| !is_left_out("junit"));
        self.resume = self.resume.take().filter(|_| !is_left_out("resume"));
        self.tui &= !is_left_out("tui");
    }
}
