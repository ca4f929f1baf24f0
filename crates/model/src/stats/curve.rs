//! A distribution in a form that can be plotted: the cumulative distribution at a limited number of ranks. The number of
//! points does not grow with the number of values.

use super::quantile::{Ranked, percentile};
use super::sketch::Sketch;

/// A distribution in a form that can be plotted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// The number of values: the sum of their weights, rounded.
    pub n: u64,
    /// Whether the curve is computed from the exact values. If not, the relative error of each value is at most
    /// [`super::RELATIVE_ERROR`].
    pub exact: bool,
    /// The cumulative distribution in ascending order. The last point is the largest value.
    pub points: Vec<CurvePoint>,
}

/// A point of a cumulative distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// The rank of this point as a share of the number of values: above 0, and at most 1. At least this share of the
    /// values is not above the value of this point. Equal values may have several points.
    pub share: f64,
    /// The value.
    pub value: f64,
}

/// Values by rank.
pub(super) enum Of<'a> {
    /// Sorted values with weight 1.
    Plain(&'a [f64]),
    /// Values with weights.
    Weighted(Ranked),
    /// A sketch of the values.
    Sketch(&'a Sketch),
}

/// The values of a [`super::Sample`] or a [`super::Pool`] by rank.
pub struct Ordered<'a>(pub(super) Of<'a>);

impl Ordered<'_> {
    fn n(&self) -> u64 {
        match &self.0 {
            Of::Plain(values) => values.len() as u64,
            Of::Weighted(ranked) => ranked.total().round() as u64,
            Of::Sketch(sketch) => sketch.n(),
        }
    }

    /// The value at a rank; ranks start at 1.
    fn ranked(&self, rank: u64) -> f64 {
        match &self.0 {
            Of::Plain(values) => values[(rank as usize).clamp(1, values.len()) - 1],
            Of::Weighted(ranked) => ranked.value_at(rank as f64),
            Of::Sketch(sketch) => sketch.ranked(rank),
        }
    }

    /// The quantile `q` in [0, 1].
    ///
    /// # Panics
    /// If there are no values.
    pub fn percentile(&self, q: f64) -> f64 {
        match &self.0 {
            Of::Plain(values) => percentile(values, q),
            Of::Weighted(ranked) => ranked.percentile(q),
            Of::Sketch(sketch) => sketch.quantile(q),
        }
    }

    /// The largest value, exact; `None` without values.
    pub(super) fn max(&self) -> Option<f64> {
        match &self.0 {
            Of::Plain(values) => values.last().copied(),
            Of::Weighted(ranked) => {
                let total = ranked.total();
                (total > 0.0).then(|| ranked.value_at(total))
            }
            Of::Sketch(sketch) => sketch.max(),
        }
    }

    /// The curve with at most `points + 1` points (at most 9 if `points` is below 8); `None` without values.
    pub fn curve(&self, points: usize) -> Option<Curve> {
        let n = self.n();
        if n == 0 {
            return None;
        }
        let points: Vec<CurvePoint> = ranks(n, points)
            .into_iter()
            .map(|rank| CurvePoint { share: rank as f64 / n as f64, value: self.ranked(rank) })
            .collect();
        let exact = !matches!(self.0, Of::Sketch(_));
        Some(Curve { n, exact, points })
    }
}

/// Returns at most `most + 1` ranks of `n`, including the first and the last rank. A `most` below 8 counts as 8. Three
/// quarters of the ranks have equal distances. The distances of the others decrease towards the largest value, because
/// readers look at the tail.
fn ranks(n: u64, most: usize) -> Vec<u64> {
    let most = most.max(8) as u64;
    if n <= most {
        return (1..=n).collect();
    }
    let even = most * 3 / 4;
    let tail = most - even;
    let mut ranks: Vec<u64> = (0..even).map(|at| 1 + at * (n - 1) / (even - 1)).collect();
    // The distance to the last rank decreases from a tenth of the values to 1, by the same factor from rank to rank.
    let above = n as f64 / 10.0;
    ranks.extend(
        (0..tail).map(|at| n - (above.powf(1.0 - at as f64 / (tail - 1) as f64) as u64).min(n - 1)),
    );
    ranks.push(n);
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

#[cfg(test)]
mod tests {
    use crate::stats::Weighted;
    use crate::stats::{Pool, Sample};

    fn sample(values: impl IntoIterator<Item = f64>, kept: usize) -> Sample {
        let mut sample = Sample::keeping(kept);
        sample.extend(values);
        sample
    }

    #[test]
    fn a_curve_of_few_values_has_one_point_per_value() {
        let curve = sample([3.0, 1.0, 2.0, 2.0], 99).ordered().curve(100).expect("values");
        let points: Vec<(f64, f64)> = curve.points.iter().map(|p| (p.share, p.value)).collect();
        assert_eq!(points, [(0.25, 1.0), (0.5, 2.0), (0.75, 2.0), (1.0, 3.0)]);
        assert_eq!((curve.n, curve.exact), (4, true));
        assert_eq!(sample([], 9).ordered().curve(100), None);
    }

    #[test]
    fn a_curve_of_many_values_has_few_points_that_follow_the_distribution_up_to_the_maximum() {
        let values = || (0..100_000).map(|i| f64::from((i * 7_919) % 100_000 + 1));
        let exact = sample(values(), 1 << 20).ordered().curve(200).expect("values");
        let sketched = sample(values(), 10).ordered().curve(200).expect("values");
        assert!(exact.exact && !sketched.exact);
        for curve in [exact, sketched] {
            assert!(curve.points.len() <= 201, "{}", curve.points.len());
            let last = curve.points[curve.points.len() - 1];
            assert_eq!((last.share, last.value, curve.n), (1.0, 100_000.0, 100_000));
            for point in &curve.points {
                let expected = point.share * 100_000.0;
                assert!((point.value - expected).abs() <= 0.001 * expected + 1.0, "{point:?}");
            }
            let tail = curve.points.iter().filter(|point| point.share > 0.999).count();
            assert!(tail > 20, "{tail}");
        }
    }

    #[test]
    fn a_curve_weights_pooled_values_by_their_weights() {
        let mut pool = Pool::keeping(1 << 20);
        pool.add_request(|gaps| {
            gaps.extend(
                [(10.0, 1.0), (20.0, 3.0)].map(|(value, weight)| Weighted { value, weight }),
            );
        });
        let curve = pool.ordered().curve(100).expect("values");
        let points: Vec<(f64, f64)> = curve.points.iter().map(|p| (p.share, p.value)).collect();
        assert_eq!(points, [(0.25, 10.0), (0.5, 20.0), (0.75, 20.0), (1.0, 20.0)]);
    }
}
