//! Tests of the plans to which specs resolve, and of the messages of mistakes.

use super::*;
use crate::TargetPlan;
use crate::spec::{SearchSpec, Stages, Value, WorkloadKeys};
use inferometer_model::load::ConversationsPlan;
use inferometer_model::load::arrival::Arrivals;
use inferometer_model::{Bound, OpenPlan, PassPlan};
use std::time::Duration;

mod forms;
mod split_think;
mod target;

const KNOWN: Known<'_> = Known {
    dialects: &["openai-completions", "tgi"],
    models: &["chatglm3-6b", "qwen-14b"],
    model_of_hub_id: |_| None,
};

fn mistakes(spec: &Spec) -> Vec<String> {
    spec.resolve(&KNOWN).unwrap_err().iter().map(ToString::to_string).collect()
}

fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

#[test]
fn an_empty_spec_is_the_demonstration_on_the_embedded_engine() {
    let plan = Spec::default().resolve(&KNOWN).unwrap();
    let TargetPlan::Embedded { model, .. } = &plan.target else { panic!("{:?}", plan.target) };
    assert_eq!(model, "chatglm3-6b");
    assert_eq!(plan.cells.len(), 4);
    assert_eq!(plan.passes, [PassPlan::one_by_one(Bound::requests(2)), PassPlan::saturated(32)]);
}

#[test]
fn all_mistakes_are_reported_together_with_key_and_flag_and_without_secrets() {
    let spec = Spec {
        target: Some("localhost:8000".into()),
        dialect: Some("openai-completion".into()),
        input_lengths: Some(vec![0]),
        output_lengths: Some(vec![]),
        rate: Some(vec![text("-2")]),
        timeout: Some(text("soon")),
        max_failures: Some(text("most")),
        workload: WorkloadKeys { workload: Some("sharegtp".into()), ..WorkloadKeys::default() },
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
        ("max_failures (--max-failures)", "write 5 percent as 5%"),
        ("workload (--workload)", "did you mean `sharegpt`?"),
        ("header (--header)", "Name: value"),
    ] {
        let found = told.iter().any(|line| line.starts_with(key) && line.contains(words));
        assert!(found, "{key}: {words}\n{told:#?}");
    }
    assert!(!told.concat().contains("secret"));
}

#[test]
fn an_option_that_affects_no_pass_is_refused() {
    let spec = Spec { duration: Some(text("10s")), ..Spec::default() };
    assert!(mistakes(&spec)[0].contains("closed and open loops"));
    let spec = Spec { max_in_flight: Some(9), ..Spec::default() };
    assert!(mistakes(&spec)[0].contains("--rate"));
}

#[test]
fn a_duration_alone_is_the_only_bound_and_a_request_count_is_an_additional_bound() {
    let spec = Spec {
        concurrency: Some(vec![Value::Number(8.0)]),
        duration: Some(text("10s")),
        ..Spec::default()
    };
    let duration = Some(Duration::from_secs(10));
    let bound = Bound { requests: None, duration };
    assert_eq!(spec.resolve(&KNOWN).unwrap().passes, [PassPlan::closed(8, bound)]);
    let both = Spec { requests: Some(5), ..spec };
    let bound = Bound { requests: Some(5), duration };
    assert_eq!(both.resolve(&KNOWN).unwrap().passes, [PassPlan::closed(8, bound)]);
}

#[test]
fn custom_loads_resolve_to_levels_arrivals_limits_and_bounds() {
    use inferometer_model::load::Level;
    use inferometer_model::load::OverLimit;
    use inferometer_model::load::arrival::Arrivals;
    let spec = Spec {
        rate: Some(vec![Value::Number(2.0), text("60s@1..20:exp")]),
        concurrency: Some(vec![text("10s@1..4")]),
        stages: Some(Stages::Text("30s@2,30s@8".into())),
        replay: Some("trace.txt".into()),
        replay_speed: Some(text("2.5")),
        burstiness: Some(text("0.5")),
        max_in_flight: Some(9),
        over_limit: Some("drop".into()),
        ..Spec::default()
    };
    let passes = spec.resolve(&KNOWN).unwrap().passes;
    let told: Vec<String> = passes.iter().map(ToString::to_string).collect();
    let gamma = "gamma (burstiness 0.5) arrivals";
    assert_eq!(
        told,
        [
            "closed loop, 10s@1..4 in flight".to_owned(),
            format!("open loop, 2 requests/s, {gamma}"),
            format!("open loop, 60s@1..20:exp requests/s, {gamma}"),
            format!("open loop, 30s@2+30s@8 requests/s, {gamma}"),
            "replay of trace.txt at 2.5 times its speed".to_owned(),
        ]
    );
    for pass in &passes[1..] {
        assert_eq!(pass.limit(), (Some(9), OverLimit::Drop));
    }
    // A load in stages ends with its last stage, so it has a limit on requests only if the user gave one.
    assert_eq!(passes[1].requests(), Some(399));
    assert_eq!((passes[0].requests(), passes[2].requests()), (None, None));
    let PassPlan::Open(OpenPlan { rate: Level::Constant(2.0), arrivals, .. }) = &passes[1] else {
        panic!()
    };
    assert_eq!(*arrivals, Arrivals::Vllm { shape: 0.5 });
    let counted = Spec { requests: Some(5), ..spec };
    let counts: Vec<_> =
        counted.resolve(&KNOWN).unwrap().passes.iter().map(|pass| pass.requests()).collect();
    // The recording has not been read, so its number of requests is unknown.
    assert_eq!(counts, [Some(5), Some(5), Some(5), Some(5), Some(0)]);
}

