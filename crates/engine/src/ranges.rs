//! The ranges of the predicted figures of a pass. They follow from the errors of measured rows, or are guesses.

use inferometer_model::{CellPlan, OpenPlan, PassPlan, load::LoadPlan};

use crate::confidence::{ErrorColumn, MeasuredOn, NINE_OF_TEN, confidence_from};
use crate::fit::runs::{
    MeasuredRun, RunFigures, has_known_arrivals, simulate_run, simulate_slower,
};
use crate::{EngineError, Profile, ResolvedConfig};

/// The maximum number of requests that are simulated again, on a slower engine, for the ranges of a pass.
pub const MOST_SIMULATED_AGAIN: usize = 20_000;

/// The facts of a pass that its ranges depend on.
pub struct RangeInputs<'a> {
    /// The lengths of the requests, or their means.
    pub lengths: CellPlan,
    /// The maximum number of requests in flight.
    pub in_flight: u64,
    /// The kind of the load.
    pub kind: LoadKind,
    /// The share of prompt tokens that are in the prefix cache.
    pub cached_share: f64,
    /// Returns the figures of the pass on an engine that needs `factor` times as long for everything; the argument is
    /// `factor`. `None` if the pass cannot be simulated again.
    pub slower: &'a dyn Fn(f64) -> Option<RunFigures>,
}

/// The kind of a load. It decides which errors the figures have.
#[derive(Clone, Copy, Debug)]
pub enum LoadKind {
    /// One request after the other.
    OneAtATime,
    /// The client limits the requests in flight, to two or more, or sends all requests at once.
    Limited {
        /// Whether a measured run has the same arrivals as a simulated one.
        are_arrivals_known: bool,
    },
    /// Requests are sent at times that do not depend on the engine.
    Open {
        /// The rate in requests per second: the constant rate, or the mean rate of a recording. `None` if the planned
        /// rate changes or is unknown.
        rate: Option<f64>,
        /// The relative standard deviation of a run's mean rate that random gaps between arrivals cause; 0 without
        /// random gaps, and if gaps are scaled to the exact rate.
        scatter: f64,
    },
}

impl LoadKind {
    /// The kind of the load of a pass.
    pub fn of(pass: &PassPlan) -> Self {
        match pass {
            _ if pass.is_limited() => {
                Self::Limited { are_arrivals_known: has_known_arrivals(pass) }
            }
            PassPlan::OneByOne(_) | PassPlan::Closed(_) => Self::OneAtATime,
            _ if pass.limit().0.is_some() => Self::OneAtATime,
            PassPlan::Replay(replay) => {
                let (seconds, count) = (replay.last_due_s(0.0), replay.requests().unwrap_or(0));
                let rate = (seconds > 0.0).then(|| f64::from(count) / seconds);
                Self::Open { rate, scatter: 0.0 }
            }
            PassPlan::Open(open) => {
                Self::Open { rate: pass.constant_load(), scatter: scatter_of_rate(open) }
            }
            _ => Self::Open { rate: pass.constant_load(), scatter: 0.0 },
        }
    }

    /// The error column of each figure, in the order of the figures.
    ///
    /// If the engine serves all requests of an open load, the requests per second are the rate of the load. In all
    /// other cases, the requests per second are the requests in flight divided by the latency. So this figure has the
    /// errors of the latency.
    fn columns(self, requests_per_s: Option<f64>) -> [ErrorColumn; 5] {
        let throughput = match self {
            Self::Open { rate, .. } if !is_behind(requests_per_s, rate) => ErrorColumn::Throughput,
            _ => ErrorColumn::Latency,
        };
        let [p50, p99] = match self {
            Self::Limited { .. } => [ErrorColumn::TtftP50Limited, ErrorColumn::TtftP99Limited],
            _ => [ErrorColumn::TtftP50, ErrorColumn::TtftP99],
        };
        [throughput, ErrorColumn::Tpot, p50, p99, ErrorColumn::Latency]
    }
}

/// The relative standard deviation of the mean rate of a run. It is the relative standard deviation of a single gap
/// between arrivals, divided by the square root of the number of gaps. The squared relative standard deviation of a gap
/// is 1 / shape.
fn scatter_of_rate(open: &OpenPlan) -> f64 {
    if open.arrivals.is_known() {
        return 0.0;
    }
    let shape = open.arrivals.burstiness();
    let seconds = open.bound.duration.map(|duration| duration.as_secs_f64());
    let of_duration = PassPlan::Open(open.clone()).constant_load().zip(seconds);
    let gaps = open.bound.requests.map(f64::from).or(of_duration.map(|(rate, s)| rate * s));
    match gaps.filter(|gaps| !open.scaled && *gaps >= 1.0) {
        Some(gaps) => (shape * gaps).sqrt().recip(),
        None => 0.0,
    }
}

