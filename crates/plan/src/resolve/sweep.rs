//! Resolves the sweep of a plan from a spec: its limits, and the pass that its trials vary.

use inferometer_model::metrics::slo::{self, Comparison, Objective};

use super::search::{at_least_1, share, varied};
use crate::spec::{MAX_GPUS, Mistakes, Spec, levels, values};
use crate::sweep::{FEWEST_REQUESTS, SweepPlan};
use crate::{search::Over, spec::limits::MAX_IN_FLIGHT};

const KNEE: f64 = 0.95;
const CONFIDENCE: f64 = 0.95;
/// The default precision of the knee in a sweep of requests in flight. The interval may be wide, because
/// throughput is flat near this knee. In a sweep of rates, the knee can be found more precisely.
const PRECISION_IN_FLIGHT: f64 = 0.25;
const PRECISION_OF_RATE: f64 = 0.05;
const MAX_CONCURRENCY: u32 = 1_024;
const MAX_REQUESTS: u64 = 30_000;
const MAX_TRIALS: u32 = 40;

/// The sweep of a spec, if it has one.
pub(crate) fn sweep(spec: &Spec, mistakes: &mut Mistakes) -> Option<SweepPlan> {
    let asked = spec.sweep.as_ref()?;
    let by = varied("by", asked.by.as_deref(), [Over::Concurrency, Over::Rate], mistakes);
    let max_rate = mistakes.read("max_rate", asked.max_rate.as_ref(), levels::constant_rate);
    if asked.max_concurrency.is_some_and(|most| most == 0 || most > MAX_IN_FLIGHT) {
        let problem = format!("is not a number of requests in flight from 1 to {MAX_IN_FLIGHT}");
        mistakes.add("max_concurrency", problem);
    }
    let highest = match by {
        Over::Concurrency => Some(f64::from(asked.max_concurrency.unwrap_or(MAX_CONCURRENCY))),
        _ => max_rate,
    };
    if by == Over::Concurrency && asked.max_rate.is_some() {
        mistakes
            .add("max_rate", "limits a sweep by rate; add --by rate, or give --max-concurrency");
    }
    if by == Over::Rate && asked.max_concurrency.is_some() {
        let problem = "limits a sweep by concurrency; leave out --by rate, or give --max-rate";
        mistakes.add("max_concurrency", problem);
    }
    let mut share = |key, given: &Option<_>, usual| share(key, given.as_ref(), usual, mistakes);
    let knee = share("knee", &asked.knee, KNEE);
    let confidence = share("confidence", &asked.confidence, CONFIDENCE);
    let precision = match by {
        Over::Concurrency => PRECISION_IN_FLIGHT,
        _ => PRECISION_OF_RATE,
    };
    let precision = share("precision", &asked.precision, precision);
    let max_time = mistakes.read("max_time", asked.max_time.as_ref(), values::span);
    if asked.gpus.is_some_and(|gpus| gpus == 0 || gpus > MAX_GPUS) {
        mistakes.add("gpus", format!("is not a number of cards from 1 to {MAX_GPUS}"));
    }
    if let Some(requests) = asked.max_requests.filter(|most| (1..FEWEST_REQUESTS).contains(most)) {
        let problem = format!(
            "{requests} requests do not allow a single trial: the first one sends {FEWEST_REQUESTS}; \
                raise the limit, or leave it out"
        );
        mistakes.add("max_requests", problem);
    }
    let objectives = spec.slo.as_deref().and_then(|text| slo::parse(text).ok()).unwrap_or_default();
    let is_lower =
        |one: &&Objective| matches!(one.comparison, Comparison::Above | Comparison::AtLeast);
    if let Some(lower) = objectives.iter().find(is_lower) {
        let problem =
            format!("`{}`: a sweep needs upper limits, which higher loads miss", lower.text);
        mistakes.add("slo", problem);
    }
    Some(SweepPlan {
        by,
        knee,
        confidence,
        precision,
        highest,
        max_requests: at_least_1("max_requests", asked.max_requests, MAX_REQUESTS, mistakes),
        max_trials: at_least_1("max_trials", asked.max_trials, MAX_TRIALS, mistakes),
        max_time,
        gpus: spec.price.gpus.or(asked.gpus),
    })
}