#[test]
fn a_warm_up_is_a_request_count_or_a_duration_and_repeats_have_a_maximum() {
    use crate::parts::Warmup;
    let resolve = |spec: Spec| spec.resolve(&KNOWN).unwrap();
    let plan = resolve(Spec::default());
    assert_eq!((plan.warmup, plan.repeat.at_most), (Warmup::Requests(1), 1));
    let plan = resolve(Spec {
        warmup: Some(text("10s")),
        cooldown: Some(text("2s")),
        until: Some("ttft_p50±2%".into()),
        repeat: Some(3),
        ..Spec::default()
    });
    assert_eq!(plan.warmup, Warmup::Time { duration: Duration::from_secs(10) });
    assert_eq!(plan.cooldown, Some(Duration::from_secs(2)));
    assert_eq!((plan.repeat.at_least, plan.repeat.at_most), (3, 20));
    assert_eq!(resolve(Spec { warmup: Some(text("0")), ..Spec::default() }).warmup.pass(), None);
    let stored = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&stored).unwrap(), plan);
}

#[test]
fn invalid_loads_repeats_and_objectives_are_reported_with_their_keys() {
    let spec = Spec {
        rate: Some(vec![text("5s@"), Value::Number(2.0), Value::Number(2.0)]),
        stages: Some(Stages::Text("often".into())),
        replay_speed: Some(text("2")),
        burstiness: Some(text("0")),
        over_limit: Some("forget".into()),
        warmup: Some(text("a while")),
        until: Some("ttft_p50".into()),
        max_repeats: Some(1),
        goodput: Some("ttft<500ms,tpot<5%".into()),
        stream: Some(false),
        ..Spec::default()
    };
    let told = mistakes(&spec);
    for (key, words) in [
        ("rate (--rate)", "is not a load"),
        ("stages (--stages)", "is not a load"),
        ("passes (--passes)", "is given twice"),
        ("replay_speed (--replay-speed)", "--replay"),
        ("burstiness (--burstiness)", "1 is Poisson"),
        ("over_limit (--over-limit)", "queue, drop"),
        ("warmup (--warmup)", "a number of requests, or a time"),
        ("until (--until)", "±2%"),
        ("max_repeats (--max-repeats)", "the minimum is 2 repeats"),
        ("goodput (--goodput)", "`tpot<5%`"),
    ] {
        let found = told.iter().any(|line| line.starts_with(key) && line.contains(words));
        assert!(found, "{key}: {words}\n{told:#?}");
    }
}

#[test]
fn objectives_that_need_streaming_are_refused_without_streaming() {
    let whole = Spec { stream: Some(false), ..Spec::default() };
    let text = |objectives: &str| Some(objectives.to_owned());
    let search = SearchSpec {
        tier: Some(vec!["gold=tpot_p95<30ms,e2e_p50<1s".into()]),
        ..SearchSpec::default()
    };
    for (spec, expected) in [
        (
            Spec { goodput: text("ttft<1s,e2e<2s"), ..whole.clone() },
            "goodput (--goodput): `ttft<1s`",
        ),
        (Spec { slo: text("itl_p99<1s,e2e_p50<2s"), ..whole.clone() }, "slo (--slo): `itl_p99<1s`"),
        (Spec { search: Some(search), ..whole.clone() }, "tier (--tier): `gold`: `tpot_p95<30ms`"),
    ] {
        let told = mistakes(&spec);
        assert_eq!(told, [format!("{expected} cannot be judged without streaming")]);
    }
    assert!(Spec { slo: text("e2e_p50<2s"), ..whole }.resolve(&KNOWN).is_ok());
}

