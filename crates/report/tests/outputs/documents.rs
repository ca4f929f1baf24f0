//! Tests of the JSON document and of its schema.

use inferometer_analysis::summary::Summary;
use inferometer_model::metrics::{itl, ttft};
use inferometer_report::json;
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::support::{CHATGLM3, full, published};

const SCHEMA: &str = include_str!("../../../../schema/summary.schema.json");

fn schema() -> Validator {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

fn document(summary: &Summary) -> Value {
    serde_json::from_str(&json::summary(summary)).unwrap()
}

#[test]
fn a_full_summary_and_a_bare_one_fit_the_schema() {
    let schema = schema();
    for summary in [full(), published(CHATGLM3).remove(0)] {
        let errors: Vec<String> =
            schema.iter_errors(&document(&summary)).map(|error| error.to_string()).collect();
        assert_eq!(errors, [""; 0]);
    }
}

/// Each case is a change that makes the document invalid: the place, the key and the new value.
#[test]
fn a_mutated_summary_does_not_fit_the_schema() {
    let schema = schema();
    let cases: [(&str, &str, Value); 9] = [
        ("", "surprise", json!(1)),
        ("", "schema", json!("inferometer.summary/2")),
        ("/target", "simulated", json!("yes")),
        ("/verdict", "validity", json!("fine")),
        ("/cells/0", "requests_per_s", json!("31.68")),
        ("/cells/0/passes/0", "kind", json!("warm_up")),
        ("/cells/0/passes/0", "ttft_s", json!("40 ms")),
        ("/cells/0/passes/0/outcomes", "complete", json!(-1)),
        ("/cells/0/passes/0/ttft_ms", "mean_ci", json!([1.0])),
    ];
    for (place, key, value) in cases {
        let mut document = document(&full());
        document.pointer_mut(place).unwrap()[key] = value;
        assert!(!schema.is_valid(&document), "{place}/{key}");
    }
}

#[test]
fn every_key_of_five_objects_of_a_summary_is_required_by_the_schema() {
    let schema = schema();
    for place in ["", "/target", "/cells/0", "/cells/0/passes/0", "/cells/0/passes/0/ttft_ms"] {
        let whole = document(&full());
        let keys: Vec<String> =
            whole.pointer(place).unwrap().as_object().unwrap().keys().cloned().collect();
        for key in keys {
            let mut document = whole.clone();
            document.pointer_mut(place).unwrap().as_object_mut().unwrap().shift_remove(&key);
            assert!(!schema.is_valid(&document), "{place}/{key}");
        }
    }
}

#[test]
fn a_summary_is_restored_from_its_json_document() {
    let mut summary = full();
    summary.cells[1].latency_per_output_token_ms = None;
    let back: Summary = serde_json::from_str(&json::summary(&summary)).unwrap();
    assert_eq!(back, summary);
}

#[test]
fn figures_that_are_not_finite_are_null_in_the_document() {
    let mut summary = full();
    let pass = &mut summary.cells[0].passes[0];
    pass.duration_s = Some(f64::INFINITY);
    pass.latencies.entry(&ttft::FROM_SENT).as_mut().unwrap().p99 = f64::NAN;
    pass.latencies.entry(&itl::DEFINITION).as_mut().unwrap().mean_ci = Some([f64::NAN, 1.0]);
    let document = document(&summary);
    let pass = &document["cells"][0]["passes"][0];
    assert!(pass["duration_s"].is_null() && pass["ttft_ms"].is_null());
    assert!(pass["itl_ms"]["mean_ci"].is_null() && pass["itl_ms"]["mean"].is_number());
    assert!(schema().is_valid(&document));
}

#[test]
fn every_key_of_the_schema_is_described() {
    fn visit(value: &Value, place: &str) {
        if let Some(properties) = value.get("properties").and_then(Value::as_object) {
            for (key, property) in properties {
                let place = format!("{place}/{key}");
                let is_described =
                    property.get("description").is_some() || property.get("$ref").is_some();
                let is_statistic = place.contains("$defs/error/") || place.ends_with("tool/name");
                assert!(is_described || is_statistic, "{place}");
                visit(property, &place);
            }
        }
    }
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    visit(&schema, "");
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        visit(definition, &format!("$defs/{name}"));
    }
}
