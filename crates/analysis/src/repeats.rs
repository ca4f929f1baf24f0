//! Decides whether enough repeats were measured: each figure that the plan names must be as precise as the plan
//! requests. This module does not measure another repeat.

use inferometer_model::{PassKind, stats};
use inferometer_plan::precision::Precision;

use crate::PassSummary;
use crate::judge::{applies_to, measure};

/// Whether the precision is reached for every load of a cell, given the summaries of all passes of the cell. Loads to
/// which the metric does not apply are ignored. At least two repeats are needed, and each must have the figure.
pub fn is_reached(precision: &Precision, passes: &[PassSummary]) -> bool {
    let loaded = passes.iter().any(|pass| pass.kind != PassKind::OneByOne);
    let applies = |pass: &&PassSummary| applies_to(precision.metric, pass, loaded);
    let mut loads: Vec<&str> =
        passes.iter().filter(applies).map(|pass| pass.load.as_str()).collect();
    loads.sort_unstable();
    loads.dedup();
    loads.into_iter().all(|load| {
        let of_load = passes.iter().filter(|pass| pass.load == load);
        let values: Option<Vec<f64>> =
            of_load.map(|pass| measure(precision.metric, precision.statistic, pass)).collect();
        values.is_some_and(|values| is_enough(precision, &values))
    })
}

fn is_enough(precision: &Precision, values: &[f64]) -> bool {
    let spread = stats::spread(values);
    spread.is_some_and(|spread| {
        spread
            .ci
            .is_some_and(|[low, high]| (high - low) / 2.0 <= precision.relative * spread.mean.abs())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::PassFold;
    use inferometer_model::fixture::steady;
    use inferometer_model::load::{Bound, PassPlan};
    use inferometer_model::metrics::Timeline;
    use inferometer_plan::precision::parse;

    /// A pass with one request, which has this TTFT.
    fn pass(plan: &PassPlan, ttft_ms: f64) -> PassSummary {
        let mut fold = PassFold::new(plan);
        fold.add(&Timeline::new(&steady(0.0, ttft_ms, 10.0, 4)));
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
            parse(text).unwrap().iter().all(|precision| is_reached(precision, passes))
        };
        assert!(reached("ttft_p50±2.5%", &passes));
        assert!(!reached("ttft_p50 +- 2.4%", &passes));
        assert!(!reached("ttft_p50+/-2.5%", &of([[99.0, 100.0, 101.0], [40.0, 50.0, 60.0]])));
        assert!(!reached("ttft_p50±100%", &passes[..1]), "one repeat shows no variation");
    }

    #[test]
    fn throughput_precision_ignores_one_by_one_passes_if_another_pass_loads_the_server() {
        let alone = PassPlan::one_by_one(Bound::requests(1));
        let crowd = PassPlan::saturated(1);
        let passes =
            [pass(&alone, 10.0), pass(&crowd, 20.0), pass(&alone, 900.0), pass(&crowd, 20.0)];
        let precision = &parse("requests_per_s±1%").unwrap()[0];
        assert!(is_reached(precision, &passes));
        assert!(!is_reached(precision, &[pass(&alone, 10.0), pass(&alone, 900.0)]));
    }

    #[test]
    fn each_invalid_precision_is_reported() {
        let told: Vec<String> = parse("ttft_p50,ttft±2%,ttft_p50±two%,ttft_p50±0%")
            .unwrap_err()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert!(told[0].contains("ttft_p50±2%") && told[1].contains("statistic"), "{told:?}");
        assert_eq!(told.len(), 4);
    }
}