#[test]
fn the_plan_hash_depends_on_the_seed_and_not_on_the_output_folder() {
    let hash = |spec: &Spec| spec.resolve(&KNOWN).unwrap().hash();
    let base = Spec::default();
    assert_eq!(hash(&base), hash(&Spec { out: Some("elsewhere".into()), ..base.clone() }));
    assert_ne!(hash(&base), hash(&Spec { seed: Some(7), ..base.clone() }));
}

#[test]
fn options_of_open_loops_apply_to_conversations_only_if_they_start_at_a_rate() {
    let spec = |rate: bool| {
        let mut spec = Spec { duration: Some(text("10s")), ..Spec::default() };
        spec.workload.workload = Some("conversation".to_owned());
        if rate {
            spec.rate = Some(vec![text("2")]);
            spec.max_in_flight = Some(4);
            spec.burstiness = Some(text("0.5"));
        }
        spec
    };
    let plan = spec(true).resolve(&KNOWN).unwrap();
    let [PassPlan::Conversations(ConversationsPlan { begin, .. })] = &plan.passes[..] else {
        panic!("{:?}", plan.passes)
    };
    assert_eq!(begin.bound().duration, Some(Duration::from_secs(10)));
    assert_eq!(begin.limit().0, Some(4));
    assert!(spec(false).resolve(&KNOWN).is_ok());
    let closed = Spec { max_in_flight: Some(4), burstiness: Some(text("0.5")), ..spec(false) };
    let told = mistakes(&closed);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.iter().all(|mistake| mistake.contains("has no effect on any pass")), "{told:?}");
}

#[test]
fn a_spec_with_explicit_defaults_resolves_to_a_plan_with_the_same_hash() {
    let keys = [
        serde_json::json!({}),
        serde_json::json!({ "target": "http://127.0.0.1:8000", "concurrency": [1, 8] }),
        serde_json::json!({ "rate": [2], "requests": 60, "burstiness": 0.5 }),
        serde_json::json!({ "workload": "blocks" }),
        serde_json::json!({ "workload": "sharegpt", "dataset": "a.json" }),
        serde_json::json!({ "workload": "conversation", "concurrency": [3] }),
        serde_json::json!({ "passes": ["saturated"], "requests": 5 }),
        serde_json::json!({ "stages": "30s@2,30s@8", "temperature": 0.0, "repeat": 3 }),
        serde_json::json!({ "slo": "ttft_p99<1s", "search": { "to": 40 } }),
        serde_json::json!({ "slo": "ttft_p99<1s", "search": { "over": "concurrency" } }),
        serde_json::json!({ "input_lengths": [64], "output_lengths": [16], "rate": [4], "ab": {} }),
    ];
    for keys in keys {
        let spec: Spec = serde_json::from_value(keys.clone()).expect("keys");
        let fuller = spec.spelled_out(&KNOWN).unwrap_or_else(|told| panic!("{keys}: {told:?}"));
        let hash = |spec: &Spec| spec.resolve(&KNOWN).expect("no mistakes").hash();
        assert_eq!(hash(&fuller), hash(&spec), "{keys}");
        assert_eq!(fuller.timeout, Some(text("21600s")), "{keys}");
        assert!(fuller.workload.workload.is_some(), "{keys}");
    }
    let demonstration = Spec::default().spelled_out(&KNOWN).expect("no mistakes");
    assert_eq!(demonstration.input_lengths, Some(vec![128, 512]));
    assert_eq!((demonstration.one_by_one, demonstration.requests), (Some(2), Some(32)));
    assert_eq!(demonstration.passes.as_deref().map(<[String]>::len), Some(2));
    let search = serde_json::json!({ "goodput": "ttft<1s", "search": { "start": 3 } });
    let spec: Spec = serde_json::from_value(search).expect("keys");
    let search = spec.spelled_out(&KNOWN).expect("no mistakes").search.expect("a search");
    let expected = serde_json::json!({
        "over": "rate", "attainment": 0.99, "confidence": 0.95, "precision": 0.05, "from": 0.001,
        "to": null, "start": 3.0, "stride": 2.0, "max_requests": 20_000, "max_trials": 40, "max_time": null,
        "tier": null,
    });
    assert_eq!(serde_json::to_value(search).expect("keys"), expected);
}

