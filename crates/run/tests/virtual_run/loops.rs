//! A client with several event loops carries out the same run as a client with one: the same requests, bytes
//! and hashes, and one record for each request.

use std::sync::{Arc, Mutex};

use inferometer_run::{Event, Events};
use serde_json::json;

use super::measured::{measure_on, planned};

#[test]
fn a_run_has_the_same_hashes_and_requests_on_any_number_of_event_loops() {
    for (load, keys) in [
        ("the table", json!({ "one_by_one": 2, "requests": 7 })),
        ("a closed loop", json!({ "concurrency": [5], "requests": 23 })),
        ("arrivals", json!({ "rate": ["80"], "requests": 30 })),
        ("a limit", json!({ "rate": ["200"], "requests": 30, "max_in_flight": 4 })),
        ("bursts", json!({ "rate": ["40"], "requests": 20, "burstiness": 0.5 })),
        ("repeats", json!({ "concurrency": [3], "requests": 9, "repeat": 2 })),
    ] {
        let mut found = Vec::new();
        for loops in [1, 2, 3] {
            let folder = tempfile::tempdir().unwrap();
            let (plan, context) = planned(&folder, keys.clone());
            let records = Arc::new(Mutex::new(Vec::new()));
            let hears = Arc::clone(&records);
            let events = Events::to(move |event: &Event<'_>| {
                if let Event::Record(timeline) = event {
                    let record = timeline.record;
                    let inferometer_model::record::Record { pass, index, asked_input, .. } =
                        *record;
                    let asked = (asked_input, record.asked_output, record.outcome);
                    hears.lock().unwrap().push((pass, index, asked));
                }
            });
            let run = measure_on(loops, &plan, &context, &events, &[]).unwrap();
            let told = run.summary.environment.event_loops.as_ref().map(|told| told.count);
            assert_eq!(told, Some(loops as u32), "{load}");
            let mut records = records.lock().unwrap().clone();
            records.sort_unstable_by_key(|one| (one.0, one.1));
            found.push((run.summary.workload_hash, run.summary.body_hash, records));
        }
        assert_eq!(found[1], found[0], "{load}");
        assert_eq!(found[2], found[0], "{load}");
    }
}

#[test]
fn conversations_have_the_same_hash_and_outcomes_on_any_number_of_event_loops() {
    let mut found = Vec::new();
    for loops in [1, 2, 3] {
        let folder = tempfile::tempdir().unwrap();
        let keys = json!({
            "workload": "conversation", "concurrency": [4], "conversations": 9,
            "input_lengths": null, "output_lengths": null,
        });
        let (plan, context) = planned(&folder, keys);
        let run = measure_on(loops, &plan, &context, &Events::none(), &[]).unwrap();
        let outcomes = run.summary.cells[0].passes[0].outcomes;
        found.push((run.summary.workload_hash, outcomes));
    }
    assert!(found[0].1.complete > 9, "{found:?}");
    assert_eq!(found[1], found[0]);
    assert_eq!(found[2], found[0]);
}
