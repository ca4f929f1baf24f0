//! Finds streams whose tokens arrived in bundles (several tokens in one read), and signs of the cause.
//! [`Gaps::are_known`] decides which figures are absent because of bundles, not this module.

use std::time::Duration;

use inferometer_model::{Finding, Nanos, Record, Timeline, metrics::Gaps, record::Read};

inferometer_model::codes! {
    STREAM_IN_BUNDLES = "stream_in_bundles", Warning,
        "Tokens arrived in bundles, so the times between them are unknown."
        => "Check what is between client and server, and make it forward each token at once: \
            `option http-no-delay` in haproxy, `proxy_buffering off` in nginx, TCP_NODELAY in the \
            server. If the server itself sends many tokens at once, use TTFT, E2E and tokens/s.";
    SOME_STREAMS_IN_BUNDLES = "some_streams_in_bundles", Note,
        "In a few streams, tokens arrived in bundles. These streams are in the figures.";
}

/// The time after which a delayed TCP acknowledgement is sent on Linux: 40 ms, plus delays on a busy machine. Other
/// systems wait up to 200 ms.
pub(super) const DELAYED_ACK: std::ops::Range<Duration> =
    Duration::from_millis(39)..Duration::from_millis(48);
/// If at least this share of the reads comes `DELAYED_ACK` after the previous read, delayed acknowledgements are the
/// likely cause.
const DELAYED_SHARE: f64 = 0.5;
/// Streams with fewer token events per read on average have no bundles.
const LEAST_PER_READ: usize = 2;
/// The fewest reads after the first one for which small bundles are attributed to delayed acknowledgements.
const FEWEST_READS: usize = 3;
/// If the client did not check the socket for more than this share of the duration of a request, the client is a
/// possible cause of the bundles.
const UNREAD_SHARE: f64 = 0.25;

/// Counts the streams in which several tokens arrived together.
#[derive(Clone, Debug, Default)]
pub(super) struct BundledStreams {
    gaps: Gaps,
    /// The number of streams that this client may have bundled itself, because it read late.
    read_late: u64,
    events: u64,
    reads: u64,
    /// Reads with tokens that come after another read with tokens in the same stream. `delayed` counts those of these
    /// reads that come `DELAYED_ACK` after the previous read.
    later_reads: u64,
    delayed: u64,
    /// The number of streams with known gaps whose tokens came in small bundles. Most of these bundles came
    /// `DELAYED_ACK` after the previous bundle.
    in_step_with_acks: u64,
}

impl BundledStreams {
    pub(super) fn add(&mut self, timeline: &Timeline<'_>) {
        let record = timeline.record;
        let bundles = &timeline.bundles;
        self.gaps.add(timeline);
        if !record.streamed || bundles.events < LEAST_PER_READ * bundles.reads {
            return;
        }
        let mut arrivals: Vec<_> =
            record.token_events().map(|event| record.arrival(event)).collect();
        arrivals.dedup();
        let is_delayed = |pair: &&[Nanos]| DELAYED_ACK.contains(&pair[1].since(pair[0]));
        let (later, delayed) =
            (arrivals.len().saturating_sub(1), arrivals.windows(2).filter(is_delayed).count());
        if bundles.hide_gaps() {
            self.read_late += u64::from(was_read_late(record));
            self.events += bundles.events as u64;
            self.reads += bundles.reads as u64;
            self.later_reads += later as u64;
            self.delayed += delayed as u64;
        } else if later >= FEWEST_READS && are_most(delayed as u64, later as u64) {
            self.in_step_with_acks += 1;
        }
    }

    /// The finding on small bundles that follow each other after the time of a delayed acknowledgement. A server that
    /// computes several tokens in each step of 40 ms causes the same pattern, so the figures of these streams are kept.
    fn in_step_with_acks(&self) -> Option<Finding> {
        let share = self.in_step_with_acks as f64 / self.gaps.streams.max(1) as f64;
        (share > Gaps::MOST_HIDDEN).then(|| {
            let message = format!(
                "In {} of {} streams several tokens arrived together, about 40 ms after the previous \
                    ones. Two causes are possible: a sender without TCP_NODELAY that waits for an \
                    acknowledgement, or a server that computes several tokens in each step of 40 \
                    ms. In the first case, ITL is wrong, and TTFT and TPOT may be up to 40 ms too \
                    long in total.",
                self.in_step_with_acks, self.gaps.streams
            );
            Finding::of(STREAM_IN_BUNDLES, message)
        })
    }

