//! Finds the lowest load at which a server is saturated. In a closed loop, throughput no longer grows at this load, but
//! latency grows or throughput falls. At a rate, requests arrive faster than they end. In both cases, a server is also
//! saturated if clearly more of its requests fail than at a lower load.

use inferometer_model::stats::wilson;
use inferometer_plan::search::Over;

use super::{estimate::FigureEstimate, level::Level};

/// A server is saturated if doubling the load raises throughput by less than this share.
const LEAST_GAIN: f64 = 0.05;
/// Two loads are only compared if the higher one is at least this many times the lower one.
pub(super) const LEAST_RATIO: f64 = std::f64::consts::SQRT_2;

/// A load exceeds the limit of the server if more than this share of its requests fails, and clearly more than at a
/// lower load.
const SHED: f64 = 0.05;
/// Shares of failures must differ by this many standard deviations. A sweep compares each load with all lower ones.
/// With 2 deviations, a server that fails the same share of every load would be called saturated in one sweep of eight.
/// With 2.5, this happens in at most one of twenty (tests/sweep_limits.rs).
const SHED_DEVIATIONS: f64 = 2.5;

/// If all outputs have the same length, requests that started together also end together. The speed of a server then
/// changes over many request durations, in the same way in each trial at a rate. So the throughput of each trial can
/// deviate by this share from that of a very long run. The differences between trials do not show this error. The
/// measurement is in docs/sweep.md.
const OF_EQUAL_OUTPUTS: f64 = 0.02;

/// The saturation that a sweep found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Saturated {
    /// The index of the level whose throughput counts.
    pub at: usize,
    /// The index of the level that showed the saturation.
    pub shown_at: usize,
}

/// The largest gain in throughput, as a factor, that still counts as no growth. `None` if the two loads are too close.
/// The formula assumes a server with X = N / (a + b N). On this server, doubling the load to the load of `above` raises
/// throughput by [`LEAST_GAIN`].
fn allowed(below: &Level, above: &Level) -> Option<f64> {
    let ratio = above.load / below.load;
    (ratio >= LEAST_RATIO).then_some(1.0 + LEAST_GAIN * (ratio - 1.0))
}

/// The largest throughput of a server with X = N / (a + b N) at any N, as a multiple of its throughput at saturation.
pub(super) fn most_beyond() -> f64 {
    1.0 / (1.0 - LEAST_GAIN)
}

/// The relative error of the throughput at a level that is common to all trials of the level.
pub(super) fn shared_error(level: &Level) -> f64 {
    let keeps_step = level.by == Over::Rate && level.has_equal_outputs;
    if keeps_step { OF_EQUAL_OUTPUTS } else { 0.0 }
}

fn gain(below: &Level, above: &Level) -> Option<FigureEstimate> {
    Some(above.requests_per_s?.over(&below.requests_per_s?))
}

/// Whether throughput seems not to grow from one level to another, even if this is not significant.
pub(super) fn seems_flat(below: &Level, above: &Level) -> bool {
    let gain = gain(below, above).zip(allowed(below, above));
    gain.is_some_and(|(gain, allowed)| gain.value < allowed)
}

/// Whether throughput does not grow significantly from one level to another, while latency grows significantly or
/// throughput falls significantly. Significant means: by the end of the confidence interval.
fn is_flat(below: &Level, above: &Level, confidence: f64) -> bool {
    let slower = || Some(above.latency_ms?.over(&below.latency_ms?).interval(confidence)[0] > 1.0);
    let flat = || {
        let most = gain(below, above)?.interval(confidence)[1];
        Some(most < allowed(below, above)?)
    };
    let less = || Some(gain(below, above)?.interval(confidence)[1] < 1.0);
    below.is_settled
        && above.is_settled
        && flat().unwrap_or(false)
        && (slower().unwrap_or(false) || less().unwrap_or(false))
}

/// Whether throughput grows significantly from one level to another, by more than is allowed of a saturated server.
fn grows(below: &Level, above: &Level, confidence: f64) -> bool {
    let gain = gain(below, above).zip(allowed(below, above));
    gain.is_some_and(|(gain, allowed)| gain.interval(confidence)[0] > allowed)
}

/// The confidence interval of the share of requests that failed.
fn failed(level: &Level) -> [f64; 2] {
    let of = level.requests as f64;
    wilson(of - level.completed as f64, of, SHED_DEVIATIONS)
}

/// Whether a clearly larger share of requests fails at a load than at a lower one. The server may refuse them, or a
/// limit on the number in flight may drop them.
fn sheds(below: &Level, above: &Level) -> bool {
    let share = 1.0 - above.completed as f64 / above.requests as f64;
    share > SHED && failed(above)[0] > failed(below)[1]
}

/// Whether the throughput of a level is significantly higher than that of another.
pub(super) fn is_more(level: &Level, than: &Level, confidence: f64) -> bool {
    let ratio = level.requests_per_s.zip(than.requests_per_s).map(|(one, other)| one.over(&other));
    ratio.is_some_and(|ratio| ratio.interval(confidence)[0] > 1.0)
}

/// The lowest load at which the server is shown to be saturated. `levels` must be in the order of their loads.
pub(super) fn saturated(levels: &[Level], confidence: f64) -> Option<Saturated> {
    let by_rate = levels.last()?.by == Over::Rate;
    let shed = |above: usize| levels[..above].iter().any(|below| sheds(below, &levels[above]));
    let flat =
        |above: usize| (0..above).any(|below| is_flat(&levels[below], &levels[above], confidence));
    // Throughput may pause, for example where the slots of a server are full, and grow again at a higher load.
    let grows_again = |at: usize| {
        let later = &levels[at + 1..];
        later.iter().any(|above| above.is_settled && grows(&levels[at], above, confidence))
    };
    let is_over = |level: &Level| level.is_overloaded() && level.is_settled;
    let shows = |&at: &usize| {
        shed(at) || if by_rate { is_over(&levels[at]) } else { flat(at) && !grows_again(at) }
    };
    let shown_at = (0..levels.len()).find(shows)?;
    let value = |at: &usize| levels[*at].requests_per_s.map_or(0.0, |found| found.value);
    let keeps_up =
        |at: &usize| levels[*at].is_settled && !levels[*at].is_overloaded() && !shed(*at);
    // If throughput is clearly lower at a higher load, the peak is the limit of the server. If requests of a closed
    // loop are refused, the limit is the best load without such refusals.
    let is_better = |at: &usize| {
        let is_whole = !by_rate && shed(shown_at);
        *at != shown_at && (is_whole || is_more(&levels[*at], &levels[shown_at], confidence))
    };
    let until = if by_rate { levels.len() } else { shown_at };
    let better = (0..until).filter(keeps_up).filter(is_better);
    let peak = better.max_by(|a, b| value(a).total_cmp(&value(b)));
    Some(Saturated { at: peak.unwrap_or(shown_at), shown_at })
}
