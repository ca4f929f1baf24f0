//! Finds the knee: the lowest load whose throughput is a given share of the throughput at saturation.

use super::{estimate::FigureEstimate, level::Level};

/// The knee of a throughput curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    /// The best estimate of the load at the knee.
    pub load: f64,
    /// The lower end of the interval of `load`; absent if the knee may lie below the lowest tried load.
    pub low: Option<f64>,
    /// The upper end of the interval of `load`.
    pub high: f64,
}

/// A point of the curve: the load, and its throughput as a share of the throughput at saturation.
#[derive(Clone, Copy)]
struct Point {
    load: f64,
    share: FigureEstimate,
}

/// Finds the knee of a curve. `levels` must be in the order of their loads; the last one is the level at saturation.
/// `None` if the knee cannot be estimated.
///
/// Between two levels, the share is assumed to be linear in the logarithm of the load. The share of each level has an
/// interval. The lower end of the knee's interval is the load at which the upper ends of these intervals reach `share`.
/// The upper end of the knee's interval is the load at which the lower ends of these intervals reach `share`. So a load
/// lies in the knee's interval unless its throughput differs significantly from `share`.
pub(super) fn knee(levels: &[Level], share: f64, confidence: f64) -> Option<Knee> {
    let (last, below) = levels.split_last()?;
    let most = last.requests_per_s?;
    let point = |level: &Level| {
        let share = level.requests_per_s?.over(&most);
        share.value.is_finite().then_some(Point { load: level.load, share })
    };
    let mut points: Vec<Point> =
        below.iter().filter(|level| level.is_settled).filter_map(point).collect();
    let whole = FigureEstimate { value: 1.0, variance: 0.0, degrees: most.degrees };
    points.push(Point { load: last.load, share: whole });
    let curve = |of: fn(&Point, f64) -> f64| -> Vec<(f64, f64)> {
        points.iter().map(|point| (point.load, of(point, confidence))).collect()
    };
    let upper = curve(|point, confidence| point.share.interval(confidence)[1]);
    let lower = curve(|point, confidence| point.share.interval(confidence)[0]);
    let first_above = upper.iter().position(|(_, value)| *value >= share)?;
    let low =
        first_above.checked_sub(1).map(|before| crossing(upper[before], upper[first_above], share));
    let last_below = lower.iter().rposition(|(_, value)| *value < share);
    let high = last_below.map_or(points[0].load, |at| crossing(lower[at], lower[at + 1], share));
    let smooth = rising(&points);
    let above = smooth.iter().position(|(_, value)| *value >= share)?;
    let load = match above.checked_sub(1) {
        None => smooth[0].0,
        Some(before) => crossing(smooth[before], smooth[above], share),
    };
    Some(Knee { load: load.clamp(low.unwrap_or(0.0), high), low, high })
}

/// The load at which a line between two points reaches a value. The line is over the logarithm of the load.
fn crossing(from: (f64, f64), to: (f64, f64), value: f64) -> f64 {
    let part = (value - from.1) / (to.1 - from.1);
    from.0 * (to.0 / from.0).powf(part.clamp(0.0, 1.0))
}

/// The non-decreasing curve that is nearest to the points (isotonic regression): decreasing neighbours are averaged,
/// each weighted by the inverse of its variance.
fn rising(points: &[Point]) -> Vec<(f64, f64)> {
    let mut blocks: Vec<(f64, f64, usize)> = Vec::new();
    for point in points {
        let weight = 1.0 / point.share.variance.max(1e-8);
        let mut block = (point.share.value, weight, 1);
        while let Some(&(value, weight, count)) = blocks.last().filter(|last| last.0 > block.0) {
            blocks.pop();
            let sum = weight + block.1;
            block = ((value * weight + block.0 * block.1) / sum, sum, count + block.2);
        }
        blocks.push(block);
    }
    let values = blocks.iter().flat_map(|&(value, _, count)| std::iter::repeat_n(value, count));
    points.iter().map(|point| point.load).zip(values).collect()
}
