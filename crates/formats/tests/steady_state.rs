//! Compares the steady-state figures with a result file of the Rust version of `vllm bench serve`.

use std::fs;
use std::path::Path;

use inferometer_formats::dialect::{ServingSelection, SteadyStateWindow};
use inferometer_formats::export::vllm_bench;
use inferometer_formats::import::{Import, read as import};
use serde_json::Value;

const FILE: &str = "vllm-rs-steady-state.json";

fn near(found: Option<f64>, expected: f64) {
    let found = found.expect("a figure");
    // Instants are rounded to 100 ns.
    assert!((found - expected).abs() < 2e-4 * expected.max(1.0), "{found} for {expected}");
}

#[test]
fn the_steady_state_figures_equal_those_of_the_rust_version_of_vllm_bench() {
    let file = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(FILE));
    let file = file.expect("a fixture");
    let Import { summary, records } = import(FILE, &file).unwrap().remove(0);
    let source: Value = serde_json::from_slice(&file).unwrap();
    let of = |window| {
        let selection = ServingSelection {
            percentiles: vec![90.0],
            steady_state: Some(window),
            ..ServingSelection::default()
        };
        let file = vllm_bench(&summary, 0, &records[0].records, 1.0, &selection).unwrap();
        file["steady_state"].clone()
    };
    let window = SteadyStateWindow { most_in_flight: 5, threshold: 0.95, shortest_s: None };
    let (ours, theirs) = (of(window), &source["steady_state"]);
    for (name, expected) in theirs["window"].as_object().unwrap() {
        match expected.as_f64() {
            Some(number) => near(ours["window"][name].as_f64(), number),
            None => assert_eq!(&ours["window"][name], expected, "{name}"),
        }
    }
    // Because instants are rounded to 100 ns, one chunk may move into or out of the window.
    let one_chunk = 1.001 / theirs["window"]["duration_s"].as_f64().unwrap();
    for (name, expected) in theirs.as_object().unwrap() {
        let (found, expected) = (ours[name].as_f64(), expected.as_f64());
        match (found, expected) {
            (Some(found), Some(expected)) if name.starts_with("o") || name.starts_with("total") => {
                assert!((found - expected).abs() <= one_chunk, "{name}: {found} for {expected}");
            }
            (found, Some(expected)) => near(found, expected),
            (_, None) => assert_eq!(ours[name].is_number(), theirs[name].is_number(), "{name}"),
        }
    }
    near(
        ours["percentiles_ttft_ms"][0][1].as_f64(),
        theirs["percentiles_ttft_ms"][0][1].as_f64().unwrap(),
    );
    let short = SteadyStateWindow { shortest_s: Some(0.5), ..window };
    assert_eq!(of(short)["window"]["warning"], Value::Null);
    // The number of requests in flight never reaches this threshold.
    assert_eq!(of(SteadyStateWindow { most_in_flight: 9, ..window }), Value::Null);
}
