//! What is known of a set of values: the form in which results hold it.

use serde::{Deserialize, Serialize};

/// A distribution, with intervals on what is quoted most.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Arithmetic mean.
    pub mean: f64,
    /// 95 % bootstrap interval of the mean.
    pub mean_ci: Option<[f64; 2]>,
    /// Median, by linear interpolation.
    pub p50: f64,
    /// 95 % order-statistic interval of the median.
    pub p50_ci: Option<[f64; 2]>,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile; absent in results of a version that did not have it.
    #[serde(default)]
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: f64,
    /// 95 % order-statistic interval of the 99th percentile; absent below the sample size at
    /// which one exists.
    pub p99_ci: Option<[f64; 2]>,
    /// 99.9th percentile; absent in results of a version that did not have it.
    #[serde(default)]
    pub p999: Option<f64>,
    /// Largest value.
    pub max: f64,
    /// Number of values.
    pub n: u64,
    /// Whether percentiles are over the exact values. Where these were too many to be kept, they
    /// are those of a sketch, within [`crate::RELATIVE_ERROR`] of the exact ones; mean,
    /// maximum and number are exact in any case.
    #[serde(default = "yes")]
    pub exact: bool,
}

/// A figure over repeats of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Mean over the repeats.
    pub mean: f64,
    /// 95 % interval of the mean, of Student's t; absent for one repeat.
    pub ci: Option<[f64; 2]>,
    /// Coefficient of variation: standard deviation / mean; absent for one repeat.
    pub cv: Option<f64>,
    /// Repeats that have the figure.
    pub n: u64,
}

/// A value, and how many tokens or events it stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weighted {
    /// The value.
    pub value: f64,
    /// How often it counts; may be a fraction.
    pub weight: f64,
}

/// Results of versions without a sketch are exact.
fn yes() -> bool {
    true
}
