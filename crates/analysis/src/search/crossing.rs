//! Finds the load at which the curve of an objective crosses its limit: a best estimate and an interval, from all
//! trials together. It chooses no load and ends no search.
//!
//! Near the limit, the logarithm of the odds of a miss is assumed to be linear in the logarithm of the load. For an
//! objective on a mean, the logarithm of the mean is assumed to be linear instead. The error of this assumption grows
//! with the distance from the limit, so trials far from the edge have less weight. The interval contains every edge
//! that is compatible with the trials for at least one slope (profile likelihood).

use super::evidence::Groups;
use inferometer_stats::student_above;

/// The result of a trial for one criterion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// Logarithm of the load.
    pub x: f64,
    /// The share of misses. For a mean: the logarithm of the mean divided by its limit.
    pub y: f64,
    /// The number of independent requests. For a mean: the inverse of the variance of `y`.
    pub weight: f64,
    /// The number of counted requests if the trial reached the steady state, or else 0.
    pub requests: f64,
    /// Degrees of freedom of `weight`.
    pub degrees: f64,
    /// The groups of misses.
    pub groups: Groups,
}

/// The quantity that crosses its limit, by kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Of {
    /// The share of misses; contains the allowed share.
    Share(f64),
    /// A mean value.
    Mean,
}

/// The load at which a curve crosses its limit, as a logarithm, with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Crossing {
    /// The best estimate. If all trials lie on one side, it is an end of the searched range.
    pub at: f64,
    /// The lower end of the interval; absent if no trial bounds it.
    pub low: Option<f64>,
    /// The upper end of the interval; absent if no trial bounds it.
    pub high: Option<f64>,
}

/// The assumed error of the curve, as a share of its distance from the limit.
const MISFIT: f64 = 0.25;
/// The slopes that are tried: the first one, the factor to the next one, and their number.
const SLOPES: (f64, f64, i32) = (0.5, 1.4, 18);
/// The prior of the slope: the mean of its logarithm, and the standard deviation of this logarithm. A mean grows more
/// slowly than the odds of a miss.
const SLOPE_OF_SHARE: (f64, f64) = (2.0, 1.5);
const SLOPE_OF_MEAN: (f64, f64) = (1.5, 1.2);
/// How far beyond the trials an edge is searched, as a logarithm of the load.
const BEYOND: f64 = 1.5;
/// Step sizes of the coarse and the fine search, as logarithms of the load.
const STEPS: (f64, f64) = (0.08, 0.008);
/// Only points at which the curve is this close to its limit are used to estimate the scatter around the curve.
const NEAR: f64 = 2.5;

/// The trials show too small a variance, because the rarest queue fluctuations last longer. So the variance is
/// multiplied by this factor, which was measured (conformance/search).
pub(super) const CAUTION: f64 = 1.3;

struct Fit<'a> {
    points: &'a [Point],
    trust: Vec<f64>,
    of: Of,
}

