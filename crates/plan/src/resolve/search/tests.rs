//! Resolves searches of plan files.

use super::*;
use crate::spec::Known;

fn resolved(keys: &str) -> Result<crate::Plan, String> {
    let spec: Spec = serde_json::from_str(keys).unwrap();
    spec.resolve(&Known { dialects: &[], models: &["chatglm3-6b"], model_of_hub_id: |_| None })
        .map_err(|mistakes| mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}

#[test]
fn a_search_has_one_pass_as_template_for_its_trials_and_changes_the_plan_hash() {
    let plain = resolved(r#"{"slo": "ttft_p99<1s", "search": {}}"#).unwrap();
    let search = plain.procedure.search().unwrap();
    assert_eq!((search.over, search.start, search.lowest), (Over::Rate, 16.0, 1e-3));
    assert_eq!((search.confidence, search.precision), (0.95, 0.05));
    let PassPlan::Open(open) = &plain.passes[0] else { panic!("an open loop") };
    assert_eq!((&open.rate, open.bound), (&16.0.into(), Bound::requests(100)));
    assert!(!open.scaled);
    let other = r#"{"slo": "ttft_p99<1s", "search": {"precision": "10%"}}"#;
    assert_ne!(resolved(other).unwrap().hash(), plain.hash());
    let keys = r#"{"slo": "ttft_p99<1s", "search": {"over": "concurrency", "to": 64}}"#;
    let closed = resolved(keys).unwrap();
    assert_eq!(closed.passes, [PassPlan::closed(8, Bound::requests(100))]);
    assert_eq!(closed.procedure.search().unwrap().highest, Some(64.0));
}

#[test]
fn the_first_load_of_a_search_lies_between_its_bounds() {
    for (keys, start, lowest) in [
        (r#"{"from": 3}"#, 3.0, 3.0),
        (r#"{"to": 0.5}"#, 0.5, 0.0005),
        (r#"{"from": 3, "to": 9, "start": 9}"#, 9.0, 3.0),
        (r#"{"start": "20"}"#, 20.0, 0.001),
    ] {
        let keys = format!(r#"{{"slo": "ttft_p99<1s", "search": {keys}}}"#);
        let plan = resolved(&keys).unwrap();
        let search = plan.procedure.search().unwrap();
        assert_eq!((search.start, search.lowest), (start, lowest), "{keys}");
    }
    for bounds in [r#""from": 3, "to": 9, "start": 20"#, r#""from": 3, "start": 1"#] {
        let keys = format!(r#"{{"slo": "ttft_p99<1s", "search": {{{bounds}}}}}"#);
        let told = resolved(&keys).unwrap_err();
        assert!(told.contains("start (--start): is not between --from and --to"), "{told}");
    }
}

#[test]
fn a_search_with_jobs_of_agents_varies_jobs_at_once_unless_a_rate_is_asked_for() {
    let jobs = r#""workload": "agents", "dataset": "a.jsonl""#;
    for (over, expected, start) in
        [("", Over::Jobs, 8.0), (r#""over": "rate""#, Over::JobRate, 0.25)]
    {
        let keys = format!(r#"{{"slo": "job_slowdown_p95<2", {jobs}, "search": {{{over}}}}}"#);
        let plan = resolved(&keys).unwrap();
        let search = plan.procedure.search().unwrap();
        assert_eq!((search.over, search.start), (expected, start));
        assert_eq!(search.criteria[0].needed(), Some(0.95));
        assert!(matches!(&plan.passes[..], [PassPlan::Conversations(_)]));
    }
    for (keys, told) in [
        (
            format!(r#""slo": "ttft_p99<1s", {jobs}, "jobs": 4"#),
            "a search chooses the number of jobs",
        ),
        (
            format!(r#""slo": "ttft_p99<1s", {jobs}, "concurrency_of": "requests""#),
            "concurrency_of (--concurrency-of): cannot be set: a search counts jobs",
        ),
        (r#""slo": "job_slowdown_p95<2""#.to_owned(), "is about jobs; give --workload agents"),
        (format!(r#""slo": "jobs_per_h>4", {jobs}"#), "a search needs upper limits"),
    ] {
        let found = resolved(&format!(r#"{{{keys}, "search": {{}}}}"#)).unwrap_err();
        assert!(found.contains(told), "{found}");
    }
}

#[test]
fn a_given_failure_limit_is_a_criterion_of_the_search() {
    let of = |keys: &str| resolved(keys).unwrap().procedure.search().unwrap().criteria.len();
    assert_eq!(of(r#"{"slo": "ttft_p99<1s", "search": {}}"#), 1);
    assert_eq!(of(r#"{"slo": "ttft_p99<1s", "max_failures": "2%", "search": {}}"#), 2);
    let all = r#"{"goodput": "ttft<1s", "search": {"attainment": "100%"}}"#;
    assert!(resolved(all).unwrap_err().contains("--attainment 99.9%"));
}

#[test]
fn each_tier_has_the_common_criteria_and_its_own() {
    let keys = r#"{"slo": "failures<1%", "search": {"max_time": "5m",
        "tier": ["gold=ttft_p95<300ms", "bronze=ttft_p95<1s,tpot_p95<50ms"]}}"#;
    let plan = resolved(keys).unwrap();
    let search = plan.procedure.search().unwrap();
    let named = |name: &str, criteria: &[usize]| (Some(name.to_owned()), criteria.to_vec());
    assert_eq!(search.tiers(), [named("gold", &[0, 1]), named("bronze", &[0, 2, 3])]);
    assert_eq!(search.max_time, Some(std::time::Duration::from_secs(300)));
    for (tiers, words) in [
        (r#"["ttft_p95<300ms"]"#, "is not NAME=OBJECTIVES"),
        (r#"["a=ttft_p95<1s", "a=ttft_p95<2s"]"#, "`a` is given twice"),
        (r#"["a=speed<3"]"#, "tier (--tier): `a`:"),
        (r#"["a=ttft_max<3s"]"#, "the maximum grows"),
    ] {
        let told = resolved(&format!(r#"{{"search": {{"tier": {tiers}}}}}"#)).unwrap_err();
        assert!(told.contains(words), "{words}: {told}");
    }
}

#[test]
fn all_mistakes_of_a_search_are_reported_together() {
    let told = resolved(
        r#"{"slo": "ttft_max<1s", "requests": 5, "repeat": 2, "search": {"over": "speed",
            "confidence": "40%", "precision": 0, "stride": 1, "max_requests": 0}}"#,
    )
    .unwrap_err();
    for words in [
        "over (--over): `speed` is not one of rate, concurrency",
        "slo (--slo): `ttft_max<1s`: the maximum grows",
        "requests (--requests): cannot be set: a search chooses the loads",
        "repeat (--repeat): cannot be set: a search chooses the loads",
        "confidence (--confidence): is below 50%",
        "precision (--precision): `0` must be above 0% and below 100%",
        "stride (--stride): `1` is not a factor above 1",
        "max_requests (--max-requests): is 0",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let told = resolved(r#"{"search": {}}"#).unwrap_err();
    assert!(told.contains("a search needs objectives"), "{told}");
}
