//! Tests of the key `split_think`.

use super::*;

#[test]
fn the_text_of_answers_is_split_in_the_named_way_and_not_if_a_request_has_several_answers() {
    let spec = |how: &str, extra_body: &str| Spec {
        split_think: Some(how.into()),
        extra_body: serde_json::from_str(extra_body).unwrap(),
        ..Spec::default()
    };
    for how in SplitThink::ALL {
        let plan = spec(how.name(), r#"{"n": 1}"#).resolve(&KNOWN).unwrap();
        assert_eq!(plan.split_think, Some(how));
    }
    for (spec, expected) in [
        (spec("yes", "{}"), "`yes` is not one of tagged, opened"),
        (spec("tagged", r#"{"n": 2}"#), "cannot split several answers (`n` in --extra-body)"),
    ] {
        assert_eq!(mistakes(&spec), [format!("split_think (--split-think): {expected}")]);
    }
}
