//! Computes the width of the arrival interval of each token event. It does not judge the widths.

use std::time::Duration;

use crate::{Outcome, Record};

/// How long before its stamp each token event may have arrived, in the order of the events.
///
/// If several segments wait in the socket's buffer, the kernel gives only the stamp of the last one. So the stamp is
/// exact for the last event of a read, whatever the kind of this event. The earlier events of the read arrived after
/// the last instant at which the socket was known to be empty, and not after the stamp. Without a kernel stamp, this is
/// true for every event of the read, because the last event may have waited in the buffer too.
pub fn arrival_widths(record: &Record) -> impl Iterator<Item = Duration> {
    let events = record.events.iter().enumerate().filter(|(_, event)| event.kind.is_token());
    events.map(|(at, _)| width(record, at))
}

/// How long before its stamp an event may have arrived.
pub(super) fn width(record: &Record, at: usize) -> Duration {
    let event = &record.events[at];
    let read = &record.reads[event.read as usize];
    let shared = record.events.get(at + 1).is_some_and(|next| next.read == event.read);
    let exact = read.kernel.is_some() && !shared;
    if exact { Duration::ZERO } else { read.arrival().since(read.empty_before) }
}

/// How much earlier than its stamp each arrival of a request may have been, in milliseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Widths {
    /// The widths of the token events, in the order of the events; empty for a body that is not streamed.
    pub events: Vec<f64>,
    /// The width of the end of the request; 0 if the client ended it, if it has not ended, or if nothing was read.
    pub end: f64,
}

impl Widths {
    /// Replaces the widths with those of a record.
    pub fn read(&mut self, record: &Record) {
        self.events.clear();
        if record.streamed {
            self.events.extend(arrival_widths(record).map(|width| width.as_secs_f64() * 1e3));
        }
        // The client ended these requests itself, and read the clock at that instant: the end is exact.
        let is_own = matches!(record.outcome, Outcome::TimedOut { .. } | Outcome::Cancelled);
        let last = record.reads.last().filter(|_| !is_own);
        self.end = last.zip(record.ended).map_or(0.0, |(last, ended)| {
            // The end of a connection has no stamp. It arrived after the data of the last read.
            let earliest = if last.kernel.is_some() { last.arrival() } else { last.empty_before };
            ended.since(earliest).as_secs_f64() * 1e3
        });
    }

    /// Whether all stamps of the request are exact.
    pub fn are_none(&self) -> bool {
        self.end == 0.0 && self.events.iter().all(|&width| width == 0.0)
    }
}
