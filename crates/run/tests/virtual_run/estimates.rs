//! The estimated duration of a run, compared with its duration in virtual time.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use inferometer_report::progress::Notice;
use inferometer_run::{Event, Events};
use serde_json::{Value, json};

use crate::measured::{measure, planned};

/// A model that accepts prompts of 32,000 tokens.
const LONG: &str = "mistral-7b-openorca-awq";

/// The estimate before a run and the duration of the run, in seconds. The warm-up of each cell is one request, which is
/// not recorded; `warm_up_s` is its duration.
fn estimated_and_taken(keys: Value, warm_up_s: f64) -> ([f64; 2], f64) {
    let folder = tempfile::tempdir().expect("valid in this test");
    let (plan, mut context) = planned(&folder, keys);
    let heard = Arc::new(Mutex::new(None));
    let hears = Arc::clone(&heard);
    context.host.confirm = Some(Arc::new(move |estimate| {
        *hears.lock().expect("valid in this test") = estimate;
        Ok(())
    }));
    let summary =
        measure(&plan, &context, &Events::none(), &[]).expect("valid in this test").summary;
    let (one, other) = heard.lock().expect("valid in this test").expect("an estimate");
    let passes = summary.cells.iter().flat_map(|cell| &cell.passes);
    let taken = passes.filter_map(|pass| pass.duration_s).sum::<f64>();
    let estimate = [one.min(other), one.max(other)].map(|span: Duration| span.as_secs_f64());
    (estimate, taken + warm_up_s * summary.cells.len() as f64)
}

fn is_within_half(estimate: f64, taken: f64) -> bool {
    (taken / 1.5..=taken * 1.5).contains(&estimate)
}

#[test]
fn the_time_estimate_for_a_server_includes_the_time_of_long_prompts() {
    for (input, warm_up_s) in [(16_000, 6.4), (32_000, 13.3)] {
        for load in [
            json!({ "one_by_one": 2, "requests": 6 }),
            json!({ "concurrency": ["3"], "requests": 6 }),
            json!({ "concurrency": ["4"], "duration": "10s" }),
            json!({ "rate": ["0.5"], "requests": 4 }),
        ] {
            let mut keys = json!({
                "target": "http://127.0.0.1:9", "model": LONG, "dialect": "openai-completions",
                "input_lengths": [input], "output_lengths": [32],
            });
            keys.as_object_mut().unwrap().extend(load.as_object().unwrap().clone());
            let (estimate, taken) = estimated_and_taken(keys, warm_up_s);
            for end in estimate {
                assert!(is_within_half(end, taken), "{input} {load}: {estimate:?} of {taken}");
            }
        }
    }
}

#[test]
fn the_time_estimate_for_the_embedded_engine_includes_requests_that_end_after_the_duration() {
    for (input, warm_up_s) in [(16_000, 6.4), (32_000, 13.3)] {
        for load in [
            json!({ "one_by_one": 2, "requests": 6 }),
            json!({ "concurrency": ["4"], "duration": "10s" }),
            json!({ "rate": ["0.5"], "duration": "10s" }),
            json!({ "concurrency": ["1"], "duration": "10s" }),
        ] {
            let mut keys =
                json!({ "model": LONG, "input_lengths": [input], "output_lengths": [32] });
            keys.as_object_mut().unwrap().extend(load.as_object().unwrap().clone());
            let (estimate, taken) = estimated_and_taken(keys, warm_up_s);
            assert!(is_within_half(estimate[1], taken), "{input} {load}: {estimate:?} of {taken}");
        }
    }
}

#[test]
fn the_time_estimate_for_short_prompts_is_close_to_the_time_taken() {
    let keys = json!({
        "target": "http://127.0.0.1:9", "dialect": "openai-completions", "one_by_one": 2, "requests": 6,
    });
    let (estimate, taken) = estimated_and_taken(keys, 0.1);
    assert!(estimate[0] <= taken && taken <= 1.5 * estimate[1], "{estimate:?} of {taken}");
}

#[test]
fn a_display_gets_the_steps_of_a_run_as_values_and_their_words_from_the_report() {
    let folder = tempfile::tempdir().expect("valid in this test");
    let keys = json!({
        "target": "http://127.0.0.1:9", "model": LONG, "dialect": "openai-completions",
        "input_lengths": [64], "output_lengths": [16], "concurrency": ["2"], "rate": ["4"], "requests": 8,
    });
    let (plan, context) = planned(&folder, keys);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&heard);
    let events = Events::to(move |event: &Event<'_>| {
        if let Event::Notice(notice) = event {
            hears.lock().expect("valid in this test").push((*notice).clone());
        }
    });
    measure(&plan, &context, &events, &[]).expect("valid in this test");
    let heard = heard.lock().expect("valid in this test");
    let measuring = heard.iter().find(|notice| matches!(notice, Notice::Measuring { .. }));
    let Some(Notice::Measuring { model, cells, passes, .. }) = measuring else {
        panic!("{heard:?}");
    };
    assert_eq!((model.as_str(), *cells, passes.len()), (LONG, 1, 2));
    assert!(heard.contains(&Notice::TwoLoads), "{heard:?}");
    let words = measuring.map(ToString::to_string).unwrap_or_default();
    assert!(words.starts_with(&format!("measuring {LONG} (")), "{words}");
}
