//! The distribution and the spread of values, in the form that results contain.

use serde::{Deserialize, Deserializer, Serialize};

/// A distribution, with intervals of its main statistics. A statistic is NaN, in JSON null, if an imported file does not
/// state it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Arithmetic mean.
    #[serde(deserialize_with = "number_or_nan")]
    pub mean: f64,
    /// 95 % interval of the mean; `None` if it was not computed, or if the sample is too small.
    pub mean_ci: Option<[f64; 2]>,
    /// Median, by linear interpolation.
    #[serde(deserialize_with = "number_or_nan")]
    pub p50: f64,
    /// 95 % interval of the median; `None` if it was not computed, if the sample is too small, or if there were
    /// too many values to store.
    pub p50_ci: Option<[f64; 2]>,
    /// 90th percentile.
    #[serde(deserialize_with = "number_or_nan")]
    pub p90: f64,
    /// 95 % interval of the 90th percentile; `None` for the same reasons as `p50_ci`.
    pub p90_ci: Option<[f64; 2]>,
    /// 95th percentile; `None` in results of a version that did not have it.
    pub p95: Option<f64>,
    /// 99th percentile.
    #[serde(deserialize_with = "number_or_nan")]
    pub p99: f64,
    /// 95 % interval of the 99th percentile; `None` for the same reasons as `p50_ci`.
    pub p99_ci: Option<[f64; 2]>,
    /// 99.9th percentile; `None` in results of a version that did not have it.
    pub p999: Option<f64>,
    /// Largest value.
    #[serde(deserialize_with = "number_or_nan")]
    pub max: f64,
    /// Number of values.
    pub n: u64,
    /// The number of independent requests that would determine the mean equally well; `None` if the mean has
    /// no interval.
    pub effective_n: Option<f64>,
    /// The approximate number of requests that a pass of this kind needs for an interval of the 99th percentile. `None`
    /// if there is such an interval, or if the number is not known.
    pub p99_needs: Option<u64>,
    /// Whether percentiles are exact. If there were too many values to store, percentiles come from a sketch,
    /// and are within [`crate::stats::RELATIVE_ERROR`] of the exact ones. Mean, maximum and number never come from the sketch.
    #[serde(default = "yes")]
    pub exact: bool,
}

/// JSON has no NaN, so NaN is stored as null.
fn number_or_nan<'de, D: Deserializer<'de>>(number: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(number)?.unwrap_or(f64::NAN))
}

/// A figure over repeats of a cell, or over several runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Mean over the repeats or runs.
    pub mean: f64,
    /// 95 % interval of the mean, by Student's t; `None` for one value.
    pub ci: Option<[f64; 2]>,
    /// Coefficient of variation: standard deviation / |mean|; `None` for one value, or if the mean is 0.
    pub cv: Option<f64>,
    /// The number of repeats or runs that have the figure.
    pub n: u64,
}

/// A value, and the number of tokens or events that it represents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weighted {
    /// The value.
    pub value: f64,
    /// The number of tokens or events. It may be a fraction.
    pub weight: f64,
}

/// The default of [`Distribution::exact`]: results of versions without a sketch are exact.
fn yes() -> bool {
    true
}
