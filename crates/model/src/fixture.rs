//! Records for tests, in a form that is easy to write. Never used outside of tests.

use crate::record::{Event, Read};
use crate::{EventKind, Nanos, Outcome, Record};

/// The delay from the kernel's timestamp of a read until the program has the data, in milliseconds.
pub const LATENESS_MS: f64 = 0.02;

/// An instant in milliseconds.
pub fn ms(value: f64) -> Nanos {
    Nanos((value * 1e6).round() as u64)
}

/// A completed record that was due and sent at `sent_ms`. Events are `(arrival in ms, kind, tokens)`; events
/// with the same arrival are in the same read. The record ends with the last arrival.
pub fn stream(sent_ms: f64, events: &[(f64, EventKind, Option<u32>)]) -> Record {
    let mut record = Record::planned(0, 0, ms(sent_ms));
    record.picked = Some(ms(sent_ms));
    record.send_start = Some(ms(sent_ms));
    record.sent = Some(ms(sent_ms));
    record.outcome = Outcome::Complete;
    record.status = Some(200);
    let mut empty_before = ms(sent_ms);
    for &(arrival, kind, tokens) in events {
        if record.reads.last().is_none_or(|read| read.arrival() != ms(arrival)) {
            let user = ms(arrival + LATENESS_MS);
            record.reads.push(Read { kernel: Some(ms(arrival)), user, empty_before, bytes: 100 });
            empty_before = user;
        }
        let read = record.reads.len() as u32 - 1;
        record.events.push(Event { read, kind, chars: 4, tokens });
    }
    record.ended = Some(record.reads.last().map_or(ms(sent_ms), Read::arrival));
    record
}

/// A completed stream of `tokens` text events with one token each. The first event arrives `ttft_ms`
/// after the send, and each further event `gap_ms` after the one before it.
pub fn steady(sent_ms: f64, ttft_ms: f64, gap_ms: f64, tokens: u32) -> Record {
    let arrival = |index: u32| sent_ms + ttft_ms + f64::from(index) * gap_ms;
    let events: Vec<_> = (0..tokens).map(|i| (arrival(i), EventKind::Text, None)).collect();
    let mut record = stream(sent_ms, &events);
    record.usage.completion = Some(tokens);
    record.usage.prompt = Some(8);
    record
}
