//! Statistics of what was measured: exact percentiles, and intervals that say what a sample of
//! this size can know. Never a random number that is not seeded.

//!
//! Exact where the values can be kept; where they are too many for that, percentiles come from a
//! sketch with a stated error, and the distribution says so.

pub mod buckets;
pub mod histogram;
pub mod portable;
pub mod seed;

mod distribution;

mod curve;
mod interval;
mod parts;
mod proportion;
mod quantile;
mod sketch;

mod pool;
mod sample;
mod spread;

pub use distribution::{Distribution, Spread, Weighted};

pub use curve::{Bin, Curve, CurvePoint};
pub use interval::{mean_interval, quantile_ranks};
pub use pool::{Pool, SAMPLES_KEPT};
pub use proportion::{normal_quantile_above, wilson};
pub use quantile::{percentile, weighted_percentile};
pub use sample::{Sample, VALUES_KEPT};
pub use sketch::RELATIVE_ERROR;
pub use spread::{spread, student_975};

/// The confidence of every interval.
pub const CONFIDENCE: f64 = 0.95;

/// The distribution of independent values, or none of no values. Sorts the values.
///
/// Percentiles are interpolated linearly over the exact values ([`percentile`]); the intervals
/// are those of [`quantile_ranks`] and [`mean_interval`].
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
        p95: Some(percentile(values, 0.95)),
        p99: percentile(values, 0.99),
        p99_ci: interval(0.99),
        p999: Some(percentile(values, 0.999)),
        max: values[n - 1],
        n: n as u64,
        exact: true,
    })
}

#[cfg(test)]
mod tests;
