//! The figures of one request by which objectives are judged. Statistics over several requests are computed elsewhere.

use crate::metrics::definition::{OnRequests, Pending};
use crate::metrics::gaps::Gaps;
use crate::metrics::registry;
use crate::metrics::slo::JudgedMetric;
use crate::{Definition, Nanos, Outcome, OutcomeKind, Timeline};

/// The maximum number of metrics by which a request can be judged: the capacity of [`RequestFigures::values`].
pub const MOST_JUDGED: usize = 14;

/// Whether a request ended within its trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// The request has an outcome other than `cancelled` and `skipped`.
    #[default]
    Ended,
    /// The request was due, but had not ended when the trial was cut off.
    CutOff,
    /// The request was not due yet when the trial was cut off.
    NeverSent,
}

/// The data of one request that searches, sweeps and the early end of a pass need.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RequestFigures {
    /// The index of the request in the order of starts.
    pub index: u32,
    /// Whether the request ended within its trial.
    pub fate: Fate,
    /// When the request was due.
    pub due: Nanos,
    /// When the request ended, with any outcome, or was cut off; absent if it never began.
    pub ended: Option<Nanos>,
    /// Whether the request did not fail. True for a request that was cut off, because its figures are those of the best
    /// case.
    pub complete: bool,
    /// Whether the client left before the answer was complete.
    pub is_left: bool,
    /// Whether the server refused the request because the client sends too many (HTTP status 429).
    pub is_rate_limited: bool,
    /// When the request was sent; absent if it was not sent.
    pub sent: Option<Nanos>,
    /// When the first visible output arrived; absent if there was none.
    pub first: Option<Nanos>,
    /// Whether the times between the request's tokens are known: the counts of this request only.
    pub gaps: Gaps,
    /// The number of output tokens; 0 if unknown.
    pub output_tokens: u32,
    /// The values by which the request is judged, in the order of [`registry::judged_on_requests`].
    pub values: [Option<f64>; MOST_JUDGED],
}

impl RequestFigures {
    /// The figures of a record.
    pub fn of(timeline: &Timeline<'_>) -> Self {
        let record = timeline.record;
        let mut gaps = Gaps::default();
        if record.outcome.is_complete() {
            gaps.add(timeline);
        }
        let found = Self {
            index: record.index,
            fate: Fate::Ended,
            due: record.due,
            ended: record.ended,
            complete: !record.outcome.kind().is_failed(),
            is_left: record.outcome.kind() == OutcomeKind::Abandoned,
            is_rate_limited: record.outcome == Outcome::Rejected { status: 429 },
            sent: record.send_start,
            first: timeline.first_visible().map(|first| timeline.events[first].arrival),
            gaps,
            output_tokens: timeline.output_tokens,
            values: values(|how| (how.value)(timeline)),
        };
        match record.outcome {
            Outcome::Cancelled => found.cut_off(found.ended.unwrap_or(found.due)),
            Outcome::Skipped => Self { ended: None, fate: Fate::NeverSent, ..found },
            _ => found,
        }
    }

    /// The figures of a request in flight at the instant `at`, in the best case: as if the request ended at `at`. If no
    /// token has arrived, the first token counts as arriving at `at` too. The gaps between the request's tokens count
    /// as 0.
    pub fn in_flight(
        index: u32,
        due: Nanos,
        sent: Option<Nanos>,
        first: Option<Nanos>,
        at: Nanos,
    ) -> Self {
        let at = at.max(sent.unwrap_or(due)).max(due);
        let earliest_first = first.map_or(at, |first| first.min(at));
        let pending = Pending { due, sent, first: earliest_first, at };
        Self {
            index,
            fate: Fate::CutOff,
            due,
            ended: Some(at),
            complete: true,
            is_left: false,
            is_rate_limited: false,
            sent,
            first,
            gaps: Gaps::default(),
            output_tokens: 0,
            values: values(|how| Some((how.at_least)(&pending))),
        }
    }

    /// The same figures with another value of a metric.
    ///
    /// # Panics
    /// If the metric is not among those by which requests are judged.
    #[must_use]
    pub fn with(mut self, metric: &Definition, value: Option<f64>) -> Self {
        let at = registry::judged_on_requests().position(|(known, _)| known.name == metric.name);
        self.values[at.expect("invariant: requests are judged by the metric")] = value;
        self
    }

    /// The request's value of a metric; absent if the request has none, or if requests are not judged by the metric.
    pub fn value(&self, metric: JudgedMetric) -> Option<f64> {
        self.value_of(metric.definition())
    }

    /// The same value as [`RequestFigures::value`], found by the metric's definition.
    pub fn value_of(&self, metric: &Definition) -> Option<f64> {
        let mut judged = registry::judged_on_requests();
        self.values[judged.position(|(known, _)| known.name == metric.name)?]
    }

    /// The figures of this request at an instant before its end, in the best case.
    pub fn cut_off(&self, at: Nanos) -> Self {
        let sent = self.sent.filter(|sent| *sent <= at);
        Self::in_flight(self.index, self.due, sent, self.first, at)
    }

    /// The figures of this request if its trial is cut off at an instant.
    pub fn as_of(&self, at: Nanos) -> Self {
        if self.due > at {
            Self { ended: None, fate: Fate::NeverSent, ..*self }
        } else if self.has_ended(at) {
            *self
        } else {
            self.cut_off(at)
        }
    }

    /// Whether the request had ended by an instant. A request that was never sent counts as ended.
    pub fn has_ended(&self, at: Nanos) -> bool {
        self.ended.is_none_or(|ended| ended <= at)
    }
}

fn values(value: impl Fn(&OnRequests) -> Option<f64>) -> [Option<f64>; MOST_JUDGED] {
    let mut values = [None; MOST_JUDGED];
    for (slot, (_, how)) in values.iter_mut().zip(registry::judged_on_requests()) {
        *slot = value(how);
    }
    values
}
