//! Finds streams whose tokens arrived in bundles, and signs of the cause. It does not decide which figures are absent:
//! [`Gaps::are_known`] does.

use std::time::Duration;

use inferometer_metrics::{Bundles, Gaps};
use inferometer_model::finding::{Finding, code};
use inferometer_model::record::{Read, Record};

/// The time after which a delayed TCP acknowledgement is sent on Linux: 40 ms, plus delays on a busy machine. Other
/// systems wait up to 200 ms.
pub(super) const DELAYED_ACK: std::ops::Range<Duration> =
    Duration::from_millis(39)..Duration::from_millis(48);
/// If at least this share of the reads comes such a time after the previous read, delayed acknowledgements are the
/// likely cause.
const DELAYED_SHARE: f64 = 0.5;
/// The client is a possible cause of the bundles if it did not check the socket for a larger share of the duration of a
/// request.
const UNREAD_SHARE: f64 = 0.25;

/// Counts the streams in which several tokens arrived together.
#[derive(Clone, Debug, Default)]
pub(super) struct BundledStreams {
    gaps: Gaps,
    /// The number of streams that this client may have bundled itself, because it read late.
    read_late: u64,
    events: u64,
    reads: u64,
    /// Reads with tokens that come after another read with tokens in the same stream. `delayed` of them come one
    /// delayed acknowledgement after it.
    later_reads: u64,
    delayed: u64,
}

impl BundledStreams {
    pub(super) fn add(&mut self, record: &Record) {
        let bundles = Bundles::of(record);
        self.gaps.add(record);
        if !record.streamed || !bundles.hide_gaps() {
            return;
        }
        self.read_late += u64::from(was_read_late(record));
        self.events += bundles.events as u64;
        self.reads += bundles.reads as u64;
        let mut arrivals: Vec<_> =
            record.token_events().map(|event| record.arrival(event)).collect();
        arrivals.dedup();
        for pair in arrivals.windows(2) {
            self.later_reads += 1;
            self.delayed += u64::from(DELAYED_ACK.contains(&pair[1].since(pair[0])));
        }
    }

    pub(super) fn finding(&self) -> Option<Finding> {
        if self.gaps.are_known() {
            return None;
        }
        let mut message = format!(
            "In {} of {} streams tokens arrived in bundles: {} token events in {} reads, {:.1} in \
                each. Times between tokens are unknown, so TPOT and ITL are absent; first tokens \
                may have waited for a bundle too.",
            self.gaps.hidden,
            self.gaps.streams,
            self.events,
            self.reads,
            self.events as f64 / self.reads as f64
        );
        if self.delayed as f64 >= DELAYED_SHARE * self.later_reads as f64 && self.delayed > 0 {
            message += &format!(
                " {} of {} reads came about 40 ms after the previous read: a sender without \
                    TCP_NODELAY waits this long for an acknowledgement.",
                self.delayed, self.later_reads
            );
        }
        if self.read_late > 0 {
            message += &format!(
                " In {} of the streams this client read late, and may itself be the reason for the \
                    bundles.",
                self.read_late
            );
        }
        Some(Finding::of(code::STREAM_IN_BUNDLES, message))
    }
}

/// Whether the arrival times are uncertain for a large share of the duration of the request.
fn was_read_late(record: &Record) -> bool {
    let unread = |read: &Read| read.arrival().since(read.empty_before);
    let unread: Duration = record.reads.iter().map(unread).sum();
    let whole = record.send_start.zip(record.ended).map(|(sent, ended)| ended.since(sent));
    whole.is_some_and(|whole| unread.as_secs_f64() > UNREAD_SHARE * whole.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_model::fixture::{ms, steady, stream};
    use inferometer_model::record::EventKind::Text;

    /// A stream of 64 tokens, with `per_read` tokens in each read and `apart_ms` between the reads. The socket was seen
    /// to be empty 0.1 ms before each read.
    fn bundled(per_read: u32, apart_ms: f64) -> Record {
        let arrival = |index: u32| 10.0 + f64::from(index / per_read) * apart_ms;
        let events: Vec<_> = (0..64).map(|index| (arrival(index), Text, None)).collect();
        let mut record = stream(0.0, &events);
        for read in &mut record.reads {
            read.empty_before = ms(read.arrival().seconds_after(ms(0.0)) * 1e3 - 0.1);
        }
        record
    }

    fn message(records: &[Record]) -> Option<String> {
        let mut streams = BundledStreams::default();
        records.iter().for_each(|record| streams.add(record));
        streams.finding().map(|finding| finding.message)
    }

    #[test]
    fn bundles_are_counted_and_their_cause_is_named_where_the_reads_show_it() {
        assert_eq!(message(&[steady(0.0, 40.0, 10.0, 64), bundled(1, 5.0)]), None);
        let held_back = message(&[steady(0.0, 40.0, 10.0, 64), bundled(16, 80.0)]).unwrap();
        assert!(held_back.contains("In 1 of 2 streams"), "{held_back}");
        assert!(held_back.contains("64 token events in 4 reads, 16.0 in each"), "{held_back}");
        assert!(!held_back.contains("40 ms") && !held_back.contains("late"), "{held_back}");
        let delayed = message(&[bundled(20, 41.0)]).unwrap();
        assert!(delayed.contains("3 of 3 reads came about 40 ms after"), "{delayed}");
    }

    #[test]
    fn a_client_that_read_late_is_named_as_a_possible_cause() {
        let mut late = bundled(16, 80.0);
        for read in 1..late.reads.len() {
            late.reads[read].empty_before = late.reads[read - 1].user;
        }
        let late = message(&[late]).unwrap();
        assert!(late.contains("In 1 of the streams this client read late"), "{late}");
    }
}
