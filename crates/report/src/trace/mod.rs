//! The distributions and the course of a pass, reduced to what a chart can show, from the records of
//! its requests. Memory is bounded, and so is the result; what is left out is counted.
//!
//! Nothing here is printed as a figure of the results: those are of [`inferometer_analysis::fold`].

mod course;
mod sample;
mod tail;

use inferometer_analysis::cell::Cell;
use inferometer_analysis::pass::PassSummary;
use inferometer_analysis::summary::Summary;
use inferometer_metrics::{InFlight, Span, Timeline, TokenCurve, e2e, itl, tpot, ttft};
use inferometer_model::cell::CellPlan;
use inferometer_model::outcome::OutcomeKind;
use inferometer_model::record::{CUT_OFF, Record};
use inferometer_model::sample::Observed;
use inferometer_model::time::Nanos;
use inferometer_stats::{Curve, Pool, Sample};

pub use course::{CardCourse, Course, Level, Line, ServerCourse};
pub(crate) use course::{parts_within, thinned_to};
pub use sample::RequestSpan;
use sample::{FailureSample, RequestSample};
use tail::Tail;

/// Points of a cumulative distribution, and columns of a histogram.
const POINTS: usize = 160;
const COLUMNS: usize = 40;

/// The courses and distributions of the passes of a run, in the order in which they were carried
/// out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traces(pub Vec<PassTrace>);

/// The distributions and the course of one pass.
#[derive(Clone, Debug, PartialEq)]
pub struct PassTrace {
    /// The cell of the grid.
    pub cell: CellPlan,
    /// When the first byte of its first request was sent, and when its last request ended; absent
    /// where nothing was sent.
    pub window: Option<(Nanos, Nanos)>,
    /// TTFT, TPOT, ITL and E2E, as far as the pass has them.
    pub latencies: Vec<Latency>,
    /// What happened at which time.
    pub course: Course,
    /// A sample of its requests, to be drawn one by one.
    pub requests: Vec<RequestSpan>,
    /// The sample has every `step`th request by index.
    pub step: u32,
    /// Requests that failed, with the second of the pass in which each ended: all of few, of many
    /// some from the whole pass.
    pub failures: Vec<(f64, OutcomeKind, u32)>,
    /// How many failed in all.
    pub failed: u64,
    /// Requests that a search cut off or no longer began, for the claim of the trial was certain: no
    /// failures.
    pub cut_off: u64,
}

/// The distribution of a latency in milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
    /// Which.
    pub kind: LatencyKind,
    /// Its shape.
    pub curve: Curve,
    /// The requests with the largest values, by index; of ITL each request's largest gap.
    pub tail: Vec<(u32, f64)>,
}

/// A latency that is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LatencyKind {
    /// First visible output after the send.
    Ttft,
    /// Time per output token after the first event.
    Tpot,
    /// Gaps between tokens, pooled over tokens.
    Itl,
    /// Last token event after the send.
    E2e,
}

impl LatencyKind {
    /// All of them, in the order in which people read them.
    pub const ALL: [Self; 4] = [Self::Ttft, Self::Tpot, Self::Itl, Self::E2e];

    /// `TTFT`, ...
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Ttft => "TTFT",
            Self::Tpot => "TPOT",
            Self::Itl => "ITL",
            Self::E2e => "E2E",
        }
    }

    /// `ttft`, ...: part of the ids of elements of a page.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ttft => "ttft",
            Self::Tpot => "tpot",
            Self::Itl => "itl",
            Self::E2e => "e2e",
        }
    }
}

impl PassTrace {
    /// From the first send to the last end, in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.window.map_or(0.0, |(begin, end)| end.seconds_after(begin))
    }
}

impl Traces {
    /// Every pass, in the order in which they were carried out.
    pub fn all(&self) -> impl Iterator<Item = &PassTrace> {
        self.0.iter()
    }

    /// The passes of a summary with their traces: both list those of a cell in the order in which they
    /// were carried out.
    pub fn beside<'a>(
        &'a self,
        summary: &'a Summary,
    ) -> impl Iterator<Item = (&'a Cell, &'a PassSummary, &'a PassTrace)> {
        summary.cells.iter().flat_map(|cell| {
            let own = self.0.iter().filter(|trace| trace.cell == cell.plan());
            cell.passes.iter().zip(own).map(move |(pass, trace)| (cell, pass, trace))
        })
    }

    /// The trace of the `index`th pass of a cell.
    #[must_use]
    pub fn of(&self, cell: CellPlan, index: usize) -> Option<&PassTrace> {
        self.0.iter().filter(|trace| trace.cell == cell).nth(index)
    }
}

