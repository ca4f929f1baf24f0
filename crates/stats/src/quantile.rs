//! Percentiles of exact values, not of buckets.

use crate::Weighted;

/// The quantile `q` in [0, 1] of sorted values, interpolated linearly between the two nearest
/// ranks: at h = (n - 1) q, the default of R and NumPy (type 7 of Hyndman and Fan, 1996).
///
/// # Panics
/// If there are no values.
pub fn percentile(sorted: &[f64], q: f64) -> f64 {
    let rank = (sorted.len() - 1) as f64 * q;
    let low = rank.floor() as usize;
    let high = (low + 1).min(sorted.len() - 1);
    interpolate(sorted[low], sorted[high], rank.fract())
}

/// As [`percentile`], but each value counts `weight` times: the values at the two nearest ranks are found
/// with the running sum of weights. Whole weights give exactly the result of repeated values.
///
/// # Panics
/// If there are no values.
pub fn weighted_percentile(sorted: &[Weighted], q: f64) -> f64 {
    let total: f64 = sorted.iter().map(|sample| sample.weight).sum();
    // The sum of many fractions may differ slightly from a whole number. This tolerance is far less than a
    // rank.
    let slack = total * 1e-12;
    let value_at = |rank: f64| {
        let mut sum = 0.0;
        let reached = sorted.iter().position(|sample| {
            sum += sample.weight;
            sum + slack >= rank
        });
        sorted[reached.unwrap_or(sorted.len() - 1)].value
    };
    let rank = (total - 1.0).max(0.0) * q + 1.0;
    interpolate(value_at(rank.floor()), value_at(rank.floor() + 1.0), rank.fract())
}

/// Interpolates between two values. The result is exact if both are equal.
fn interpolate(low: f64, high: f64, share: f64) -> f64 {
    low + (high - low) * share
}