/// Whether the engine serves clearly fewer requests per second than the client sends ([`SERVED`]).
fn is_behind(served: Option<f64>, rate: Option<f64>) -> bool {
    served.zip(rate).is_some_and(|(served, rate)| served < SERVED * rate)
}

/// An engine that serves at least this share of the requested rate counts as serving all requests.
const SERVED: f64 = 0.95;

/// The range of a predicted figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FigureRange {
    /// The predicted value.
    pub predicted: f64,
    /// The range that is expected to contain 90 % of measurements.
    pub interval: [f64; 2],
    /// Whether the range follows from errors of measured rows. If not, the range is a guess.
    pub calibrated: bool,
}

/// Returns the range of each figure of a pass, in the order of [`RunFigures::NAMES`]. The ranges follow from the errors
/// of the configuration's profile and of the profiles `known`.
pub fn figure_ranges(
    known: &[Profile],
    resolved: &ResolvedConfig,
    measured_on: &MeasuredOn,
    inputs: RangeInputs<'_>,
    found: &RunFigures,
) -> [Option<FigureRange>; 5] {
    let slots = u64::from(resolved.limits.max_num_seqs);
    let sequences = slots.min(inputs.in_flight) as u32;
    let load = (sequences, Some(inputs.cached_share));
    let sure = confidence_from(known, resolved, inputs.lengths, load, measured_on);
    let is_full = inputs.in_flight > slots;
    let is_of_today = resolved.profile.steps.is_some();
    let mut columns = inputs.kind.columns(found.requests_per_s);
    if is_full {
        columns[0] = ErrorColumn::Latency;
    }
    let of_speed = match sure.is_calibrated(ErrorColumn::Tpot) {
        true => changes_by_speed(inputs.slower, sure.interval(ErrorColumn::Tpot, 1.0)),
        false => [None; 5],
    };
    let found = found.values();
    std::array::from_fn(|at| {
        let (predicted, column) = (found[at]?, columns[at]);
        // No measured row covers the TTFT in two cases. If the engine is full, the TTFT mostly consists of waiting in
        // the queue. If the client limits the requests in flight and the arrivals are random, the TTFT depends on the
        // requests that arrive together.
        let is_by_chance =
            is_full || matches!(inputs.kind, LoadKind::Limited { are_arrivals_known: false });
        let is_covered = !(is_by_chance && RunFigures::NAMES[at].starts_with("ttft"));
        let calibrated = sure.is_calibrated(column) && is_covered;
        let interval = match calibrated {
            true if at == 0 && column == ErrorColumn::Latency => {
                sure.interval_of_rate(column, predicted)
            }
            true => sure.interval(column, predicted),
            false => sure.guess(column, predicted),
        };
        let interval = match inputs.kind {
            LoadKind::Open { scatter, .. }
                if is_of_today && scatter > 0.0 && at == 0 && column == ErrorColumn::Throughput =>
            {
                by_arrivals(interval, predicted, scatter)
            }
            _ => interval,
        };
        let interval = match &resolved.profile.steps {
            Some(steps)
                if calibrated && matches!(column, ErrorColumn::TtftP50 | ErrorColumn::TtftP99) =>
            {
                let others = f64::from(sequences) * steps.front_sequence_us;
                by_client(interval, predicted, (steps.front_us + others) * 1e-3, sure.front_spread)
            }
            _ => interval,
        };
        let [low, high] = widened(interval, predicted, of_speed[at]);
        // No more requests end than arrive. A range from measured rows holds what clients state, which may be a little
        // more.
        let interval = match inputs.kind {
            LoadKind::Open { rate: Some(rate), scatter } if at == 0 && !calibrated => {
                [low, high.min(rate * (NINE_OF_TEN * scatter).exp()).max(predicted)]
            }
            _ => [low, high],
        };
        Some(FigureRange { predicted, interval, calibrated })
    })
}

