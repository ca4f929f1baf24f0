//! A distribution in a form that can be plotted: the cumulative distribution at a limited number of ranks, and a
//! histogram. The number of points does not grow with the number of values.

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
    /// Adjacent columns of the histogram, from the smallest value to the largest.
    pub bins: Vec<Bin>,
    /// Whether the columns grow in width, each by the same factor. The first column is an exception: it contains all
    /// values up to its upper end.
    pub growing: bool,
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

/// A column of a histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// The lower end of the column; excluded, except in the first column.
    pub from: f64,
    /// The upper end of the column; included.
    pub to: f64,
    /// The share of values in the column, from 0 to 1.
    pub share: f64,
}

/// Columns grow in width if the largest value is more than this many times the 5th percentile. Columns of
/// equal width would then show neither the small nor the large values well. If the 5th percentile is zero,
/// the 25th or 50th replaces it.
const LOG_FROM_FACTOR: f64 = 20.0;

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

    /// The share of values that are not above `value`.
    fn share_up_to(&self, value: f64) -> f64 {
        match &self.0 {
            Of::Plain(values) => {
                values.partition_point(|other| *other <= value) as f64 / values.len() as f64
            }
            Of::Weighted(ranked) => ranked.weight_up_to(value) / ranked.total(),
            Of::Sketch(sketch) => sketch.share_up_to(value),
        }
    }

    /// The curve with at most `points + 1` points (at most 9 if `points` is below 8) and at most `bins` columns, but at
    /// least one column; `None` without values.
    pub fn curve(&self, points: usize, bins: usize) -> Option<Curve> {
        let n = self.n();
        if n == 0 {
            return None;
        }
        let points: Vec<CurvePoint> = ranks(n, points)
            .into_iter()
            .map(|rank| CurvePoint { share: rank as f64 / n as f64, value: self.ranked(rank) })
            .collect();
        let exact = !matches!(self.0, Of::Sketch(_));
        let (bins, growing) = self.bins(n, bins);
        Some(Curve { n, exact, points, bins, growing })
    }

    /// At most `bins` columns, and whether they grow in width.
    fn bins(&self, n: u64, bins: usize) -> (Vec<Bin>, bool) {
        let (first, last) = (self.ranked(1), self.ranked(n));
        // Low percentiles may be zero, for example those of gaps between tokens of the same read.
        let low = [0.05, 0.25, 0.5].map(|q| self.ranked(((n as f64 * q) as u64).max(1)));
        let low = low.into_iter().find(|value| *value > 0.0);
        if first >= last || bins < 2 {
            return (vec![Bin { from: first, to: last, share: 1.0 }], false);
        }
        let grows = low.filter(|low| last / low > LOG_FROM_FACTOR);
        let edge = |at: usize| match grows {
            _ if at == 0 => first,
            _ if at == bins => last,
            Some(low) => low * (last / low).powf((at - 1) as f64 / (bins - 1) as f64),
            None => first + (last - first) * at as f64 / bins as f64,
        };
        let mut below = 0.0;
        let bins = (0..bins).map(|at| {
            let (from, to) = (edge(at), edge(at + 1));
            let come = if at + 1 == bins { 1.0 } else { self.share_up_to(to) };
            let share = come - below;
            below = come;
            Bin { from, to, share }
        });
        (bins.collect(), grows.is_some())
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
    use super::*;
    use crate::stats::Weighted;
    use crate::stats::{Pool, Sample};

    fn sample(values: impl IntoIterator<Item = f64>, kept: usize) -> Sample {
        let mut sample = Sample::keeping(kept);
        sample.extend(values);
        sample
    }

    #[test]
    fn a_curve_of_few_values_has_one_point_per_value() {
        let curve = sample([3.0, 1.0, 2.0, 2.0], 99).ordered().curve(100, 4).expect("values");
        let points: Vec<(f64, f64)> = curve.points.iter().map(|p| (p.share, p.value)).collect();
        assert_eq!(points, [(0.25, 1.0), (0.5, 2.0), (0.75, 2.0), (1.0, 3.0)]);
        let shares: Vec<f64> = curve.bins.iter().map(|bin| bin.share).collect();
        assert_eq!((curve.n, curve.exact, shares), (4, true, vec![0.25, 0.5, 0.0, 0.25]));
        assert_eq!(sample([], 9).ordered().curve(100, 4), None);
        let same = sample([7.0; 9], 99).ordered().curve(100, 4).expect("values");
        assert_eq!(same.bins, [Bin { from: 7.0, to: 7.0, share: 1.0 }]);
    }

    #[test]
    fn a_curve_of_many_values_has_few_points_that_follow_the_distribution_up_to_the_maximum() {
        let values = || (0..100_000).map(|i| f64::from((i * 7_919) % 100_000 + 1));
        let exact = sample(values(), 1 << 20).ordered().curve(200, 40).expect("values");
        let sketched = sample(values(), 10).ordered().curve(200, 40).expect("values");
        assert!(exact.exact && !sketched.exact);
        for curve in [exact, sketched] {
            assert!(curve.points.len() <= 201, "{}", curve.points.len());
            let last = curve.points[curve.points.len() - 1];
            assert_eq!((last.share, last.value, curve.n), (1.0, 100_000.0, 100_000));
            for point in &curve.points {
                let expected = point.share * 100_000.0;
                assert!((point.value - expected).abs() <= 0.001 * expected + 1.0, "{point:?}");
            }
            let total: f64 = curve.bins.iter().map(|bin| bin.share).sum();
            assert!((total - 1.0).abs() < 1e-9 && curve.bins.len() == 40);
            let tail = curve.points.iter().filter(|point| point.share > 0.999).count();
            assert!(tail > 20, "{tail}");
        }
    }

    #[test]
    fn bins_of_widely_spread_values_grow_in_width_even_if_some_values_are_zero() {
        let values = (0..1_000).map(|i| if i < 10 { 0.0 } else { f64::from(i) / 100.0 });
        let curve = sample(values.chain([500.0]), 1 << 20).ordered().curve(50, 20).expect("values");
        assert!(curve.growing && curve.bins[0].from == 0.0 && curve.bins[19].to == 500.0);
        assert!((curve.bins[0].share - 0.05).abs() < 0.01, "{:?}", curve.bins[0]);
        let widths = curve.bins[1..].windows(2);
        assert!(widths.into_iter().all(|two| two[1].to - two[1].from > two[0].to - two[0].from));
    }

    #[test]
    fn a_curve_weights_pooled_values_by_their_weights() {
        let mut pool = Pool::keeping(1 << 20);
        pool.add_request(|gaps| {
            gaps.extend(
                [(10.0, 1.0), (20.0, 3.0)].map(|(value, weight)| Weighted { value, weight }),
            );
        });
        let curve = pool.ordered().curve(100, 2).expect("values");
        let points: Vec<(f64, f64)> = curve.points.iter().map(|p| (p.share, p.value)).collect();
        assert_eq!(points, [(0.25, 10.0), (0.5, 20.0), (0.75, 20.0), (1.0, 20.0)]);
        assert_eq!(curve.bins.iter().map(|bin| bin.share).collect::<Vec<_>>(), [0.25, 0.75]);
    }
}
