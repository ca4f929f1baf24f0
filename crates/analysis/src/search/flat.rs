//! Rare misses that hardly depend on the load. If a server pauses at random, 1 % of the requests may miss at each load.
//! The trials then do not show that misses grow with the load, so a curve through them is not reliable. The interval is
//! extended to the loads that bound the edge without a curve. It is only assumed that a higher load has at least as
//! many misses as a lower one.
//!
//! Jobs of a trace are of few kinds, and each kind begins to miss at its own load. Their misses rise in steps that a curve
//! does not follow, so their edge is always bounded without a curve.

use inferometer_model::stats::{student_above, wilson};

use super::crossing::{CAUTION, Crossing, Of, Point};
use super::evidence::{Groups, is_rare};

/// Only trials within this distance of the estimate, as a logarithm of the load, show how misses depend on the load.
const NEAR: f64 = 0.4;
/// Misses grow with the load if their share grows at least with this power of the load, at a confidence of 95 %
/// (one-sided).
const STEEP: f64 = 1.5;
/// If the share of misses exceeds this many times the allowed share, a load is far above the edge.
const OVERLOADED: f64 = 10.0;
/// The quantile of the normal distribution for a confidence of 95 % (one-sided).
const ONE_SIDED: f64 = 1.645;

/// Trials that reached their steady state, in ascending order of the load.
struct Steady<'a> {
    trials: Vec<&'a Point>,
    /// The variance of the number of misses, divided by their number: the mean size of a group, weighted by the size.
    group_size: f64,
    /// The number of groups near the edge.
    groups: f64,
}

/// Extends the interval of a crossing if misses are rare and hardly depend on the load. An end that no trial bounds
/// becomes absent. `wrong` is the probability that the interval misses the edge.
pub(super) fn extended_without_curve(
    found: Crossing,
    points: &[Point],
    of: Of,
    wrong: f64,
) -> Crossing {
    let Of::Share(allowed) = of else { return found };
    let Some(steady) = Steady::of(points, found.at, allowed) else { return found };
    if !is_rare(allowed) || steady.is_steep(found.at) {
        return found;
    }
    let (low, high) = steady.bounds(allowed, wrong);
    Crossing {
        at: found.at,
        low: found.low.zip(low).map(|(one, other)| one.min(other)),
        high: found.high.zip(high).map(|(one, other)| one.max(other)),
    }
}

/// Bounds a crossing without a curve. An end that no trial bounds becomes absent. If the estimate of the curve is not
/// between the ends, it becomes their geometric mean. `wrong` is the probability that the interval misses the edge.
pub(super) fn bounded_without_curve(
    found: Crossing,
    points: &[Point],
    of: Of,
    wrong: f64,
) -> Crossing {
    let Of::Share(allowed) = of else { return found };
    let Some(steady) = Steady::of(points, found.at, allowed) else { return found };
    let (low, high) = steady.bounds(allowed, wrong);
    match low.zip(high) {
        // By chance, a load that is shown to meet the objective may be above one that is shown to miss it.
        Some((low, high)) if low > high => {
            Crossing { at: f64::midpoint(low, high), low: Some(high), high: Some(low) }
        }
        Some((low, high)) if !(low..=high).contains(&found.at) => {
            Crossing { at: f64::midpoint(low, high), low: Some(low), high: Some(high) }
        }
        _ => Crossing { low, high, ..found },
    }
}

fn misses(point: &Point) -> f64 {
    point.requests * point.y
}

fn sum<'a>(points: impl Iterator<Item = &'a Point>, of: impl Fn(&Point) -> f64) -> f64 {
    points.map(of).sum()
}

impl<'a> Steady<'a> {
    /// `None` if no trial near the edge reached its steady state.
    fn of(points: &'a [Point], at: f64, allowed: f64) -> Option<Self> {
        let mut trials: Vec<&Point> = points.iter().filter(|point| point.requests > 0.0).collect();
        trials.sort_by(|one, other| one.x.total_cmp(&other.x));
        let near = || trials.iter().copied().filter(|point| (point.x - at).abs() <= NEAR);
        near().next()?;
        // Trials of an overloaded server are left out, because its misses follow each other, too.
        let near = || near().filter(|point| point.y <= OVERLOADED * allowed);
        let missed = sum(near(), misses);
        let groups = Groups {
            count: sum(near(), |point| point.groups.count),
            squares: sum(near(), |point| point.groups.squares),
        };
        Some(Self { group_size: groups.size(missed), groups: groups.count, trials })
    }

