//! Statistics of measured values: exact percentiles, and intervals that show how precisely a sample of this size
//! determines a figure. All random numbers are seeded.
//!
//! Percentiles are exact if all values can be stored. If there are too many values, percentiles come from a
//! sketch with a stated error, and [`Distribution::exact`] is false.

pub mod buckets;
pub mod histogram;
pub mod portable;
pub mod seed;
pub mod serial;

mod distribution;

mod curve;
mod order;
mod parts;
mod proportion;
mod quantile;
mod sketch;

mod pool;
mod sample;
mod spread;
mod student;

pub use distribution::{Distribution, Spread, Weighted};

pub use curve::{Curve, CurvePoint, Ordered};
pub use pool::{Added, Pool, SAMPLES_KEPT};
pub use proportion::{normal_below, normal_quantile_above, wilson};
pub use quantile::{median, percentile};
pub use sample::{Sample, VALUES_KEPT};
pub use sketch::RELATIVE_ERROR;
pub use spread::{spread, student_975};
pub use student::student_above;

/// The distribution of values; `None` without values. Sorts `values`. The distribution has no intervals,
/// because the dependence of the values is not known here.
///
/// Percentiles are interpolated linearly over the exact values ([`percentile`]).
pub fn distribution(values: &mut [f64]) -> Option<Distribution> {
    let n = values.len();
    if n == 0 {
        return None;
    }
    values.sort_unstable_by(f64::total_cmp);
    Some(Distribution {
        mean: values.iter().sum::<f64>() / n as f64,
        p50: percentile(values, 0.50),
        p90: percentile(values, 0.90),
        p95: Some(percentile(values, 0.95)),
        p99: percentile(values, 0.99),
        p999: Some(percentile(values, 0.999)),
        max: values[n - 1],
        n: n as u64,
        exact: true,
        ..Distribution::default()
    })
}

#[cfg(test)]
mod tests;
