//! The distributions and the course of a pass over time, from the records of its requests. The data is
//! reduced to the resolution of a chart, so the memory in use and the size of the result are limited. The
//! result states how much was left out.
//!
//! This module does not compute the figures of the results; [`inferometer_analysis::fold`] computes them.

mod course;
mod sample;

use inferometer_analysis::{Cell, PassSummary, Summary, drawn::Drawn};
use inferometer_model::{
    CellPlan, Detail, Nanos, Observed, Outcome, OutcomeKind, Record, Timeline,
};

pub use inferometer_analysis::drawn::Latency;

pub use course::{CardCourse, Course, Level, Line, ServerCourse};
pub(crate) use course::{MOST_POINTS, parts_within, thinned_to};
pub use sample::RequestSpan;
use sample::{FailureSample, RequestSample};

/// The traces of the passes of a run, in the order in which the passes were carried out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traces(pub Vec<PassTrace>);

/// The distributions and the course over time of one pass.
#[derive(Clone, Debug, PartialEq)]
pub struct PassTrace {
    /// The cell of the pass.
    pub cell: CellPlan,
    /// The first send and the last end of the requests of the pass; absent if no request was sent.
    pub window: Option<(Nanos, Nanos)>,
    /// The distributions of latencies that charts show. Latencies without values are left out.
    pub latencies: Vec<Latency>,
    /// Whether tokens arrived in bundles, so that the times between tokens are unknown.
    pub lacks_gaps: bool,
    /// The course over time.
    pub course: Course,
    /// A sample of the sent requests, in the order of their indices. Counts from the sample must be
    /// multiplied by `step`.
    pub requests: Vec<RequestSpan>,
    /// The distance between two indices of the sample: `requests` contains every `step`th request.
    pub step: u32,
    /// Failed requests: the end in seconds since the first send, the outcome, and the index in the pass. A request
    /// that never began has its due time instead of its end. The list has all failed requests, or a sample from the
    /// whole pass if there are too many.
    pub failures: Vec<(f64, OutcomeKind, u32)>,
    /// The number of failed requests: all that did not complete, except those of `cut_off`.
    pub failed: u64,
    /// The number of requests that were cancelled or not sent, because the pass was ended early: by a search, by a
    /// condition of the plan, or by an interruption. They are not failures.
    pub cut_off: u64,
}

impl PassTrace {
    /// The time from the first send to the last end, in seconds; 0 if no request was sent.
    pub fn seconds(&self) -> f64 {
        self.window.map_or(0.0, |(begin, end)| end.seconds_after(begin))
    }
}

impl Traces {
    /// The traces of all passes, in the order in which the passes were carried out.
    pub fn all(&self) -> impl Iterator<Item = &PassTrace> {
        self.0.iter()
    }

    /// The passes of a summary, each with its cell and its trace. Passes and traces are matched by their
    /// order within a cell, which is the order in which the passes were carried out.
    pub fn beside<'a>(
        &'a self,
        summary: &'a Summary,
    ) -> impl Iterator<Item = (&'a Cell, &'a PassSummary, &'a PassTrace)> {
        summary.cells.iter().flat_map(|cell| {
            let own = self.0.iter().filter(|trace| trace.cell == cell.plan());
            cell.passes.iter().zip(own).map(move |(pass, trace)| (cell, pass, trace))
        })
    }

    /// The trace of the pass with this index (from 0) among the passes of a cell; absent if there is
    /// none.
    pub fn of(&self, cell: CellPlan, index: usize) -> Option<&PassTrace> {
        self.0.iter().filter(|trace| trace.cell == cell).nth(index)
    }
}

/// Collects the records of one pass and makes a [`PassTrace`] of them. The order of the records does not
/// matter.
#[derive(Clone, Debug, Default)]
pub struct PassTracer {
    cell: CellPlan,
    sample: RequestSample,
    failures: FailureSample,
    cut_off: u64,
    observed: Observed,
}

impl PassTracer {
    /// A tracer without records.
    pub fn new(cell: CellPlan) -> Self {
        Self { cell, ..Self::default() }
    }

    /// Adds the record of one planned request, whatever its outcome.
    pub fn add(&mut self, timeline: &Timeline<'_>) {
        let record = timeline.record;
        if let (Some(send_start), Some(ended)) = (record.send_start, record.ended) {
            let first = timeline.first_visible().map(|at| timeline.events[at].arrival);
            self.sample.add(record, (send_start, first, ended));
        }
        if is_cut_off(record) {
            self.cut_off += 1;
        } else if record.outcome.kind().is_failed() {
            self.failures.add(record);
        }
    }

    /// Adds samples of the metrics of the server and of its cards.
    pub fn observe(&mut self, observed: &Observed) {
        self.observed.extend(observed.clone());
    }

    /// The trace of the pass. `drawn` comes from the same records.
    pub fn finish(self, drawn: Drawn) -> PassTrace {
        let Drawn { in_flight, tokens, lacks_gaps, latencies } = drawn;
        let window = in_flight.first_send().zip(in_flight.last_end());
        let begin = window.map_or(Nanos::ZERO, |(begin, _)| begin);
        let (failures, failed) = self.failures.finish(begin);
        let (requests, step) = self.sample.finish(begin);
        let course = |window| Course::of(window, &in_flight, &tokens, &self.observed);
        PassTrace {
            cell: self.cell,
            window,
            latencies,
            lacks_gaps,
            course: window.map_or_else(Course::default, course),
            requests,
            step,
            failures,
            failed,
            cut_off: self.cut_off,
        }
    }
}

/// Whether the request was cancelled or not sent because the pass was ended early. This is not a failure of the server.
/// A turn that was not sent because an earlier turn failed is a failure.
fn is_cut_off(record: &Record) -> bool {
    match record.outcome {
        Outcome::Cancelled => true,
        Outcome::Skipped => record.detail.as_ref().is_some_and(Detail::is_early_end),
        _ => false,
    }
}
