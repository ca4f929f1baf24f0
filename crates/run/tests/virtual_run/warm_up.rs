//! The load of a warm-up, in virtual time.

use std::sync::{Arc, Mutex};

use inferometer_run::{Event, Events};
use serde_json::{Value, json};

use crate::measured::{measure, planned};

/// The first due time, the last end and the number of the recorded requests of a run, in nanoseconds.
fn recorded(keys: &Value, warmup: &str) -> (u64, u64, usize) {
    let folder = tempfile::tempdir().expect("valid in this test");
    let mut keys = keys.clone();
    keys["warmup"] = warmup.into();
    let (plan, context) = planned(&folder, keys);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&heard);
    let events = Events::to(move |event: &Event<'_>| {
        if let Event::Record(timeline) = event {
            let record = timeline.record;
            hears.lock().expect("valid in this test").push((record.due.0, record.ended_or_due().0));
        }
    });
    measure(&plan, &context, &events, &[]).expect("valid in this test");
    let all = heard.lock().expect("valid in this test");
    let due = all.iter().map(|one| one.0).min().expect("records");
    (due, all.iter().map(|one| one.1).max().expect("records"), all.len())
}

#[test]
fn a_warm_up_with_a_load_takes_as_long_as_a_pass_with_this_load_and_is_not_recorded() {
    let closed = json!({ "concurrency": [4], "requests": 12 });
    let at_once = json!({ "passes": ["saturated"], "requests": 12 });
    for (load, warmup) in [(closed, "12@concurrency=4"), (at_once, "12@rate=inf")] {
        let (start, end, count) = recorded(&load, "0");
        let (later, _, with_warm_up) = recorded(&load, warmup);
        assert_eq!((count, with_warm_up), (12, 12), "{warmup}");
        assert_eq!(later - start, end - start, "{warmup}");
        let (one_by_one, ..) = recorded(&load, "12");
        assert!(one_by_one - start > 2 * (end - start), "{warmup}");
    }
}

#[test]
fn a_warm_up_with_a_rate_and_a_time_sends_no_request_after_this_time() {
    let load = json!({ "concurrency": [4], "requests": 12 });
    let (start, ..) = recorded(&load, "0");
    let (later, ..) = recorded(&load, "10s@rate=5");
    let seconds = (later - start) as f64 / 1e9;
    assert!((8.0..10.5).contains(&seconds), "{seconds}");
}