/// Takes in the records of one pass, in any order.
#[derive(Clone, Debug)]
pub struct PassTracer {
    cell: CellPlan,
    ttft: Sample,
    tpot: Sample,
    e2e: Sample,
    itl: Pool,
    tails: [Tail; 4],
    in_flight: InFlight,
    tokens: TokenCurve,
    sample: RequestSample,
    failures: FailureSample,
    cut_off: u64,
    observed: Observed,
}

impl PassTracer {
    /// Nothing seen yet.
    #[must_use]
    pub fn new(cell: CellPlan) -> Self {
        Self {
            cell,
            ttft: Sample::default(),
            tpot: Sample::default(),
            e2e: Sample::default(),
            itl: Pool::default(),
            tails: Default::default(),
            in_flight: InFlight::default(),
            tokens: TokenCurve::default(),
            sample: RequestSample::default(),
            failures: FailureSample::default(),
            cut_off: 0,
            observed: Observed::default(),
        }
    }

    /// Takes in the record of one planned request, whatever became of it.
    ///
    /// # Panics
    /// If an event names a read that the record does not have: such a record cannot be decoded.
    pub fn add(&mut self, record: &Record) {
        let timeline = Timeline::new(record);
        let completed = record.outcome.is_complete();
        if let (Some(send_start), Some(ended)) = (record.send_start, record.ended) {
            self.in_flight.add(Span { send_start, ended, completed });
            let first = timeline.first_visible().map(|at| timeline.events[at].arrival);
            self.sample.add(record, (send_start, first, ended));
        }
        if !completed {
            match is_cut_off(record) {
                true => self.cut_off += 1,
                false => self.failures.add(record),
            }
            return;
        }
        self.tokens.add(&timeline.events);
        let one = |sample: &mut Sample, tail: &mut Tail, value: Option<f64>| {
            sample.extend(value);
            tail.add(record.index, value);
        };
        let [to_first, per_token, gaps, to_end] = &mut self.tails;
        one(&mut self.ttft, to_first, ttft::from_sent(&timeline));
        one(&mut self.tpot, per_token, tpot::tpot_ms(&timeline));
        one(&mut self.e2e, to_end, e2e::from_sent(&timeline));
        self.itl.add_request(|all| {
            let before = all.len();
            itl::itl_ms(&timeline, all);
            let largest = all[before..].iter().map(|gap| gap.value).max_by(f64::total_cmp);
            gaps.add(record.index, largest);
        });
    }

    /// Takes in samples of the metrics of the server and its cards.
    pub fn observe(&mut self, observed: &Observed) {
        self.observed.extend(observed.clone());
    }

    /// The trace of the pass.
    #[must_use]
    pub fn finish(self) -> PassTrace {
        let window = self.in_flight.first_send().zip(self.in_flight.last_end());
        let [to_first, per_token, gaps, to_end] = self.tails;
        let all = [
            (LatencyKind::Ttft, self.ttft.curve(POINTS, COLUMNS), to_first),
            (LatencyKind::Tpot, self.tpot.curve(POINTS, COLUMNS), per_token),
            (LatencyKind::Itl, self.itl.curve(POINTS, COLUMNS), gaps),
            (LatencyKind::E2e, self.e2e.curve(POINTS, COLUMNS), to_end),
        ];
        let latencies = all.into_iter().filter_map(|(kind, curve, tail)| {
            Some(Latency { kind, curve: curve?, tail: tail.finish() })
        });
        let begin = window.map_or(Nanos::ZERO, |(begin, _)| begin);
        let (failures, failed) = self.failures.finish(begin);
        let (requests, step) = self.sample.finish(begin);
        PassTrace {
            cell: self.cell,
            window,
            latencies: latencies.collect(),
            course: window.map_or_else(Course::default, |window| {
                Course::of(window, &self.in_flight, &self.tokens, &self.observed)
            }),
            requests,
            step,
            failures,
            failed,
            cut_off: self.cut_off,
        }
    }
}

/// Whether a search cut the request off, which is no failure of the server.
fn is_cut_off(record: &Record) -> bool {
    record.detail.as_deref() == Some(CUT_OFF)
}
