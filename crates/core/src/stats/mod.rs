//! Statistics of what was measured: exact percentiles, and intervals that say what a sample of
//! this size can know. Never a bucket, never a random number that is not seeded.

mod interval;
mod quantile;

pub use interval::{mean_interval, quantile_ranks};
pub use quantile::{percentile, weighted_percentile};

use crate::metric::Weighted;
use crate::summary::Distribution;

/// The confidence of every interval.
pub const CONFIDENCE: f64 = 0.95;

/// The distribution of independent values, or none of no values. Sorts the values.
///
/// Percentiles are interpolated linearly over the exact values ([`percentile`]); the intervals
/// are those of [`quantile_ranks`] and [`mean_interval`].
#[must_use]
pub fn distribution(values: &mut [f64], seed: u64) -> Option<Distribution> {
    let n = values.len();
    if n == 0 {
        return None;
    }
    values.sort_unstable_by(f64::total_cmp);
    let interval = |q: f64| {
        let (low, high) = quantile_ranks(n as u64, q, CONFIDENCE)?;
        Some([values[low as usize - 1], values[high as usize - 1]])
    };
    let parts: Vec<(f64, f64)> = values.iter().map(|&value| (value, 1.0)).collect();
    Some(Distribution {
        mean: values.iter().sum::<f64>() / n as f64,
        mean_ci: mean_interval(&parts, seed),
        p50: percentile(values, 0.50),
        p50_ci: interval(0.50),
        p90: percentile(values, 0.90),
        p99: percentile(values, 0.99),
        p99_ci: interval(0.99),
        max: values[n - 1],
        n: n as u64,
    })
}

/// Values that several requests bring in numbers, such as the gaps between tokens.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    samples: Vec<Weighted>,
    /// Per request: the sum of value x weight, and the sum of weights.
    requests: Vec<(f64, f64)>,
}

impl Pool {
    /// Takes in the values of one request, which `append` adds to those that are there.
    pub fn add_request(&mut self, append: impl FnOnce(&mut Vec<Weighted>)) {
        let before = self.samples.len();
        append(&mut self.samples);
        let added = &self.samples[before..];
        if !added.is_empty() {
            let total = added.iter().map(|sample| sample.value * sample.weight).sum();
            self.requests.push((total, added.iter().map(|sample| sample.weight).sum()));
        }
    }

    /// The distribution of the pooled values, or none of no values.
    ///
    /// The values of one request are not independent, so the mean's interval resamples whole
    /// requests, and the order-statistic intervals, which would come out far too narrow, are
    /// absent. `n` is the sum of the weights, rounded.
    #[must_use]
    pub fn distribution(mut self, seed: u64) -> Option<Distribution> {
        // Sorted in full, so that records give the same figures to the last bit in any order.
        self.samples.sort_unstable_by(|a, b| {
            a.value.total_cmp(&b.value).then(a.weight.total_cmp(&b.weight))
        });
        self.requests.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let max = self.samples.last()?.value;
        let (total, weight) =
            self.requests.iter().fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
        let percentile = |q: f64| weighted_percentile(&self.samples, q);
        Some(Distribution {
            mean: total / weight,
            mean_ci: mean_interval(&self.requests, seed),
            p50: percentile(0.50),
            p50_ci: None,
            p90: percentile(0.90),
            p99: percentile(0.99),
            p99_ci: None,
            max,
            n: weight.round() as u64,
        })
    }
}

#[cfg(test)]
mod tests;
