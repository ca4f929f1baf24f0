//! The statistics of a distribution, by their names in tables and objectives.

use serde::{Deserialize, Serialize};

use crate::stats::Distribution;

/// The statistics of a distribution that objectives can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// Arithmetic mean.
    Mean,
    /// Median.
    P50,
    /// 90th percentile.
    P90,
    /// 95th percentile.
    P95,
    /// 99th percentile.
    P99,
    /// 99.9th percentile.
    P999,
    /// Largest value.
    Max,
}

crate::names!(Statistic {
    Mean => "mean", P50 => "p50", P90 => "p90", P95 => "p95", P99 => "p99", P999 => "p999",
    Max => "max",
});

impl Statistic {
    /// The share of values, 0 to 1, that are not above the statistic; absent if it is not a percentile.
    pub fn share(self) -> Option<f64> {
        match self {
            Self::P50 => Some(0.50),
            Self::P90 => Some(0.90),
            Self::P95 => Some(0.95),
            Self::P99 => Some(0.99),
            Self::P999 => Some(0.999),
            Self::Mean | Self::Max => None,
        }
    }

    /// The 95 % confidence interval of the statistic; absent if the distribution has none. For p95, p999 and the
    /// maximum, it is always absent.
    pub fn interval(self, values: &Distribution) -> Option<[f64; 2]> {
        match self {
            Self::Mean => values.mean_ci,
            Self::P50 => values.p50_ci,
            Self::P90 => values.p90_ci,
            Self::P99 => values.p99_ci,
            Self::P95 | Self::P999 | Self::Max => None,
        }
    }

    /// The value of the statistic. Absent in results of an older version that did not store it, and in imported results
    /// if the file does not state it.
    pub fn of(self, values: &Distribution) -> Option<f64> {
        let value = match self {
            Self::Mean => Some(values.mean),
            Self::P50 => Some(values.p50),
            Self::P90 => Some(values.p90),
            Self::P95 => values.p95,
            Self::P99 => Some(values.p99),
            Self::P999 => values.p999,
            Self::Max => Some(values.max),
        };
        value.filter(|value| !value.is_nan())
    }
}