    /// Whether the trials near the edge show that misses grow with the load. The slope is that of a straight line.
    fn is_steep(&self, at: f64) -> bool {
        let near = || self.trials.iter().copied().filter(|point| (point.x - at).abs() <= NEAR);
        let n = sum(near(), |point| point.requests);
        let middle = sum(near(), |point| point.requests * point.x) / n;
        let share = (sum(near(), misses) / n).clamp(0.5 / n, 0.5);
        let spread = sum(near(), |point| point.requests * (point.x - middle).powi(2));
        let along = sum(near(), |point| point.requests * (point.x - middle) * (point.y - share));
        let variance = share * (1.0 - share);
        let (slope, error) = (along / spread, (self.group_size * variance / spread).sqrt());
        slope - ONE_SIDED * error > STEEP * variance
    }

    /// Judges each range of adjacent loads by all its trials together. Returns two logarithms of loads:
    /// - of the ranges that met the objective, the highest lower end;
    /// - of the ranges that missed the objective, the lowest upper end.
    fn bounds(&self, allowed: f64, wrong: f64) -> (Option<f64>, Option<f64>) {
        let t = student_above(wrong / 2.0, self.groups.max(2.0));
        let (mut low, mut high): (Option<f64>, Option<f64>) = (None, None);
        for (number, first) in self.trials.iter().enumerate() {
            let (mut requests, mut missed) = (0.0, 0.0);
            for last in &self.trials[number..] {
                requests += last.requests;
                missed += misses(last);
                let independent = requests / (self.group_size * CAUTION);
                let [least, most] = wilson(independent * missed / requests, independent, t);
                if most <= allowed {
                    low = Some(low.map_or(first.x, |low| low.max(first.x)));
                }
                if least > allowed {
                    high = Some(high.map_or(last.x, |high| high.min(last.x)));
                }
            }
        }
        (low, high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Trials of 1,000 requests each, with these loads and numbers of misses. Misses come in groups of five.
    fn trials(loads: &[(f64, f64)]) -> Vec<Point> {
        let point = |(load, misses): &(f64, f64)| Point {
            x: load.ln(),
            y: misses / 1_000.0,
            weight: 200.0,
            requests: 1_000.0,
            degrees: 12.0,
            groups: Groups { count: misses / 5.0, squares: 5.0 * misses },
        };
        loads.iter().map(point).collect()
    }

    fn extended(points: &[Point], allowed: f64) -> (Option<f64>, Option<f64>) {
        let found = Crossing { at: 2.5, low: Some(2.3), high: Some(2.7) };
        let Crossing { low, high, .. } =
            extended_without_curve(found, points, Of::Share(allowed), 0.05);
        (low, high)
    }

    #[test]
    fn the_interval_is_extended_only_if_rare_misses_do_not_grow_with_the_load() {
        let flat = [(9.0, 10.0), (10.0, 15.0), (12.0, 10.0), (14.0, 15.0), (16.0, 10.0)];
        let steep = [(9.0, 0.0), (10.0, 0.0), (12.0, 10.0), (14.0, 60.0), (16.0, 200.0)];
        // No load is shown to be on one side of the edge.
        assert_eq!(extended(&trials(&flat), 0.01), (None, None));
        assert_eq!(extended(&trials(&steep), 0.01), (Some(2.3), Some(2.7)));
        // Half of the requests may miss, so misses are not rare.
        assert_eq!(extended(&trials(&flat), 0.5), (Some(2.3), Some(2.7)));
    }

    #[test]
    fn an_interval_without_a_curve_spans_loads_that_contradict_each_other() {
        let ends = |loads: &[(f64, f64)]| {
            let found = Crossing { at: 2.5, low: Some(2.3), high: Some(2.7) };
            let Crossing { at, low, high } =
                bounded_without_curve(found, &trials(loads), Of::Share(0.05), 0.05);
            (at.exp().round(), low.map(|it| it.exp().round()), high.map(|it| it.exp().round()))
        };
        // The curve has its edge at 12.
        assert_eq!(ends(&[(9.0, 0.0), (16.0, 500.0)]), (12.0, Some(9.0), Some(16.0)));
        assert_eq!(ends(&[(14.0, 0.0), (16.0, 500.0)]), (15.0, Some(14.0), Some(16.0)));
        assert_eq!(ends(&[(9.0, 500.0), (16.0, 0.0)]), (12.0, Some(9.0), Some(16.0)));
    }

    #[test]
    fn loads_far_from_the_edge_bound_the_interval_without_a_curve() {
        let mut loads = vec![(1.0, 0.0), (1.1, 0.0), (1.2, 0.0), (1.3, 0.0), (1.4, 0.0)];
        loads.extend([(11.0, 15.0), (12.0, 10.0), (13.0, 10.0), (14.0, 15.0), (100.0, 400.0)]);
        let (low, high) = extended(&trials(&loads), 0.01);
        let load = |end: Option<f64>| end.expect("an end").exp();
        assert!((1.0..=1.4).contains(&load(low)), "{low:?}");
        assert!((load(high) - 100.0).abs() < 1e-9, "{high:?}");
    }
}
