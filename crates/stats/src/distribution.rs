//! What is known of a set of values: the form in which results hold it.

use serde::{Deserialize, Serialize};

/// A distribution, with intervals on what is quoted most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Arithmetic mean.
    pub mean: f64,
    /// 95 % interval of the mean, where the values' dependence is known.
    pub mean_ci: Option<[f64; 2]>,
    /// Median, by linear interpolation.
    pub p50: f64,
    /// 95 % interval of the median.
    pub p50_ci: Option<[f64; 2]>,
    /// 90th percentile.
    pub p90: f64,
    /// 95 % interval of the 90th percentile.
    #[serde(default)]
    pub p90_ci: Option<[f64; 2]>,
    /// 95th percentile; absent in results of a version that did not have it.
    #[serde(default)]
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: f64,
    /// 95 % interval of the 99th percentile; absent where the sample cannot carry one.
    pub p99_ci: Option<[f64; 2]>,
    /// 99.9th percentile; absent in results of a version that did not have it.
    #[serde(default)]
    pub p999: Option<f64>,
    /// Largest value.
    pub max: f64,
    /// Number of values.
    pub n: u64,
    /// How many independent requests would tell the mean as well as these do; absent without an interval.
    #[serde(default)]
    pub effective_n: Option<f64>,
    /// About how many requests of a pass like this one would give the 99th percentile an interval;
    /// absent where it has one, and where that is not known.
    #[serde(default)]
    pub p99_needs: Option<u64>,
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