/// Simulates a measured run with the profile of its configuration, and returns the range of each figure. `lengths` are
/// the mean lengths of its requests, and `in_flight` is the maximum number of requests in flight.
///
/// # Errors
/// If the engine cannot start with the configuration.
pub fn run_ranges(
    known: &[Profile],
    run: &MeasuredRun,
    lengths: CellPlan,
    in_flight: u64,
) -> Result<[Option<FigureRange>; 5], EngineError> {
    let MeasuredRun { config, pass, .. } = run;
    let found = simulate_run(&config.profile, run)?;
    let inputs = RangeInputs {
        lengths,
        in_flight,
        kind: LoadKind::of(pass),
        cached_share: run.cached_share(),
        slower: &|factor| {
            let first = |block_size| run.requests(block_size).take(MOST_SIMULATED_AGAIN);
            simulate_slower(config, pass, factor, first).ok()?
        },
    };
    Ok(figure_ranges(known, &config.resolve()?, &MeasuredOn::default(), inputs, &found))
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

/// Widens the range of the rate of served requests by the random scatter of arrivals. Both the predicted and the
/// measured rate have the scatter of one run.
fn by_arrivals(interval: [f64; 2], predicted: f64, scatter: f64) -> [f64; 2] {
    let of_two = NINE_OF_TEN * 2.0_f64.sqrt() * scatter;
    interval.map(|end| {
        let half = (end / predicted).ln();
        predicted * (half.signum() * half.hypot(of_two)).exp()
    })
}

/// Widens a range of TTFT by the difference of the front end's time between clients and hosts. The logarithm of this time
/// has the standard deviation `spread`, so the range leans upwards.
fn by_client([low, high]: [f64; 2], predicted: f64, front_ms: f64, spread: f64) -> [f64; 2] {
    let with = |factor: f64| (1.0 + (front_ms / predicted).min(1.0) * (factor - 1.0)).ln();
    let [shorter, longer] = [-NINE_OF_TEN, NINE_OF_TEN].map(|quantile| (quantile * spread).exp());
    let below = (predicted / low).ln().hypot(with(shorter));
    let above = (high / predicted).ln().hypot(with(longer));
    [predicted * (-below).exp(), predicted * above.exp()]
}

/// The smallest range that contains the given range, and the predicted value multiplied by each of the factors.
fn widened([low, high]: [f64; 2], predicted: f64, factors: Option<[f64; 2]>) -> [f64; 2] {
    let values = factors.unwrap_or([1.0; 2]).map(|factor| predicted * factor);
    [values.into_iter().fold(low, f64::min), values.into_iter().fold(high, f64::max)]
}

#[cfg(test)]
mod tests {
    use inferometer_model::load::ReplayPlan;

    use super::*;
    use inferometer_model::load::arrival::Arrivals;
    use inferometer_model::load::{Bound, OverLimit, Recording};
    use inferometer_model::time::Nanos;

    #[test]
    fn only_the_throughput_of_a_fully_served_open_load_uses_the_throughput_error_column() {
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

    #[test]
    fn the_difference_between_clients_widens_a_range_of_ttft_more_upwards_than_downwards() {
        let [low, high] = by_client([45.0, 55.0], 50.0, 20.0, 0.36);
        // The front end's 20 ms may be 11 or 36.
        let (below, above) = (41.0 / 50.0_f64, 66.0 / 50.0_f64);
        assert!((low / 50.0 - (-below.ln().hypot(0.9_f64.ln())).exp()).abs() < 0.01, "{low}");
        assert!((high / 50.0 - above.ln().hypot(1.1_f64.ln()).exp()).abs() < 0.01, "{high}");
        let same = by_client([45.0, 55.0], 50.0, 20.0, 0.0);
        assert!((same[0] - 45.0).abs() < 1e-9 && (same[1] - 55.0).abs() < 1e-9);
    }

    #[test]
    fn the_rate_of_a_run_scatters_only_if_its_arrivals_are_random_and_not_scaled() {
        let with = |arrivals: Arrivals, scaled: bool| {
            let PassPlan::Open(open) = PassPlan::open(10.0, Bound::requests(400)) else {
                panic!("an open load");
            };
            scatter_of_rate(&OpenPlan { arrivals, scaled, ..open })
        };
        assert!((with(Arrivals::Poisson, false) - 0.05).abs() < 1e-12);
        assert!((with(Arrivals::Gamma { shape: 0.25 }, false) - 0.1).abs() < 1e-12);
        assert_eq!(with(Arrivals::Constant, false), 0.0);
        assert_eq!(with(Arrivals::of_vllm(1.0), false), 0.0);
        assert_eq!(with(Arrivals::Poisson, true), 0.0);
        let [low, high] = by_arrivals([97.0, 103.0], 100.0, 0.05);
        assert!((88.0..90.0).contains(&low) && (112.0..114.0).contains(&high), "{low} {high}");
    }
}
