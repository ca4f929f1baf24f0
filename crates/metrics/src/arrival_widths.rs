//! How far before its stamp a token may have arrived. Never a judgement.

use std::time::Duration;

use inferometer_model::record::Record;

/// How far before its stamp each token event may have arrived, in the order of the events.
///
/// The kernel keeps one stamp for data that queued up while nobody read: the last one's. So the
/// last token event of a read is exact, and the others arrived between the last look that found
/// nothing and the stamp. Where the kernel gave no stamp, every event of the read lies in that
/// interval, for nobody knows how long it lay there.
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
