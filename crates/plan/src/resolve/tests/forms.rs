//! Plans whose additional fields ask for tools or for a form of the answer, or set the context length.

use super::*;

#[test]
fn answers_of_a_given_form_end_by_themselves_unless_the_plan_says_otherwise() {
    let plan = |body: serde_json::Value, ignore_eos: Option<bool>| {
        let extra_body = body.as_object().cloned();
        let target = Some("http://127.0.0.1:8000".into());
        let spec = Spec { target, extra_body, ignore_eos, ..Spec::default() };
        spec.resolve(&KNOWN).expect("a plan").sampling.ignore_eos
    };
    let form = serde_json::json!({"response_format": {"type": "json_object"}});
    assert!(plan(serde_json::json!({"seed": 1}), None));
    assert!(!plan(form.clone(), None));
    assert!(plan(form, Some(true)));
}

#[test]
fn requests_to_ollama_ask_for_one_context_for_the_longest_cell_unless_the_plan_says_otherwise() {
    let context = |keys: serde_json::Value| {
        let mut spec = Spec { target: Some("http://127.0.0.1:1".into()), ..Spec::default() };
        spec.dialect = keys["dialect"].as_str().map(str::to_owned);
        spec.input_lengths = Some(vec![128, 2_000]);
        spec.output_lengths = keys["histogram"].is_null().then(|| vec![32]);
        if !keys["ratio"].is_null() || !keys["histogram"].is_null() {
            spec.workload.drawn.range_ratio = keys["ratio"].as_f64();
            let drawn = keys["histogram"].as_str().map(str::to_owned);
            spec.workload.drawn.output_distribution = drawn;
        }
        spec.extra_body = keys["body"].as_object().cloned();
        let known = Known { dialects: &["ollama", "tgi"], ..KNOWN };
        spec.resolve(&known).expect("a plan").sampling.num_ctx()
    };
    let own = serde_json::json!({"options": {"num_ctx": 4_096, "top_k": 1}});
    let other = serde_json::json!({"options": {"top_k": 1}});
    // 2,000 + 32 + 256 tokens, in steps of 1,024.
    assert_eq!(context(serde_json::json!({"dialect": "ollama"})), Some(3_072));
    assert_eq!(context(serde_json::json!({"dialect": "ollama", "body": other})), Some(3_072));
    assert_eq!(context(serde_json::json!({"dialect": "ollama", "body": own})), Some(4_096));
    // 3,000 + 48 + 256 tokens.
    assert_eq!(context(serde_json::json!({"dialect": "ollama", "ratio": 0.5})), Some(4_096));
    let drawn = serde_json::json!({"dialect": "ollama", "histogram": "uniform:10..9000"});
    assert_eq!(context(drawn), None);
    assert_eq!(context(serde_json::json!({"dialect": "tgi"})), None);
}
