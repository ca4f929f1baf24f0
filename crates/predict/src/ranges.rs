//! Combines the predicted figures of a pass with their ranges, which follow from the errors of measured rows. It
//! predicts nothing itself.

use inferometer_analysis::prediction::{FigurePrediction, PassPrediction};
use inferometer_engine::ResolvedConfig;
use inferometer_engine::confidence::{ErrorColumn, MeasuredOn, confidence};
use inferometer_engine::fit::runs::RunFigures;
use inferometer_load::{PassPlan, ReplayPlan};
use inferometer_model::cell::CellPlan;

/// The facts of a pass that its ranges depend on.
pub(crate) struct RangeInputs<'a> {
    /// The load, as text.
    pub load: String,
    /// The lengths of the requests, or their means.
    pub lengths: CellPlan,
    /// The maximum number of requests in flight.
    pub in_flight: u64,
    /// The kind of the load.
    pub kind: LoadKind,
    /// Returns the figures of the pass on an engine on which everything takes this many times as long; `None` if the
    /// pass cannot be simulated again.
    pub slower: &'a dyn Fn(f64) -> Option<RunFigures>,
}

/// The kind of a load. It decides which errors the figures have.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LoadKind {
    /// One request after the other.
    OneAtATime,
    /// The client limits the requests in flight, to two or more.
    Limited,
    /// Requests are sent at times that do not depend on the engine. `rate` is the constant or mean recorded rate in
    /// requests per second; `None` if the rate changes.
    Open { rate: Option<f64> },
}

impl LoadKind {
    /// The kind of the load of a pass.
    pub fn of(pass: &PassPlan) -> Self {
        match pass {
            _ if pass.is_limited() => Self::Limited,
            PassPlan::OneByOne(_) | PassPlan::Closed(_) => Self::OneAtATime,
            _ if pass.limit().0.is_some() => Self::OneAtATime,
            PassPlan::Replay(ReplayPlan { recording, speed, .. }) => {
                let seconds = recording.span_s() / speed;
                let rate = (seconds > 0.0).then(|| f64::from(recording.requests) / seconds);
                Self::Open { rate }
            }
            _ => Self::Open { rate: pass.constant_load() },
        }
    }

    /// The error column of each figure, in the order of the figures.
    ///
    /// If the engine serves all requests of an open load, the requests per second are the rate of the load. With other
    /// loads, they are the requests in flight divided by the latency, so they have the errors of the latency.
    fn columns(self, requests_per_s: Option<f64>) -> [ErrorColumn; 5] {
        let throughput = match self {
            Self::Open { rate } if !is_behind(requests_per_s, rate) => ErrorColumn::Throughput,
            _ => ErrorColumn::Latency,
        };
        let [p50, p99] = match self {
            Self::Limited => [ErrorColumn::TtftP50Limited, ErrorColumn::TtftP99Limited],
            _ => [ErrorColumn::TtftP50, ErrorColumn::TtftP99],
        };
        [throughput, ErrorColumn::Tpot, p50, p99, ErrorColumn::Latency]
    }
}

/// Whether the engine serves clearly fewer requests per second than are sent.
fn is_behind(served: Option<f64>, rate: Option<f64>) -> bool {
    served.zip(rate).is_some_and(|(served, rate)| served < SERVED * rate)
}

/// The least share of the requested rate at which an engine counts as serving all requests.
const SERVED: f64 = 0.95;

