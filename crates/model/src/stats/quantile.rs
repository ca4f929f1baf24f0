//! Percentiles of exact values, not of buckets.

use crate::stats::Weighted;

/// The quantile `q` in [0, 1] of sorted values, interpolated linearly between the two nearest ranks. The rank, counted
/// from 0, is (n - 1) q, as by default in R and NumPy (type 7 of Hyndman and Fan, 1996).
///
/// # Panics
/// If there are no values.
pub fn percentile(sorted: &[f64], q: f64) -> f64 {
    let rank = (sorted.len() - 1) as f64 * q;
    let low = rank.floor() as usize;
    let high = (low + 1).min(sorted.len() - 1);
    interpolate(sorted[low], sorted[high], rank.fract())
}

/// The median of values in any order; `None` without values. For an even number of values, it is the mean of the two
/// middle ones.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_unstable_by(f64::total_cmp);
    (!sorted.is_empty()).then(|| percentile(&sorted, 0.5))
}

/// Sorted values with weights, and the running sums of the weights.
#[derive(Clone, Debug)]
pub struct Ranked<'a> {
    pub(super) sorted: &'a [Weighted],
    pub(super) sums: Vec<f64>,
}

impl<'a> Ranked<'a> {
    /// Values with weights. They must be sorted by value.
    pub fn new(sorted: &'a [Weighted]) -> Self {
        let mut sum = 0.0;
        let sums = sorted.iter().map(|sample| {
            sum += sample.weight;
            sum
        });
        Self { sorted, sums: sums.collect() }
    }

    /// Like [`percentile`], but each value counts `weight` times. The running sum of weights gives the values at the
    /// two nearest ranks. If the weights are whole numbers, the result is that of repeated values, apart from rounding.
    ///
    /// # Panics
    /// If there are no values.
    pub fn percentile(&self, q: f64) -> f64 {
        let rank = (self.total() - 1.0).max(0.0) * q + 1.0;
        interpolate(self.value_at(rank.floor()), self.value_at(rank.floor() + 1.0), rank.fract())
    }

    /// The sum of the weights.
    pub(super) fn total(&self) -> f64 {
        self.sums.last().copied().unwrap_or(0.0)
    }

    /// The value at a rank; ranks start at 1.
    pub(super) fn value_at(&self, rank: f64) -> f64 {
        // The sum of many fractions may differ slightly from a whole number. This tolerance is far smaller than the
        // distance between two ranks.
        let slack = self.total() * 1e-12;
        let at = self.sums.partition_point(|sum| sum + slack < rank);
        self.sorted[at.min(self.sorted.len() - 1)].value
    }
}

/// Interpolates between two values. The result is exact if both are equal.
fn interpolate(low: f64, high: f64, share: f64) -> f64 {
    low + (high - low) * share
}
