//! Findings on figures of the results table whose precision is low or unknown.

use inferometer_analysis::{Cell, PassSummary};
use inferometer_model::metrics::latency_per_output_token;
use inferometer_model::stats::Distribution;
use inferometer_model::{Finding, PassKind, PassPlan, code};
use inferometer_plan::{Plan, WorkloadPlan};

/// If half the width of a confidence interval exceeds this share of the mean, a finding is added.
const WIDE: f64 = 0.05;

/// With fewer requests than this number, the error of the mean latency is unknown.
const FEW: u64 = 10;

/// Findings on the intervals of the latencies in the table, and on throughput from few requests sent at once. A
/// prediction (`predicted`) has no finding on a wide interval: its latencies vary between requests as they would on a
/// server, and a repeated prediction would be the same.
pub fn findings(plan: &Plan, cells: &[Cell], predicted: bool) -> Vec<Finding> {
    let latency =
        |cell: &Cell| cell.latency_pass()?.latency(&latency_per_output_token::DEFINITION).copied();
    // Loads that are not steady (all at once, ramps) never have an interval, even with many requests. Reports state
    // this reason. Therefore, a finding is needed only for few requests.
    let is_few = |values: &Distribution| values.mean_ci.is_none() && values.n < FEW;
    let few = cells.iter().filter_map(latency).filter(is_few);
    let mut findings = Vec::new();
    if let Some(values) = few.min_by_key(|values| values.n) {
        let message = format!(
            "Latencies in the table are means over only {} requests: too few for a confidence \
                interval.",
            values.n
        );
        let alone = |pass: &PassSummary| pass.kind == PassKind::OneByOne;
        let is_alone = cells.iter().any(|cell| cell.passes.iter().any(alone));
        findings
            .push(Finding::of(code::FEW_REQUESTS, message).advise(more_requests(plan, is_alone)));
    }
    let at_once = cells.iter().flat_map(|cell| &cell.passes).filter(|pass| pass.is_few_at_once());
    if let Some(fewest) = at_once.map(|pass| pass.planned).min() {
        let message = format!(
            "Throughput was measured with only {fewest} requests sent at once. Start-up and drain \
                are a large part of such a pass: a saturated server may reach more. Do not \
                compare the result with published tables of 399 requests."
        );
        findings.push(Finding::of(code::FEW_AT_ONCE, message));
    }
    for cell in cells.iter().filter(|_| !predicted) {
        let Some(values) = latency(cell) else { continue };
        let Some([low, high]) = values.mean_ci else { continue };
        if (high - low) / 2.0 > WIDE * values.mean {
            let message = format!(
                "The latency per output token of {:.2} ms has a 95 % confidence interval of {low:.2} \
                 to {high:.2} ms ({} requests).",
                values.mean, values.n
            );
            let place = cell.plan().to_string();
            findings.push(Finding::of(code::WIDE_INTERVAL, message).at(place));
        }
    }
    findings
}

/// How to send more requests, by the key that sets their number. `is_alone`: requests are sent one by one.
fn more_requests(plan: &Plan, is_alone: bool) -> &'static str {
    match &plan.workload {
        WorkloadPlan::Replay { .. } => "the file states the requests: give --repeat",
        WorkloadPlan::Conversation(_) => "give more --conversations, or more --turns",
        WorkloadPlan::Agents(_) => "give more --jobs",
        _ if plan.spec.workload.drawn.prompts_per_group.is_some() => {
            "give more --prompts-per-group"
        }
        _ if is_alone => "give --one-by-one 10 or more",
        _ if plan.passes.iter().all(|pass| matches!(pass, PassPlan::Replay(_))) => {
            "the recording states the requests: use a longer one, or give --repeat"
        }
        _ if plan.passes.iter().all(|pass| pass.bound().requests.is_none()) => {
            "give a longer --duration, or longer --stages"
        }
        _ => "give --requests 10 or more",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_analysis::cell;
    use inferometer_analysis::fold::PassFold;
    use inferometer_model::fixture::steady;
    use inferometer_model::load::{Bound, PassPlan};
    use inferometer_model::metrics::Timeline;
    use inferometer_plan::spec::{Known, Spec};

    fn plan_of(keys: &str) -> Plan {
        let spec: Spec = serde_json::from_str(keys).unwrap();
        let known = Known { dialects: &[], models: &["chatglm3-6b"], model_of_hub_id: |_| None };
        spec.resolve(&known).unwrap()
    }

    #[test]
    fn the_advice_for_few_requests_names_the_key_that_sets_their_number() {
        let mut fold = PassFold::new(&PassPlan::saturated(1));
        fold.add(&Timeline::new(&steady(0.0, 50.0, 10.0, 4)));
        let cells = [cell::cell(128, 4, vec![fold.finish()])];
        for (keys, advice) in [
            (r#"{"concurrency": ["2"], "requests": 3}"#, "--requests"),
            (r#"{"concurrency": ["2"], "duration": "1s"}"#, "--duration"),
            (r#"{"workload": "trace", "dataset": "x"}"#, "--repeat"),
            (r#"{"workload": "replay", "dataset": "x"}"#, "--repeat"),
            (r#"{"workload": "conversation"}"#, "--conversations"),
            (
                r#"{"workload": "prefix", "prefix_length": 8, "prefix_groups": 1,
                    "prompts_per_group": 3, "concurrency": ["2"]}"#,
                "--prompts-per-group",
            ),
        ] {
            let found = findings(&plan_of(keys), &cells, false);
            let few = found.iter().find(|finding| finding.is(code::FEW_REQUESTS)).unwrap();
            assert!(few.advice.as_ref().unwrap().contains(advice), "{keys}: {few:?}");
        }
    }

    #[test]
    fn a_wide_interval_is_a_finding_of_a_measurement_and_not_of_a_prediction() {
        let plan = PassPlan::one_by_one(Bound::requests(20));
        let mut fold = PassFold::new(&plan);
        for index in 0..20 {
            fold.add(&Timeline::new(&steady(f64::from(index) * 1e3, 50.0, 10.0, 4)));
        }
        let mut pass = fold.finish();
        let values = pass.latencies.entry(&latency_per_output_token::DEFINITION);
        let values = values.as_mut().expect("a latency");
        values.mean_ci = Some([0.5 * values.mean, 1.5 * values.mean]);
        let cells = [cell::cell(128, 4, vec![pass])];
        for predicted in [false, true] {
            let found = findings(&plan_of("{}"), &cells, predicted);
            let is_found = found.iter().any(|finding| finding.is(code::WIDE_INTERVAL));
            assert_eq!(is_found, !predicted, "{found:?}");
        }
    }
}
