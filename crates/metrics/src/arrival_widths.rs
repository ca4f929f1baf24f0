//! The width of the arrival interval of each token event. It does not judge a width.

use std::time::Duration;

use inferometer_model::record::Record;

/// How long before its stamp each token event may have arrived, in the order of the events.
///
/// If several segments wait in the socket's buffer, the kernel gives only the stamp of the last one.
/// So the stamp is exact for the last token event of a read. The others arrived between the last
/// instant at which the socket was seen to be empty and the stamp. Without a kernel stamp this holds
/// for every event of the read, also for the last one: it may have waited in the buffer.
pub fn arrival_widths(record: &Record) -> impl Iterator<Item = Duration> {
    let mut events = record.token_events().peekable();
    std::iter::from_fn(move || {
        let event = events.next()?;
        let read = &record.reads[event.read as usize];
        let shared = events.peek().is_some_and(|next| next.read == event.read);
        let exact = read.kernel.is_some() && !shared;
        Some(if exact { Duration::ZERO } else { read.arrival().since(read.empty_before) })
    })
}