    /// The finding on streams with hidden gaps, if they are so few that the figures of gaps are kept. If this client
    /// read all of these streams late, there is no finding, because the error bounds of the figures contain this
    /// effect.
    fn few(&self) -> Option<Finding> {
        let (hidden, streams) = (self.gaps.hidden, self.gaps.streams);
        (hidden > self.read_late).then(|| {
            let message = format!(
                "In {hidden} of {streams} streams tokens arrived in bundles. The figures include these \
                    streams: their TPOT may be too short, and many of their gaps are 0."
            );
            Finding::of(SOME_STREAMS_IN_BUNDLES, message)
        })
    }

    pub(super) fn findings(self) -> Option<Finding> {
        if self.gaps.are_few(self.gaps.hidden) {
            return self.in_step_with_acks().or_else(|| self.few());
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
        if are_most(self.delayed, self.later_reads) {
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
        Some(Finding::of(STREAM_IN_BUNDLES, message))
    }
}

fn are_most(delayed: u64, later_reads: u64) -> bool {
    delayed > 0 && delayed as f64 >= DELAYED_SHARE * later_reads as f64
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

    fn found(records: &[Record]) -> Option<Finding> {
        let mut streams = BundledStreams::default();
        records.iter().for_each(|record| streams.add(&Timeline::new(record)));
        streams.findings()
    }

    fn message(records: &[Record]) -> Option<String> {
        found(records).map(|finding| finding.message)
    }

    #[test]
    fn the_finding_about_bundles_states_their_size_and_their_cause_if_reads_show_it() {
        assert_eq!(message(&[steady(0.0, 40.0, 10.0, 64), bundled(1, 5.0)]), None);
        let held_back = message(&[steady(0.0, 40.0, 10.0, 64), bundled(16, 80.0)]).unwrap();
        assert!(held_back.contains("In 1 of 2 streams"), "{held_back}");
        assert!(held_back.contains("64 token events in 4 reads, 16.0 in each"), "{held_back}");
        assert!(!held_back.contains("40 ms") && !held_back.contains("late"), "{held_back}");
        let delayed = message(&[bundled(20, 41.0)]).unwrap();
        assert!(delayed.contains("3 of 3 reads came about 40 ms after"), "{delayed}");
    }

    #[test]
    fn small_bundles_are_reported_if_their_gaps_match_delayed_acknowledgements() {
        for per_read in [2, 4] {
            let message = message(&[bundled(per_read, 41.0)]).unwrap();
            assert!(message.contains("about 40 ms after the previous ones"), "{message}");
        }
        for (per_read, apart_ms) in [(1, 41.0), (3, 30.0), (4, 60.0)] {
            assert_eq!(message(&[bundled(per_read, apart_ms)]), None, "{per_read}, {apart_ms} ms");
        }
    }

    #[test]
    fn a_few_bundled_streams_are_reported_unless_the_client_read_them_late() {
        let mut records = vec![steady(0.0, 40.0, 10.0, 64); 19];
        assert_eq!(message(&records), None);
        records.push(bundled(16, 80.0));
        let few = message(&records).unwrap();
        assert!(few.starts_with("In 1 of 20 streams") && few.contains("include these"), "{few}");
        assert!(found(&records).unwrap().is(SOME_STREAMS_IN_BUNDLES));
        // Above one stream in ten, the figures of gaps are absent.
        let many = [vec![steady(0.0, 40.0, 10.0, 64); 9], vec![bundled(16, 80.0); 2]].concat();
        assert!(found(&many).unwrap().is(STREAM_IN_BUNDLES));
        let late = records.last_mut().unwrap();
        for read in 1..late.reads.len() {
            late.reads[read].empty_before = late.reads[read - 1].user;
        }
        assert_eq!(message(&records), None);
    }

    #[test]
    fn late_reads_by_the_client_are_named_as_a_possible_cause_of_bundles() {
        let mut late = bundled(16, 80.0);
        for read in 1..late.reads.len() {
            late.reads[read].empty_before = late.reads[read - 1].user;
        }
        let late = message(&[late]).unwrap();
        assert!(late.contains("In 1 of the streams this client read late"), "{late}");
    }
}
