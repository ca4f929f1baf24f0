//! The events of a run in progress. Progress bars, dashboards, scrapers and terminal lines read this stream.
//! No result is computed from it.

use std::{sync::Arc, sync::atomic::AtomicU64};

use inferometer_analysis::{PassSummary, Summary};
use inferometer_drive::Live;
use inferometer_model::{CellPlan, Finding, Process, Record, Target, Timeline, sample::Sample};
use inferometer_report::progress::{Notice, PairEnded};
use inferometer_store::PassBegin;

/// An event of a run. Passes do not overlap. Within a pass, records and samples come from separate threads.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A step, a fact or a warning for the user: for example the next step, and how long it may take.
    Notice(&'a Notice),
    /// The run now starts its server or connects to it. From here on, an [`crate::Interrupt`] ends the run.
    Connecting,
    /// The run is entered in the store, and the measurement begins.
    RunStarted(&'a RunStarted),
    /// The prompts of a pass are being made.
    PromptsStarted(&'a PromptsStarted),
    /// The generation of prompts before the pass has ended, or has failed. Further prompts may be made during the pass.
    PromptsEnded,
    /// Requests that are not part of the results are sent before the passes of a cell.
    WarmUpStarted(&'a WarmUpStarted),
    /// All requests of the warm-up have ended.
    WarmUpEnded,
    /// A pass begins.
    PassStarted(&'a PassStarted),
    /// A request of the pass has ended and is recorded.
    Record(&'a Timeline<'a>),
    /// Requests of the pass that never began are recorded: the record of the first one, and their number.
    /// Their indices are consecutive.
    NeverBegun(&'a Record, u32),
    /// Metrics of the server or of the cards that were read during the pass.
    Sample(&'a Sample),
    /// The load generator has ended the pass, and all records of the pass are written. The value is the use of
    /// resources by this process during the pass; absent if the pass failed.
    PassStopped(Option<&'a Process>),
    /// The figures of a pass.
    PassEnded(&'a PassEnded<'a>),
    /// A pair of blocks of a comparison has ended.
    PairEnded(&'a PairEnded),
    /// A finding for the readers of the results.
    Finding(&'a Finding),
    /// The end of the run is stored, and its report is written next. If the process dies now, the report can be
    /// made again from the stored run.
    RunStored(&'a Summary),
    /// The report is written, too.
    RunEnded(&'a Summary),
    /// The run is over, with or without results.
    Closed,
}

/// A run that begins.
#[derive(Clone, Debug)]
pub struct RunStarted {
    /// The id of the run.
    pub id: String,
    /// The model and the server, in one line.
    pub title: String,
    /// The server.
    pub target: Target,
    /// When the run began, in nanoseconds since the Unix epoch.
    pub started_unix_ns: i64,
    /// The maximum number of passes of the run.
    pub passes: usize,
    /// All passes of the run, in their order; empty if results decide how many there are.
    pub expected: Vec<ExpectedPass>,
    /// Whether the weights of these passes are the seconds that they are expected to take.
    pub times_are_known: bool,
}

/// A pass that is expected, so that the time left can be estimated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedPass {
    /// Its cell of the grid.
    pub cell: CellPlan,
    /// The number of its repeat, from 1.
    pub repeat: u32,
    /// The index of its load among those of its cell.
    pub load: usize,
    /// About how long it takes, relative to the other passes of the run; above 0.
    pub weight: f64,
}

/// Prompts that are being made.
pub struct PromptsStarted {
    /// The name of the pass that the prompts are for.
    pub label: String,
    /// The number of prompts; absent if the pass is limited only by time.
    pub prompts: Option<u32>,
    /// Counts the prompts made so far, including the prompts of earlier passes.
    pub made: Arc<AtomicU64>,
}

/// A warm-up that begins.
pub struct WarmUpStarted {
    /// The cell and the word `warm-up`, as text for the user.
    pub label: String,
    /// The cell.
    pub cell: CellPlan,
    /// The load generator's counters.
    pub live: Arc<Live>,
}

/// A pass that begins.
pub struct PassStarted {
    /// Cell, load and repeat, as text for the user.
    pub label: String,
    /// The description of the pass that the log contains.
    pub begin: PassBegin,
    /// The load generator's counters.
    pub live: Arc<Live>,
}

/// A pass whose figures are known.
pub struct PassEnded<'a> {
    /// Cell, load and repeat, as text for the user.
    pub label: &'a str,
    /// The figures of the pass.
    pub summary: &'a PassSummary,
    /// Whether the records of the pass come from an earlier run, so that nothing was sent.
    pub resumed: bool,
    /// Whether the pass is a block of a comparison. Then [`Event::PairEnded`] states its figures.
    pub is_block: bool,
}

/// Receives the events of a run. [`Subscriber::on_event`] is called on the threads of the measurement, so it must
/// return quickly.
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
