//! Computes the width of the arrival interval of each token event. It does not judge the widths.

use crate::{Outcome, Record};

/// How long before its stamp an event may have arrived, in milliseconds.
///
/// If several segments wait in the socket's buffer, the kernel gives only the stamp of the last one. So the stamp is
/// exact for the last event of a read, whatever the kind of this event. The earlier events of the read arrived after
/// the last instant at which the socket was known to be empty, and not after the stamp. Without a kernel stamp, this is
/// true for every event of the read, because the last event may have waited in the buffer too.
pub(super) fn width_ms(record: &Record, at: usize) -> f64 {
    let event = &record.events[at];
    let read = &record.reads[event.read as usize];
    let shared = record.events.get(at + 1).is_some_and(|next| next.read == event.read);
    let exact = read.kernel.is_some() && !shared;
    if exact { 0.0 } else { read.arrival().since(read.empty_before).as_secs_f64() * 1e3 }
}

/// How much earlier than measured the request may have ended, in milliseconds; 0 if the client ended it, if it has not
/// ended, or if nothing was read.
pub(super) fn end_width_ms(record: &Record) -> f64 {
    // The client ended these requests itself, and read the clock at that instant: the end is exact.
    let is_own = matches!(
        record.outcome,
        Outcome::TimedOut { .. } | Outcome::Cancelled | Outcome::Abandoned { .. }
    );
    let last = record.reads.last().filter(|_| !is_own);
    last.zip(record.ended).map_or(0.0, |(last, ended)| {
        // The end of a connection has no stamp. It arrived after the data of the last read.
        let earliest = if last.kernel.is_some() { last.arrival() } else { last.empty_before };
        ended.since(earliest).as_secs_f64() * 1e3
    })
}
