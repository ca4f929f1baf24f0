//! Plans whose additional fields ask for tools or for a form of the answer.

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
