//! When repeats are enough: `ttft_p50±2%` is known when the interval over the repeats is no wider
//! than that. Never here: carrying out another repeat.

use serde::{Deserialize, Serialize};

use crate::slo::{SloError, SloMetric, Statistic, measure, quantity, speaks_of};
use crate::stats;
use crate::summary::{PassKind, PassSummary};

/// How well a figure is to be known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Precision {
    /// As it was written.
    pub text: String,
    /// The metric.
    pub metric: SloMetric,
    /// The statistic of it; only metrics with one value per request have one.
    pub statistic: Option<Statistic>,
    /// Half the width of the 95 % interval over the repeats, as a share of their mean.
    pub relative: f64,
}

/// Why a text is no list of precisions.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PrecisionError {
    /// There is nothing between two commas, or no share.
    #[error("`{0}` names no precision: write it as in `ttft_p50±2%` (or +-)")]
    NoShare(String),
    /// What is to be known is not a figure.
    #[error("{0}")]
    Quantity(#[from] SloError),
}

/// Reads precisions such as `ttft_p50±2%,requests_per_s+-1%`, separated by commas.
///
/// # Errors
/// One error for each that cannot be read.
pub fn parse(text: &str) -> Result<Vec<Precision>, Vec<PrecisionError>> {
    let (mut precisions, mut errors) = (Vec::new(), Vec::new());
    for part in text.split(',') {
        match precision(part.trim()) {
            Ok(precision) => precisions.push(precision),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(precisions) } else { Err(errors) }
}

fn precision(text: &str) -> Result<Precision, PrecisionError> {
    let no_share = || PrecisionError::NoShare(text.to_owned());
    let (name, share) = ["±", "+-", "+/-"]
        .into_iter()
        .find_map(|sign| text.split_once(sign))
        .ok_or_else(no_share)?;
    let percent = share.trim().strip_suffix('%').ok_or_else(no_share)?;
    let percent: f64 = percent.trim().parse().map_err(|_| no_share())?;
    if !(percent > 0.0 && percent.is_finite()) {
        return Err(no_share());
    }
    let (metric, statistic) = quantity(text, name.trim())?;
    Ok(Precision { text: text.to_owned(), metric, statistic, relative: percent / 100.0 })
}

impl Precision {
    /// Whether it is reached for every load of a cell, by the summaries of all of its passes. A
    /// load that it does not speak of does not count; two repeats are the fewest that can say
    /// anything.
    #[must_use]
    pub fn is_reached(&self, passes: &[PassSummary]) -> bool {
        let loaded = passes.iter().any(|pass| pass.kind != PassKind::OneByOne);
        let spoken_of = |pass: &&PassSummary| speaks_of(self.metric, pass, loaded);
        let mut loads: Vec<&str> =
            passes.iter().filter(spoken_of).map(|pass| pass.load.as_str()).collect();
        loads.sort_unstable();
        loads.dedup();
        loads.into_iter().all(|load| {
            let of_load = passes.iter().filter(|pass| pass.load == load);
            let values: Option<Vec<f64>> =
                of_load.map(|pass| measure(self.metric, self.statistic, pass)).collect();
            values.is_some_and(|values| self.is_enough(&values))
        })
    }

    fn is_enough(&self, values: &[f64]) -> bool {
        let spread = stats::spread(values);
        spread.is_some_and(|spread| {
            spread
                .ci
                .is_some_and(|[low, high]| (high - low) / 2.0 <= self.relative * spread.mean.abs())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::steady;
    use crate::fold::PassFold;
    use crate::plan::{Bound, PassPlan};

    /// A pass with one request of this TTFT.
    fn pass(plan: &PassPlan, ttft_ms: f64) -> PassSummary {
        let mut fold = PassFold::new(plan, true, 1);
        fold.add(&steady(0.0, ttft_ms, 10.0, 4));
        fold.finish()
    }

    #[test]
    fn a_precision_is_reached_when_the_interval_of_every_load_is_narrow_enough() {
        let loads = [2, 4].map(|in_flight| PassPlan::closed(in_flight, Bound::requests(1)));
        let of = |ttfts: [[f64; 3]; 2]| -> Vec<PassSummary> {
            let both = loads.iter().zip(ttfts);
            both.flat_map(|(load, ttfts)| ttfts.map(|ttft| pass(load, ttft))).collect()
        };
        // 100 ± 1: s = 1, t = 4.303, half width 4.303 / sqrt(3) = 2.48.
        let passes = of([[99.0, 100.0, 101.0], [50.0, 50.0, 50.0]]);
        let reached = |text: &str, passes: &[PassSummary]| {
            parse(text).unwrap().iter().all(|precision| precision.is_reached(passes))
        };
        assert!(reached("ttft_p50±2.5%", &passes));
        assert!(!reached("ttft_p50 +- 2.4%", &passes));
        assert!(!reached("ttft_p50+/-2.5%", &of([[99.0, 100.0, 101.0], [40.0, 50.0, 60.0]])));
        assert!(!reached("ttft_p50±100%", &passes[..1]), "one repeat says nothing of others");
    }

    #[test]
    fn one_by_one_is_not_asked_for_throughput_where_something_loads_the_server() {
        let alone = PassPlan::OneByOne { bound: Bound::requests(1) };
        let crowd = PassPlan::Saturated { requests: 1 };
        let passes =
            [pass(&alone, 10.0), pass(&crowd, 20.0), pass(&alone, 900.0), pass(&crowd, 20.0)];
        let precision = &parse("requests_per_s±1%").unwrap()[0];
        assert!(precision.is_reached(&passes));
        assert!(!precision.is_reached(&[pass(&alone, 10.0), pass(&alone, 900.0)]));
    }

    #[test]
    fn what_is_not_understood_is_told() {
        let told: Vec<String> = parse("ttft_p50,ttft±2%,ttft_p50±two%,ttft_p50±0%")
            .unwrap_err()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert!(told[0].contains("ttft_p50±2%") && told[1].contains("statistic"), "{told:?}");
        assert_eq!(told.len(), 4);
    }
}
