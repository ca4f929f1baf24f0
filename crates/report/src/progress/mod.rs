//! What a run tells while it is prepared and measured: typed values, and their words for people. A run only makes the
//! values. Terminals, callbacks in Python and other displays get the words from here.

mod cost;
mod pair;
mod span;
mod step;
mod trial;

use std::path::PathBuf;

use derive_more::Display;
use inferometer_analysis::{PassSummary, SearchAnswer, SweepAnswer};
use inferometer_model::digits::{counted, percent, significant};
use inferometer_model::{CellPlan, Finding, target::Startup};
use inferometer_plan::search::Over;
use serde::Serialize;

pub use cost::{AbCost, AllAtLowest, Bound, Chosen, SearchCost, SweepCost};
pub use pair::{PairEnded, ShareSoFar};
pub use step::SlowStep;
pub use trial::{
    CriterionSoFar, EdgeSoFar, KneeSoFar, LastTrial, NextTrialOfSweep, SearchTrial, SweepTrial,
    TrialsLeft,
};

/// A step, a fact or a warning of a run. [`ToString`] gives the line for people, without a line end.
#[derive(Clone, Debug, PartialEq, Serialize, Display)]
#[serde(tag = "notice", rename_all = "snake_case")]
#[cfg_attr(test, derive(strum::VariantNames), strum(serialize_all = "snake_case"))]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text says what the fields are")]
pub enum Notice {
    /// The key in a header is so short that it is not removed from texts of the server. `min_chars`: the number of
    /// characters from which on a key is removed.
    #[display(
        "warning: the key in the header {header} has fewer than {min_chars} characters, so it is not removed from \
            texts in which the server quotes it"
    )]
    ShortKey { header: String, min_chars: usize },
    /// The command of the plan is started.
    #[display("starting {}", command.join(" "))]
    ServerStarting { command: Vec<String> },
    /// The started server is not ready yet. `last_line`: the last line of its log; absent if there is none, or if it
    /// has not changed.
    #[display(
        "  {waited_s} s; {}",
        last_line.as_ref().map_or("no new log line".to_owned(), |line| format!("last log line: {line}"))
    )]
    ServerNotReady { waited_s: u64, last_line: Option<String> },
    /// The started server is ready, and has answered its first request.
    #[display("server ready {}", crate::startup(startup))]
    ServerReady { startup: Startup },
    /// A server that the plan does not start is not ready yet.
    #[display("waiting for the server, {waited_s} of {wait_s:.0} s: {why}")]
    WaitingForServer { waited_s: u64, wait_s: f64, why: String },
    /// The server has died, and is started again.
    #[display("the server is started again")]
    ServerStartedAgain,
    /// The started server is ended.
    #[display("ending the server")]
    ServerEnding,
    /// A step takes longer than a moment.
    #[display("{step}")]
    Slow { step: SlowStep },
    /// The embedded engine is measured.
    #[display(
        "SIMULATION: the embedded engine simulates {model} with {} {} (profile {})",
        or(engine, "an unknown server"),
        or(version, "of unknown version"),
        or(profile, "unknown")
    )]
    Simulating {
        /// The model.
        model: String,
        /// The engine that is simulated.
        engine: Option<String>,
        /// Its version.
        version: Option<String>,
        /// The timings that are used.
        profile: Option<String>,
    },
    /// A server is identified.
    #[display(
        "target: {url} is {} {}",
        or(engine, "an unknown server"),
        or(version, "of unknown version")
    )]
    Identified { url: String, engine: Option<String>, version: Option<String> },
    /// No target is given, and this server runs on the machine.
    #[display("note: {url} is {server}; benchmark it with: inferometer run --target {url}")]
    LocalServer { url: String, server: String },
    /// What is measured.
    #[display(
        "measuring {model} ({workload} prompts, {dialect}) in {}: {}",
        counted(*cells, "cell"),
        passes.join("; ")
    )]
    Measuring {
        /// The model.
        model: String,
        /// The kind of prompts.
        workload: String,
        /// The API of the server.
        dialect: String,
        /// The number of cells.
        cells: usize,
        /// Each load once.
        passes: Vec<String>,
    },
    /// The plan has a concurrency and a rate. The user may have meant one load with both.
    #[display(
        "concurrency and rate are separate loads, measured one after the other; for an arrival rate with a limit on \
            requests in flight, give --rate with --max-in-flight"
    )]
    TwoLoads,
    /// The report of another run is replaced.
    #[display("out: {}: this run replaces the report of run {run}", folder.display())]
    ReplacesReport { folder: PathBuf, run: String },
    /// The requests of another run are made again.
    #[display("making the requests of run {run} again, to check that they are the same")]
    CheckingSameWork { run: String },
    /// A finding that is a warning, from before the measurement or from a trial.
    #[display("warning: {}", finding.message)]
    Finding { finding: Box<Finding> },
    /// The lengths and the limits that are chosen for a server of which the user gave neither lengths nor loads.
    /// `alone_s`: the time of one request alone, in seconds; absent if it did not complete. `most_tokens`: the most
    /// tokens of all requests; absent if there is no limit.
    #[display(
        "{cell} tokens a request{}: measured for about {} at a rising load{}",
        alone_s.map_or_else(String::new, |s| format!(", which takes {} s alone", significant(s, 2))),
        span::in_words(*most_s),
        most_tokens.map_or_else(
            || " (--budget 10m for more certain figures, --full for all default lengths)".to_owned(),
            |most| format!(", with about {most} tokens at most")
        )
    )]
    ChosenLengths { cell: CellPlan, alone_s: Option<f64>, most_s: f64, most_tokens: Option<u64> },
    /// The goal of a search. `precision`: the largest width of the interval, as a share of its lower end.
    /// `confidence`: the probability that the interval contains the answer, from 0 to 1.
    #[display(
        "searching for the highest {over} that meets {}, within {}% at {}% confidence",
        objectives.join(" and "),
        percent(*precision),
        percent(*confidence)
    )]
    Searching { over: Over, objectives: Vec<String>, precision: f64, confidence: f64 },
    /// The largest cost of a search.
    SearchCost(SearchCost),
    /// The largest cost of a sweep.
    SweepCost(SweepCost),
    /// The largest cost of a comparison of two servers.
    AbCost(AbCost),
    /// Trials on the embedded engine in real time would take seconds in virtual time.
    #[display(
        "this {of} runs on the embedded engine in real time; --predict runs it in virtual time, in seconds"
    )]
    UseVirtualTime { of: Chosen },
    /// How long the run takes.
    #[display("{}", cost::estimate(*least_s, *most_s))]
    Estimate { least_s: f64, most_s: f64 },
    /// How long the run takes at least: the begins of jobs and the gaps between their calls.
    #[display("{}", cost::gaps_alone(*least_s))]
    EstimateOfGaps { least_s: f64 },
    /// How long the run takes is not known.
    #[display(
        "estimate: unknown (a first request was not answered with any text, or requests wait for the answers to others, as in \
            conversations)"
    )]
    EstimateUnknown,
    /// How long the run takes is not known before the server has answered.
    #[display("estimate: unknown until the server has answered the first requests")]
    EstimateLater,
    /// A trial of a search has ended.
    #[display("    {trial}")]
    SearchTrial { trial: Box<SearchTrial> },
    /// A trial of a sweep has ended.
    #[display("    {trial}")]
    SweepTrial { trial: Box<SweepTrial> },
    /// The time limit has ended the last trial. `used`: the number of completed requests that are used; absent if the
    /// trial is discarded.
    #[display(
        "    the time limit of --max-time is reached within the last trial: {}",
        trial::used(*used, *over)
    )]
    TrialOutOfTime { used: Option<u64>, over: Option<Over> },
    /// The answer of a search for a cell, or for a tier of a cell.
    #[display("  {}: {}", answer.cell(), answer.answer)]
    SearchAnswer { answer: Box<SearchAnswer> },
    /// The answer of a sweep for a cell.
    #[display("  {}: {}", answer.cell(), answer.answer)]
    SweepAnswer { answer: Box<SweepAnswer> },
    /// The server has ended before the end of a pass.
    #[display("error: {cell}, {pass}: the server ended: {last_lines}")]
    ServerEnded { cell: CellPlan, pass: String, last_lines: String },
    /// The figures of a cell cannot be written to the folder of the report yet.
    #[display("warning: {cell}: {why}; measuring continues")]
    FiguresNotWritten { cell: CellPlan, why: String },
    /// Two servers are compared.
    #[display("{name}: two runs, measured in alternating blocks")]
    AbBegins { name: String },
    /// Each side gets prompts of its own, because both addresses lead to one server.
    #[display(
        "both addresses lead to one server, which may cache prompts: each side gets different prompts of the same \
            lengths"
    )]
    DifferentPrompts,
    /// Several runs begin, one for each server and round.
    #[display("{name}: {runs} runs; if interrupted: --resume {name}")]
    GroupBegins { name: String, runs: usize },
    /// How long all runs take.
    #[display("{}", cost::all_runs(*bound, *time_s))]
    AllRuns { bound: Bound, time_s: f64 },
    /// How long all runs take is not known yet.
    #[display("the time of all runs depends on the servers; it is estimated after the first run")]
    AllRunsUnknown,
    /// A run in the store that belongs to the group cannot be read.
    #[display("a run in the store is ignored: {why}")]
    RunIgnored { why: String },
    /// A run of the group begins. `left_s`: the time of the runs that are left, in seconds; absent before the first
    /// run has ended.
    #[display("\n[{number} of {runs}] {name}{}", cost::left(*left_s))]
    RunBegins { number: usize, runs: usize, name: String, left_s: Option<f64> },
    /// The results of a run are those of a complete run in the store.
    #[display("copied from run {run}")]
    RunCopied { run: String },
    /// A run of the group has failed. The next run begins.
    #[display("error: {name}: {why}")]
    RunFailed { name: String, why: String },
}

impl Notice {
    /// Whether the user should see the line even if messages are off, for example because results are incomplete.
    pub fn is_urgent(&self) -> bool {
        matches!(
            self,
            Self::ServerEnded { .. } | Self::FiguresNotWritten { .. } | Self::LocalServer { .. }
        )
    }
}

/// The figures of a pass in one line.
pub fn pass_ended(label: &str, summary: &PassSummary) -> String {
    let rate = summary.output_tokens_per_s.unwrap_or(0.0);
    let seconds = summary.duration_s.unwrap_or(0.0);
    let rate = match summary.pooled.and_then(|pooled| pooled.inputs_per_s) {
        Some(inputs) => format!("{inputs:.1} inputs/s"),
        None => format!("{rate:.1} tokens/s"),
    };
    format!("  {label}: {} in {seconds:.2} s, {rate}", summary.outcomes)
}

fn or<'a>(name: &'a Option<String>, unknown: &'static str) -> &'a str {
    name.as_deref().unwrap_or(unknown)
}

#[cfg(test)]
mod tests;