/// Returns each predicted figure with its range, compared with the measured figure if there is one.
pub(crate) fn with_ranges(
    resolved: &ResolvedConfig,
    measured_on: &MeasuredOn,
    inputs: RangeInputs<'_>,
    found: &RunFigures,
    measured: &RunFigures,
) -> PassPrediction {
    let slots = u64::from(resolved.limits.max_num_seqs);
    let sequences = slots.min(inputs.in_flight) as u32;
    let sure = confidence(resolved, inputs.lengths, sequences, measured_on);
    let is_full = inputs.in_flight > slots;
    let mut columns = inputs.kind.columns(found.requests_per_s);
    if is_full {
        columns[0] = ErrorColumn::Latency;
    }
    let of_speed = match sure.is_calibrated(ErrorColumn::Tpot) {
        true => changes_by_speed(inputs.slower, sure.interval(ErrorColumn::Tpot, 1.0)),
        false => [None; 5],
    };
    let (found, measured) = (found.values(), measured.values());
    let figures = std::array::from_fn(|at| {
        let (predicted, column) = (found[at]?, columns[at]);
        // If the engine is full, the TTFT mostly consists of waiting in the queue. No measured row covers this case.
        let is_of_queue = RunFigures::NAMES[at].starts_with("ttft") && is_full;
        let calibrated = sure.is_calibrated(column) && !is_of_queue;
        let interval = match calibrated {
            true => sure.interval(column, predicted),
            false => sure.guess(predicted),
        };
        let interval = widened(interval, predicted, of_speed[at]);
        let figure =
            FigurePrediction { predicted, interval, calibrated, measured: None, error_pct: None };
        Some(figure.against(measured[at]))
    });
    PassPrediction::of(inputs.load, figures)
}

/// The factors by which each figure changes if the speed of the engine is at either end of its range: (fast, slow).
/// `None` if the pass cannot be simulated again.
fn changes_by_speed(
    slower: &dyn Fn(f64) -> Option<RunFigures>,
    range: [f64; 2],
) -> [Option<[f64; 2]>; 5] {
    let figures = |factor| Some(slower(factor)?.values());
    let (Some(predicted), [Some(fast), Some(slow)]) = (figures(1.0), range.map(figures)) else {
        return [None; 5];
    };
    std::array::from_fn(|at| {
        let predicted = predicted[at].filter(|predicted| *predicted > 0.0)?;
        Some([fast[at]? / predicted, slow[at]? / predicted])
    })
}

/// The smallest range that contains a range and the figure multiplied by each of the factors.
fn widened([low, high]: [f64; 2], predicted: f64, factors: Option<[f64; 2]>) -> [f64; 2] {
    let values = factors.unwrap_or([1.0; 2]).map(|factor| predicted * factor);
    [values.into_iter().fold(low, f64::min), values.into_iter().fold(high, f64::max)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_load::{Bound, OpenPlan, OverLimit, Recording};
    use inferometer_model::time::Nanos;

    #[test]
    fn only_the_throughput_of_an_open_load_that_is_served_is_surer_than_its_latency() {
        let bound = Bound::requests(100);
        let closed = |concurrency| PassPlan::closed(concurrency, bound);
        let open = |limit| match PassPlan::open(10.0, bound) {
            PassPlan::Open(OpenPlan { rate, arrivals, scaled, bound, over_limit, .. }) => {
                PassPlan::Open(OpenPlan {
                    rate,
                    arrivals,
                    scaled,
                    bound,
                    max_in_flight: limit,
                    over_limit,
                })
            }
            other => other,
        };
        // Ten requests per second.
        let mut recording = Recording::of_file("arrivals");
        recording.write((0..100).map(|tenth| Nanos(tenth * 100_000_000)));
        let (speed, max_in_flight, over_limit) = (1.0, None, OverLimit::Queue);
        let replay =
            PassPlan::Replay(ReplayPlan { recording, speed, bound, max_in_flight, over_limit });
        for (pass, served, is_sure) in [
            (replay.clone(), 9.9, true),
            (replay, 7.0, false),
            (PassPlan::one_by_one(bound), 1.2, false),
            (PassPlan::saturated(100), 29.0, false),
            (closed(1), 1.2, false),
            (closed(8), 8.0, false),
            (open(Some(1)), 1.2, false),
            (open(Some(64)), 9.9, false),
            (open(None), 9.9, true),
            // The engine cannot serve all requests, so requests/s depend on its speed.
            (open(None), 7.0, false),
        ] {
            let column = LoadKind::of(&pass).columns(Some(served))[0];
            assert_eq!(column == ErrorColumn::Throughput, is_sure, "{pass} {served}");
        }
    }
}
