//! Percentiles of exact values, not of buckets.

use super::order;
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

/// Values with weights, by rank.
#[derive(Clone, Debug)]
pub(super) enum Ranked {
    /// Values in ascending order. Each has the same weight, a whole number.
    Even(Vec<f64>, f64),
    /// Values in ascending order, and the running sums of their weights.
    Uneven(Vec<Weighted>, Vec<f64>),
}

impl Ranked {
    /// The ranks of values in any order. They do not depend on the order.
    pub fn new(samples: &[Weighted]) -> Self {
        if let Some(weight) = even_weight(samples) {
            let values = samples.iter().map(|sample| sample.value);
            return Self::Even(order::sorted(values), weight);
        }
        let mut sorted = samples.to_vec();
        sorted.sort_unstable_by(|a, b| {
            a.value.total_cmp(&b.value).then(a.weight.total_cmp(&b.weight))
        });
        let mut sum = 0.0;
        let sums = sorted.iter().map(|sample| {
            sum += sample.weight;
            sum
        });
        let sums = sums.collect();
        Self::Uneven(sorted, sums)
    }

    /// Like [`percentile`], but each value counts `weight` times. The running sum of weights gives the values at the
    /// two nearest ranks. If the weights are whole numbers, the result is that of repeated values, apart from rounding.
    ///
    /// # Panics
    /// If there are no values.
    pub fn percentile(&self, q: f64) -> f64 {
        weighted_percentile(self.total(), q, |rank| self.value_at(rank))
    }

    /// The sum of the weights.
    pub(super) fn total(&self) -> f64 {
        match self {
            Self::Even(values, weight) => values.len() as f64 * weight,
            Self::Uneven(_, sums) => sums.last().copied().unwrap_or(0.0),
        }
    }

    /// The value at a rank, a whole number; ranks start at 1.
    pub(super) fn value_at(&self, rank: f64) -> f64 {
        match self {
            Self::Even(sorted, weight) => sorted[place(rank, *weight, sorted.len())],
            Self::Uneven(sorted, sums) => {
                // The sum of many fractions may differ slightly from a whole number. This tolerance is far smaller
                // than the distance between two ranks.
                let slack = sums.last().map_or(0.0, |total| total * 1e-12);
                let at = sums.partition_point(|sum| sum + slack < rank);
                sorted[at.min(sorted.len() - 1)].value
            }
        }
    }
}

/// The weight of each sample, if all have the same weight, and it is a whole number.
pub(super) fn even_weight(samples: &[Weighted]) -> Option<f64> {
    let weight = samples.first().map_or(1.0, |first| first.weight);
    let is_whole = weight > 0.0 && weight.fract() == 0.0;
    // All samples are read, even after another weight, so that the processor compares several at once.
    let is_even = is_whole && samples.iter().fold(true, |all, it| all & (it.weight == weight));
    is_even.then_some(weight)
}

/// The quantile `q` of values whose weights have the sum `total`. `value_at` returns the value at a rank, a whole number
/// from 1, and is called with ascending ranks.
pub(super) fn weighted_percentile(total: f64, q: f64, mut value_at: impl FnMut(f64) -> f64) -> f64 {
    let rank = (total - 1.0).max(0.0) * q + 1.0;
    let low = value_at(rank.floor());
    interpolate(low, value_at(rank.floor() + 1.0), rank.fract())
}

/// The index of the value at a rank, if each of `count` values has this weight.
pub(super) fn place(rank: f64, weight: f64, count: usize) -> usize {
    ((rank / weight).ceil() as usize).clamp(1, count) - 1
}

/// Interpolates between two values. The result is exact if both are equal.
fn interpolate(low: f64, high: f64, share: f64) -> f64 {
    low + (high - low) * share
}
