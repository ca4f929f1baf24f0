//! Describes the range in which the true value of a figure lies, given the uncertainty of the client's arrival times.
//! It also states whether the figure is trusted, bounded or unreliable. The speed of the server does not matter:
//! figures of a slow server are just as valid.

use std::collections::BTreeMap;

use inferometer_model::{Definition, Statistic};
use serde::{Deserialize, Serialize};

/// The largest relative error of a trusted mean, median or rate.
pub const TRUSTED_SHARE: f64 = 0.01;
/// The largest relative error of a trusted percentile above the median, or of a trusted maximum.
pub const TRUSTED_SHARE_OF_TAIL: f64 = 0.05;
/// The largest relative error of a bounded figure. If the error is larger, a new measurement with a faster client is
/// worth more than the figure with its bound.
pub const VOUCHED_SHARE: f64 = 0.20;

/// How reliable a figure is, given the client's own error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// The error is small compared with the figure.
    Trusted,
    /// The error is not small, but at most [`VOUCHED_SHARE`] of the figure.
    Bounded,
    /// The error may be larger than [`VOUCHED_SHARE`] of the figure, or is unknown.
    #[serde(rename = "not_vouched_for")]
    Unreliable,
}

inferometer_model::names!(Trust {
    Trusted => "trusted", Bounded => "bounded", Unreliable => "not_vouched_for",
});

/// The range in which the true value of a figure lies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// The smallest possible true value.
    pub low: f64,
    /// The largest possible true value.
    pub high: f64,
    /// How reliable the figure is.
    pub trust: Trust,
}

impl Range {
    /// The range of `figure` from `low` to `high`, extended to include `figure`. `trusted_share` is the largest
    /// relative error of a trusted figure.
    pub fn of(figure: f64, low: f64, high: f64, trusted_share: f64) -> Self {
        let (low, high) = (low.min(figure), high.max(figure));
        let off = (figure - low).max(high - figure);
        let trust = match off {
            _ if off <= trusted_share * figure.abs() => Trust::Trusted,
            _ if off <= VOUCHED_SHARE * figure.abs() => Trust::Bounded,
            // This includes an error that is not a number.
            _ => Trust::Unreliable,
        };
        Self { low, high, trust }
    }

    /// The distance from the figure to the farther end.
    pub fn off(&self, figure: f64) -> f64 {
        (figure - self.low).max(self.high - figure)
    }
}

/// The largest relative error of a trusted statistic.
pub fn trusted_share(statistic: Statistic) -> f64 {
    match statistic {
        Statistic::Mean | Statistic::P50 => TRUSTED_SHARE,
        Statistic::P90 | Statistic::P95 | Statistic::P99 | Statistic::P999 | Statistic::Max => {
            TRUSTED_SHARE_OF_TAIL
        }
    }
}

/// The ranges of a pass or a part, by the key of a metric's distribution and then by statistic. A metric is absent if
/// every arrival time that it depends on is exact.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ranges(BTreeMap<String, BTreeMap<String, Range>>);

impl Ranges {
    /// Whether there is no range, because every arrival time is exact.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The range of a statistic; `None` if every arrival time that it depends on is exact.
    pub fn get(&self, metric: &Definition, statistic: Statistic) -> Option<Range> {
        self.0.get(metric.result_key)?.get(statistic.name()).copied()
    }

    /// Sets the range of a statistic.
    pub fn set(&mut self, metric: &Definition, statistic: Statistic, range: Range) {
        self.0
            .entry(metric.result_key.to_owned())
            .or_default()
            .insert(statistic.name().to_owned(), range);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_possible_relative_error_decides_if_a_figure_is_trusted_bounded_or_unreliable() {
        for (figure, low, high, share, expected) in [
            (100.0, 100.0, 100.0, TRUSTED_SHARE, Trust::Trusted),
            (100.0, 99.0, 100.0, TRUSTED_SHARE, Trust::Trusted),
            (100.0, 98.9, 100.0, TRUSTED_SHARE, Trust::Bounded),
            (100.0, 100.0, 104.9, TRUSTED_SHARE_OF_TAIL, Trust::Trusted),
            (100.0, 80.0, 119.0, TRUSTED_SHARE_OF_TAIL, Trust::Bounded),
            (100.0, 79.0, 100.0, TRUSTED_SHARE_OF_TAIL, Trust::Unreliable),
            (0.0, 0.0, 0.0, TRUSTED_SHARE, Trust::Trusted),
            // All tokens arrived in one read, so the time between them was not measured.
            (0.0, 0.0, 2.1, TRUSTED_SHARE, Trust::Unreliable),
            (1.501, 1.5, f64::INFINITY, TRUSTED_SHARE, Trust::Unreliable),
        ] {
            assert_eq!(
                Range::of(figure, low, high, share).trust,
                expected,
                "{figure} {low} {high}"
            );
        }
    }
}