impl Fit<'_> {
    /// The value of the curve at the limit.
    fn at_limit(&self) -> f64 {
        match self.of {
            Of::Share(allowed) => (allowed / (1.0 - allowed)).ln(),
            Of::Mean => 0.0,
        }
    }

    /// The logarithm of the likelihood of a crossing at `at` with this slope.
    fn likelihood(&self, at: f64, slope: f64) -> f64 {
        let (middle, off) = match self.of {
            Of::Share(_) => SLOPE_OF_SHARE,
            Of::Mean => SLOPE_OF_MEAN,
        };
        let prior = -0.5 * ((slope.ln() - middle) / off).powi(2);
        let limit = self.at_limit();
        let each = self.points.iter().zip(&self.trust).map(|(point, trust)| {
            let z = limit + slope * (point.x - at);
            let one = match self.of {
                Of::Share(_) => -point.y * softplus(-z) - (1.0 - point.y) * softplus(z),
                Of::Mean => -0.5 * (point.y - z).powi(2),
            };
            trust * point.weight * one
        });
        prior + each.sum::<f64>()
    }

    /// The most likely slope for a crossing, and the logarithm of its likelihood.
    fn profile(&self, at: f64) -> (f64, f64) {
        let (first, factor, count) = SLOPES;
        let slopes = (0..count).map(|step| first * factor.powi(step));
        let all = slopes.map(|slope| (slope, self.likelihood(at, slope)));
        all.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((first, f64::NEG_INFINITY))
    }

    /// The maximum of the parabola through three points of the profile around `at`.
    fn top_near(&self, at: f64) -> f64 {
        let [before, here, after] = [-STEPS.1, 0.0, STEPS.1].map(|off| self.profile(at + off).1);
        let bend = before - 2.0 * here + after;
        let off = if bend < 0.0 { 0.5 * STEPS.1 * (before - after) / bend } else { 0.0 };
        at + off.clamp(-STEPS.1, STEPS.1)
    }

    /// The information of a point about the value of the curve.
    fn information(&self, point: &Point, at: f64, slope: f64) -> f64 {
        match self.of {
            Of::Share(_) => {
                let share = 1.0 / (1.0 + (-(self.at_limit() + slope * (point.x - at))).exp());
                point.weight * share * (1.0 - share)
            }
            Of::Mean => point.weight,
        }
    }

    /// Gives a point less weight the farther it is from the limit.
    fn weigh(&mut self, at: f64, slope: f64) {
        let of = |point: &Point| {
            let off = MISFIT * slope * (point.x - at);
            1.0 / (1.0 + self.information(point, at, slope) * off * off)
        };
        self.trust = self.points.iter().map(of).collect();
    }

    /// The variance of the points around the curve, divided by the variance that their own errors explain; at least 1.
    fn scatter(&self, at: f64, slope: f64) -> f64 {
        let limit = self.at_limit();
        let (mut squares, mut count) = (0.0, 0.0);
        for (point, trust) in self.points.iter().zip(&self.trust) {
            let rise = slope * (point.x - at);
            if rise.abs() > NEAR || point.weight < 4.0 {
                continue;
            }
            let off = match self.of {
                Of::Share(_) => {
                    let share = 1.0 / (1.0 + (-(limit + rise)).exp());
                    (point.y - share).powi(2) / (share * (1.0 - share))
                }
                Of::Mean => (point.y - rise).powi(2),
            };
            squares += trust * point.weight * off;
            count += 1.0;
        }
        if count > 2.0 { (squares / (count - 2.0)).max(1.0) } else { 1.0 }
    }

    /// Degrees of freedom of the interval, by Welch and Satterthwaite.
    fn degrees(&self, at: f64, slope: f64) -> f64 {
        let of = |(point, trust): (&Point, &f64)| {
            (trust * self.information(point, at, slope), point.degrees.max(1.0))
        };
        let all = || self.points.iter().zip(&self.trust).map(of);
        let sum: f64 = all().map(|(known, _)| known).sum();
        let squares: f64 = all().map(|(known, degrees)| known * known / degrees).sum();
        if squares > 0.0 { (sum * sum / squares).max(3.0) } else { 3.0 }
    }
}

/// Finds the crossing of a criterion. `wrong` is the probability that the interval misses it. `None` without points.
pub(super) fn crossing(points: &[Point], of: Of, wrong: f64) -> Option<Crossing> {
    let ends = points.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |ends: (f64, f64), point| {
        (ends.0.min(point.x), ends.1.max(point.x))
    });
    if points.is_empty() {
        return None;
    }
    let (from, to) = (ends.0 - BEYOND, ends.1 + BEYOND);
    let mut fit = Fit { points, trust: vec![1.0; points.len()], of };
    let best_of = |fit: &Fit<'_>, from: f64, to: f64, step: f64| {
        let count = ((to - from) / step).ceil() as i32;
        let all = (0..=count).map(|at| from + f64::from(at) * step);
        let all = all.map(|at| (at, fit.profile(at)));
        all.max_by(|a, b| a.1.1.total_cmp(&b.1.1)).unwrap_or((from, (1.0, 0.0)))
    };
    let (mut at, (mut slope, _)) = best_of(&fit, from, to, STEPS.0);
    for _ in 0..2 {
        fit.weigh(at, slope);
        (at, (slope, _)) = best_of(&fit, from.max(at - 0.5), to.min(at + 0.5), STEPS.0 / 2.0);
    }
    let near = STEPS.0 / 2.0;
    let (at, (slope, top)) = best_of(&fit, from.max(at - near), to.min(at + near), STEPS.1);
    let at = fit.top_near(at).clamp(from, to);
    let t = student_above(wrong / 2.0, fit.degrees(at, slope));
    let allowed = 0.5 * t * t * CAUTION * fit.scatter(at, slope);
    let is_held = |x: f64| top - fit.profile(x).1 <= allowed;
    let end = |towards: f64| {
        if is_held(towards) {
            return None;
        }
        let (mut inside, mut outside) = (at, towards);
        // Finds the first outward step that is outside of the interval, then bisects.
        let mut step = STEPS.1;
        while step < (towards - at).abs() {
            let next = at + step * (towards - at).signum();
            if !is_held(next) {
                outside = next;
                break;
            }
            inside = next;
            step *= 2.0;
        }
        for _ in 0..10 {
            let middle = f64::midpoint(inside, outside);
            if is_held(middle) { inside = middle } else { outside = middle }
        }
        Some(outside)
    };
    Some(Crossing { at, low: end(from), high: end(to) })
}

/// Computes ln(1 + e^z).
fn softplus(z: f64) -> f64 {
    if z > 30.0 { z } else { z.exp().ln_1p() }
}
