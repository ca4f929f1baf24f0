//! The instrument's own error, from the reads of records: how late data was read, and how wide
//! the interval is in which an event may have arrived. Never a judgement: see
//! [`crate::validity`].

use std::time::Duration;

use crate::metric::Weighted;
use crate::record::Record;
use crate::stats::{Pool, Sample};
use crate::summary::Instrument;

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

/// Folds the records of a pass into its [`Instrument`].
#[derive(Clone, Debug, Default)]
pub(crate) struct InstrumentFold {
    reads: u64,
    stamped: u64,
    lateness_us: Sample,
    widths_us: Pool,
    ttft_bounds_us: Sample,
    coalesced: u64,
}

impl InstrumentFold {
    /// Takes in one record. A body that came as a whole has reads but no arrivals of tokens.
    pub(crate) fn add(&mut self, record: &Record, streamed: bool) {
        self.reads += record.reads.len() as u64;
        for read in &record.reads {
            if let Some(kernel) = read.kernel {
                self.stamped += 1;
                self.lateness_us.push(read.user.ms_after(kernel) * 1e3);
            }
        }
        if !streamed {
            return;
        }
        let mut read_before = None;
        for event in record.token_events() {
            self.coalesced += u64::from(read_before == Some(event.read));
            read_before = Some(event.read);
        }
        self.widths_us.add_request(|pool| append_widths(record, pool));
        let mut widths = record.token_events().zip(arrival_widths(record));
        let first = widths.find(|(event, _)| event.kind.is_visible());
        if let Some((_, width)) = first.filter(|_| record.outcome.is_complete()) {
            self.ttft_bounds_us.push(width.as_secs_f64() * 1e6);
        }
    }

    pub(crate) fn finish(self, seed: u64) -> Instrument {
        Instrument {
            reads: self.reads,
            kernel_stamped_reads: self.stamped,
            receive_lateness_us: self.lateness_us.distribution(seed),
            arrival_width_us: self.widths_us.distribution(seed),
            ttft_bound_us: self.ttft_bounds_us.distribution(seed),
            coalesced_events: self.coalesced,
            process: None,
        }
    }
}

/// Nearly all widths are zero: they become one value with their number as weight.
fn append_widths(record: &Record, pool: &mut Vec<Weighted>) {
    let mut exact = 0_u32;
    for width in arrival_widths(record) {
        if width.is_zero() {
            exact += 1;
        } else {
            pool.push(Weighted { value: width.as_secs_f64() * 1e6, weight: 1.0 });
        }
    }
    if exact > 0 {
        pool.push(Weighted { value: 0.0, weight: f64::from(exact) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{LATENESS_MS, stream};
    use crate::outcome::Outcome;
    use crate::record::EventKind::{EmptyText, Role, Text, Usage};

    fn widths_ms(record: &Record) -> Vec<f64> {
        arrival_widths(record).map(|width| width.as_secs_f64() * 1e3).collect()
    }

    #[test]
    fn only_the_last_token_event_of_a_read_is_exact() {
        // The socket was empty at 10.02 ms; then three tokens and a usage lay in one read.
        let events =
            [(10.0, Text), (40.0, Text), (40.0, Text), (40.0, Text), (40.0, Usage), (50.0, Text)];
        let record = stream(0.0, &events.map(|(at, kind)| (at, kind, None)));
        let shared = 30.0 - LATENESS_MS;
        assert_eq!(widths_ms(&record), [0.0, shared, shared, 0.0, 0.0]);
    }

    #[test]
    fn without_the_kernels_stamp_every_arrival_is_an_interval() {
        let mut record = stream(0.0, &[(10.0, Text, None), (40.0, Text, None)]);
        record.reads[1].kernel = None;
        assert_eq!(widths_ms(&record), [0.0, 30.0]);
    }

    #[test]
    fn the_error_of_a_pass_is_folded_from_its_reads() {
        let coalesced = stream(0.0, &[(5.0, Role, None), (20.0, Text, None), (20.0, Text, None)]);
        let hidden = stream(0.0, &[(8.0, EmptyText, None), (8.0, Text, None), (9.0, Text, None)]);
        let mut failed = coalesced.clone();
        failed.outcome = Outcome::Truncated;
        failed.reads[0].kernel = None;
        let mut fold = InstrumentFold::default();
        for record in [&coalesced, &hidden, &failed] {
            fold.add(record, true);
        }
        let got = fold.finish(1);
        assert_eq!((got.reads, got.kernel_stamped_reads, got.coalesced_events), (6, 5, 3));
        let lateness = got.receive_lateness_us.expect("stamps");
        assert_eq!((lateness.n, lateness.max.round()), (5, 1e3 * LATENESS_MS));
        let widths = got.arrival_width_us.expect("tokens");
        assert_eq!((widths.n, widths.max.round()), (7, 14_980.0));
        // One stream shows its first token in a shared read, the other in the last of one.
        let bound = got.ttft_bound_us.expect("complete requests");
        assert_eq!((bound.n, bound.max.round(), bound.p50.round()), (2, 14_980.0, 7_490.0));
    }

    #[test]
    fn a_whole_body_has_reads_and_no_arrivals() {
        let mut fold = InstrumentFold::default();
        fold.add(&stream(0.0, &[(5.0, Text, None), (5.0, Text, None)]), false);
        let got = fold.finish(1);
        assert_eq!((got.reads, got.coalesced_events), (1, 0));
        assert_eq!((got.arrival_width_us, got.ttft_bound_us), (None, None));
    }
}
