//! A typical record, for the tests of the log and of the database.

use inferometer_model::outcome::Outcome;
use inferometer_model::record::{Event, EventKind, Read, Record, Usage};
use inferometer_model::time::Nanos;

/// The record of a complete request whose tokens arrived one by one.
pub fn streamed(pass: u32, index: u32, tokens: u32) -> Record {
    let start = Nanos(1_000_000 * u64::from(index));
    let at = |ns: u64| Nanos(start.0 + ns);
    let reads = (0..u64::from(tokens)).map(|token| Read {
        kernel: Some(at(50_000_000 + token * 10_000_000)),
        user: at(50_030_000 + token * 10_000_000),
        empty_before: at(40_040_000 + token * 10_000_000),
        bytes: 180,
    });
    let events =
        (0..tokens).map(|read| Event { read, kind: EventKind::Text, chars: 4, tokens: None });
    Record {
        asked_input: 128,
        asked_output: tokens,
        picked: Some(at(1_000)),
        send_start: Some(at(2_000)),
        sent: Some(at(5_000)),
        headers: Some(at(49_000_000)),
        reads: reads.collect(),
        events: events.collect(),
        ended: Some(at(50_040_000 + u64::from(tokens) * 10_000_000)),
        outcome: Outcome::Complete,
        status: Some(200),
        finish_reason: Some("length".to_owned()),
        usage: Usage {
            prompt: Some(128),
            completion: Some(tokens),
            cached: None,
            ..Usage::default()
        },
        ..Record::planned(pass, index, start)
    }
}