#[cfg(test)]
mod tests {
    use inferometer_model::load::{Bound, PassPlan};

    use super::*;
    use crate::spec::Known;

    fn resolved(keys: &str) -> Result<crate::Plan, String> {
        let spec: Spec = serde_json::from_str(keys).unwrap();
        spec.resolve(&Known { dialects: &[], models: &["chatglm3-6b"], model_of_hub_id: |_| None })
            .map_err(|mistakes| {
                mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
            })
    }

    #[test]
    fn a_sweep_has_one_pass_as_template_for_its_trials_and_changes_the_plan_hash() {
        let plain = resolved(r#"{"sweep": {}}"#).unwrap();
        let sweep = plain.procedure.sweep().unwrap();
        assert_eq!((sweep.by, sweep.knee, sweep.highest), (Over::Concurrency, 0.95, Some(1_024.0)));
        assert_eq!(plain.passes, [PassPlan::closed(1, Bound::requests(100))]);
        let by_rate = resolved(r#"{"sweep": {"by": "rate", "max_rate": 40}}"#).unwrap();
        assert_eq!(by_rate.passes[0].to_string(), "open loop, 1 requests/s");
        assert_eq!(by_rate.procedure.sweep().unwrap().highest, Some(40.0));
        assert_ne!(by_rate.hash(), plain.hash());
        assert!(
            plain.procedure.chooses_loads() && !resolved("{}").unwrap().procedure.chooses_loads()
        );
    }

    #[test]
    fn a_sweep_may_be_limited_to_the_requests_of_its_first_trial() {
        let plan = resolved(r#"{"sweep": {"max_requests": 24}}"#).unwrap();
        assert_eq!(plan.procedure.sweep().unwrap().max_requests, FEWEST_REQUESTS);
    }

    #[test]
    fn settings_that_a_sweep_does_not_accept_are_refused_with_their_key() {
        for (keys, told) in [
            (
                r#"{"sweep": {}, "rate": ["4"]}"#,
                "rate (--rate): cannot be set: a sweep chooses the loads",
            ),
            (
                r#"{"sweep": {}, "burstiness": 2}"#,
                "burstiness (--burstiness): applies to arrival rates",
            ),
            (r#"{"sweep": {}, "scale": false}"#, "scale (--no-scale): applies to arrival rates"),
            (
                r#"{"sweep": {}, "slo": "ttft_p99<1s,output_tokens_per_s>5"}"#,
                "slo (--slo): `output_tokens_per_s>5`: a sweep needs upper limits",
            ),
            (r#"{"sweep": {}, "max_failures": "2%"}"#, "max_failures (--max-failures): is not"),
            (r#"{"sweep": {"by": "users"}}"#, "by (--by): `users` is not one of"),
            (r#"{"sweep": {"max_rate": 3}}"#, "max_rate (--max-rate): limits a sweep by rate"),
            (r#"{"sweep": {"by": "rate", "max_concurrency": 3}}"#, "limits a sweep by concurrency"),
            (r#"{"sweep": {"max_concurrency": 0}}"#, "not a number of requests in flight"),
            (r#"{"sweep": {"knee": "20%"}}"#, "knee (--knee): is below 50%"),
            (r#"{"sweep": {"gpus": 0}}"#, "gpus (--gpus): is not a number of cards"),
            (
                r#"{"sweep": {"max_requests": 23}}"#,
                "max_requests (--max-requests): 23 requests do not allow a single trial: the first \
                    one sends 24; raise the limit",
            ),
            (r#"{"sweep": {"max_requests": 0}}"#, "max_requests (--max-requests): is 0"),
            (r#"{"sweep": {"max_trials": 0}}"#, "max_trials (--max-trials): is 0"),
            (r#"{"sweep": {}, "search": {}, "slo": "ttft_p99<1s"}"#, "both choose the loads"),
        ] {
            let found = resolved(keys).expect_err("it is refused");
            assert!(found.contains(told), "{keys}: {found}");
        }
    }
}