#[test]
fn a_plan_that_exceeds_the_size_limits_is_refused_with_the_limit() {
    let lengths = |count: u32| Some((1..=count).collect::<Vec<u32>>());
    let of = |inputs: u32, outputs: u32| Spec {
        target: Some("http://127.0.0.1:8000".into()),
        input_lengths: lengths(inputs),
        output_lengths: lengths(outputs),
        ..Spec::default()
    };
    for (spec, words) in [
        (of(65, 64), "65 x 64 lengths are 4160 cells; "),
        (of(65, 64), " is 4096"),
        (of(1_000_000, 1), "has 1000000 lengths; "),
        (of(1_000_000, 1), " is 4096"),
        (
            Spec { repeat: Some(100), ..of(64, 64) },
            "4096 cells x 2 loads x 100 repeats are 819200 passes; ",
        ),
        (Spec { repeat: Some(100), ..of(64, 64) }, " is 16384"),
        (Spec { requests: Some(10_000_001), ..of(1, 1) }, "the maximum is 10000000"),
        (Spec { model: Some("m".repeat(501)), ..of(1, 1) }, "more than 500 characters"),
        (
            Spec { rate: Some(vec![text("1")]), max_in_flight: Some(70_000), ..of(1, 1) },
            "give at most 65536",
        ),
        (Spec { concurrency: Some(vec![text("8"); 5_000]), ..of(1, 1) }, "has 5000 loads; "),
    ] {
        let told = mistakes(&spec).join("\n");
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(of(64, 64).resolve(&KNOWN).is_ok());
}

#[test]
fn a_prefix_beyond_the_longest_prompt_is_refused_also_if_lengths_have_a_distribution() {
    let spec: Spec = serde_json::from_str(
        r#"{"input_distribution": "lognormal:512,256", "prefix_length": 4294967295}"#,
    )
    .unwrap();
    let told = mistakes(&spec);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("prefix_length (--prefix-length)"), "{told:?}");
    assert!(told[0].contains("up to 10000000"), "{told:?}");
}

#[test]
fn a_search_over_requests_in_flight_refuses_every_key_of_arrivals() {
    let spec: Spec = serde_json::from_str(
        r#"{"search": {"over": "concurrency"}, "slo": "ttft_p99<500ms", "burstiness": 2, "arrivals": "vllm",
            "scale": true,
            "max_in_flight": 4, "over_limit": "drop"}"#,
    )
    .unwrap();
    let told = mistakes(&spec);
    for key in ["burstiness", "arrivals", "scale", "max_in_flight", "over_limit"] {
        let is_told = |line: &String| line.starts_with(key) && line.contains("give --over rate");
        assert!(told.iter().any(is_told), "{key}: {told:?}");
    }
}

#[test]
fn arrivals_are_those_of_vllm_unless_the_plan_selects_others() {
    let resolved = |keys: &str| {
        let spec: Spec = serde_json::from_str(keys).unwrap();
        spec.resolve(&KNOWN).map(|plan| plan.passes).map_err(|_| mistakes(&spec))
    };
    let (vllm, own) = (Arrivals::of_vllm, Arrivals::of_burstiness);
    for (keys, expected) in [
        (r#"{"rate": [2]}"#, vllm(1.0)),
        (r#"{"rate": [2], "seed": 4294967296}"#, vllm(1.0)),
        (r#"{"rate": [2], "arrivals": "vllm", "burstiness": 0.5}"#, vllm(0.5)),
        (r#"{"rate": [2], "burstiness": "inf"}"#, Arrivals::Constant),
        (r#"{"rate": [2], "arrivals": "inferometer"}"#, own(1.0)),
        (r#"{"rate": [2], "arrivals": "inferometer", "burstiness": 0.5}"#, own(0.5)),
    ] {
        let passes = resolved(keys).unwrap();
        let PassPlan::Open(OpenPlan { arrivals, .. }) = passes[0] else { panic!("an open loop") };
        assert_eq!(arrivals, expected, "{keys}");
    }
    for (keys, expected) in [
        (r#"{"rate": [2], "arrivals": "vlm"}"#, "`vlm` is not one of"),
        (r#"{"rate": [2], "arrivals": "vllm", "seed": 4294967296}"#, "at most 4294967295"),
        (r#"{"concurrency": [2], "arrivals": "vllm"}"#, "has no effect on any pass"),
    ] {
        let told = resolved(keys).unwrap_err();
        assert!(told.iter().any(|line| line.contains(expected)), "{keys}: {told:?}");
    }
    let told = resolved(r#"{"rate": [2, 4, 8], "arrivals": "vlm"}"#).unwrap_err();
    assert_eq!(told.len(), 1, "one mistake, not one for each rate: {told:?}");
}

#[test]
fn a_number_of_requests_that_no_pass_uses_is_a_mistake() {
    for (pass, is_used) in [("one_by_one", false), ("table", true), ("saturated", true)] {
        let passes = Some(vec![pass.to_owned()]);
        let spec = Spec { passes, requests: Some(5), ..Spec::default() };
        let told = spec.resolve(&KNOWN).err().unwrap_or_default();
        assert_eq!(told.is_empty(), is_used, "{pass}: {told:?}");
        assert!(told.iter().all(|one| one.to_string().contains("give --one-by-one")), "{told:?}");
    }
}
