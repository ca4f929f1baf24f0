//! What happens in a run, as it happens: the one stream that progress bars, dashboards, scrapers and
//! terminal lines read. No result is computed from it.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use inferometer_analysis::pass::PassSummary;
use inferometer_analysis::summary::Summary;
use inferometer_drive::Live;
use inferometer_model::cell::CellPlan;
use inferometer_model::finding::Finding;
use inferometer_model::process::Process;
use inferometer_model::record::Record;
use inferometer_model::sample::Sample;
use inferometer_model::target::Target;
use inferometer_store::PassBegin;

/// Something that happened in a run. Passes do not overlap. Within a pass, records and samples come from
/// separate threads.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A line for people: what is done next, and how long it may take.
    Message(&'a str),
    /// A line for people that also matters to those who want no messages: something is missing from the
    /// results.
    Warning(&'a str),
    /// The server is now started or connected to. From here on an [`crate::Interrupt`] ends the run.
    Connecting,
    /// The store has the run, and measuring begins.
    RunStarted(&'a RunStarted),
    /// The prompts of a pass are being made.
    PromptsStarted(&'a PromptsStarted),
    /// All prompts of the pass are made.
    PromptsEnded,
    /// Unreported requests are sent before the passes of a cell.
    WarmUpStarted(&'a WarmUpStarted),
    /// All requests of the warm-up have ended.
    WarmUpEnded,
    /// A pass begins.
    PassStarted(&'a PassStarted),
    /// A request of the pass has ended and is recorded.
    Record(&'a Record),
    /// Requests of the pass that never began are recorded: this many, counted from this record's index.
    NeverBegun(&'a Record, u32),
    /// The server or the cards were asked for their metrics during the pass.
    Sample(&'a Sample),
    /// The load generator has ended the pass; its last records may still arrive.
    PassStopped(Option<&'a Process>),
    /// The figures of a pass.
    PassEnded(&'a PassEnded<'a>),
    /// Something that a reader of the results must know.
    Finding(&'a Finding),
    /// The results are written.
    RunEnded(&'a Summary),
    /// The run is over, with or without results.
    Closed,
}

/// A run that begins.
#[derive(Clone, Debug)]
pub struct RunStarted {
    /// Its identity.
    pub id: String,
    /// What is measured, in one line.
    pub title: String,
    /// The server.
    pub target: Target,
    /// When it began, in nanoseconds since the Unix epoch.
    pub started_unix_ns: i64,
    /// The most passes that the run can have.
    pub passes: usize,
    /// Whether the number of passes is exactly that: the run does not end as soon as something is known.
    pub passes_are_known: bool,
}

/// Prompts that are being made.
pub struct PromptsStarted {
    /// The pass that the prompts are for.
    pub label: String,
    /// How many prompts; absent if a time ends the pass.
    pub prompts: Option<u32>,
    /// Counts the prompts made so far, those of earlier passes included.
    pub made: Arc<AtomicU64>,
}

/// A warm-up that begins.
pub struct WarmUpStarted {
    /// The cell, and the word for a warm-up.
    pub label: String,
    /// The cell.
    pub cell: CellPlan,
    /// The load generator's counters.
    pub live: Arc<Live>,
}

/// A pass that begins.
pub struct PassStarted {
    /// Cell, load and repeat, in words.
    pub label: String,
    /// What it is.
    pub begin: PassBegin,
    /// The load generator's counters.
    pub live: Arc<Live>,
}

/// A pass whose figures are known.
pub struct PassEnded<'a> {
    /// Cell, load and repeat, in words.
    pub label: &'a str,
    /// Its figures.
    pub summary: &'a PassSummary,
    /// Whether its records come from an earlier run, so that nothing was sent.
    pub resumed: bool,
}

/// Receives the events of a run. It is called on the measuring threads, so it must be quick; nothing that
/// it does changes what is measured.
pub trait Subscriber: Send + Sync {
    /// Receives an event.
    fn on_event(&self, event: &Event<'_>);
}

/// Ignores all events.
impl Subscriber for () {
    fn on_event(&self, _: &Event<'_>) {}
}

impl<S: Subscriber + ?Sized> Subscriber for Arc<S> {
    fn on_event(&self, event: &Event<'_>) {
        (**self).on_event(event);
    }
}

impl<F: Fn(&Event<'_>) + Send + Sync> Subscriber for F {
    fn on_event(&self, event: &Event<'_>) {
        self(event);
    }
}
