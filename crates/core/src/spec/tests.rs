//! What a spec resolves to, and what is told of each mistake.

use super::*;
use crate::plan::{Bound, PassPlan};
use std::time::Duration;

const KNOWN: Known<'_> =
    Known { dialects: &["openai-completions", "tgi"], models: &["chatglm3-6b", "qwen-14b"] };

fn mistakes(spec: &Spec) -> Vec<String> {
    spec.resolve(&KNOWN).unwrap_err().iter().map(ToString::to_string).collect()
}

fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

#[test]
fn nothing_asked_for_is_the_demonstration_on_the_embedded_engine() {
    let plan = Spec::default().resolve(&KNOWN).unwrap();
    let TargetPlan::Embedded { model, .. } = &plan.target else { panic!("{:?}", plan.target) };
    assert_eq!(model, "chatglm3-6b");
    assert_eq!(plan.cells.len(), 4);
    assert_eq!(
        plan.passes,
        [PassPlan::OneByOne { bound: Bound::requests(2) }, PassPlan::Saturated { requests: 32 }]
    );
}

#[test]
fn a_target_gets_the_counts_of_the_published_tables() {
    let spec = Spec { target: Some("http://127.0.0.1:8000/v1".into()), ..Spec::default() };
    let plan = spec.resolve(&KNOWN).unwrap();
    let counts: Vec<_> = plan.passes.iter().map(PassPlan::requests).collect();
    assert_eq!(counts, [Some(10), Some(399)]);
}

#[test]
fn every_mistake_is_told_at_once_with_its_key_and_flag() {
    let spec = Spec {
        target: Some("localhost:8000".into()),
        dialect: Some("openai-completion".into()),
        input_lengths: Some(vec![0]),
        output_lengths: Some(vec![]),
        rate: Some(vec![text("-2")]),
        timeout: Some(text("soon")),
        max_failures: Some(text("most")),
        workload: Some("sharegtp".into()),
        header: Some(vec!["no colon, secret".into()]),
        ..Spec::default()
    };
    let told = mistakes(&spec);
    for (key, words) in [
        ("target (--target)", "http://localhost:8000"),
        ("dialect (--dialect)", "did you mean `openai-completions`?"),
        ("input_lengths (--input-lengths)", "from 1 to"),
        ("output_lengths (--output-lengths)", "is empty"),
        ("rate (--rate)", "`-2` is not a rate"),
        ("timeout (--timeout)", "500ms"),
        ("max_failures (--max-failures)", "1%"),
        ("workload (--workload)", "did you mean `sharegpt`?"),
        ("header (--header)", "Name: value"),
    ] {
        let found = told.iter().any(|line| line.starts_with(key) && line.contains(words));
        assert!(found, "{key}: {words}\n{told:#?}");
    }
    assert!(!told.concat().contains("secret"));
}

#[test]
fn an_option_that_no_pass_listens_to_is_a_mistake() {
    let spec = Spec { duration: Some(text("10s")), ..Spec::default() };
    assert!(mistakes(&spec)[0].contains("--concurrency and --rate"));
    let spec = Spec { max_in_flight: Some(9), ..Spec::default() };
    assert!(mistakes(&spec)[0].contains("--rate"));
}

#[test]
fn a_time_alone_bounds_by_time_and_a_count_beside_it_bounds_too() {
    let spec = Spec { concurrency: Some(vec![8]), duration: Some(text("10s")), ..Spec::default() };
    let duration = Some(Duration::from_secs(10));
    let bound = Bound { requests: None, duration };
    assert_eq!(spec.resolve(&KNOWN).unwrap().passes, [PassPlan::Closed { concurrency: 8, bound }]);
    let both = Spec { requests: Some(5), ..spec };
    let bound = Bound { requests: Some(5), duration };
    assert_eq!(both.resolve(&KNOWN).unwrap().passes, [PassPlan::Closed { concurrency: 8, bound }]);
}

#[test]
fn the_hash_of_a_plan_follows_what_it_measures() {
    let hash = |spec: &Spec| spec.resolve(&KNOWN).unwrap().hash();
    let base = Spec::default();
    assert_eq!(hash(&base), hash(&Spec { out: Some("elsewhere".into()), ..base.clone() }));
    assert_ne!(hash(&base), hash(&Spec { seed: Some(7), ..base.clone() }));
}
