//! Compares times to first token on new connections and on reused ones. This module does not name the cause of a
//! difference, which may be the client, the server, or a proxy between them.

use std::{collections::BTreeMap, ops::Range, time::Duration};

use inferometer_model::{Finding, Nanos, Timeline, metrics::ttft, stats::median};

use super::bundles::DELAYED_ACK;

inferometer_model::codes! {
    KEPT_CONNECTIONS_DIFFER = "kept_connections_differ", Warning,
        "TTFT differs between new connections and reused ones."
        => "check proxies between client and server, and whether your users reuse connections; \
            `--header 'Connection: close'` measures each request on a new connection";
    TTFT_AT_DELAYED_ACKNOWLEDGEMENTS = "ttft_at_delayed_acknowledgements", Warning,
        "First tokens on reused connections came about 40 ms after the request: the time of a \
            delayed TCP acknowledgement."
        => "set TCP_NODELAY in the server, or in the proxy in front of it";
}

/// Only requests with an index below this are checked, so that memory is limited.
const MAX_CHECKED_REQUESTS: u32 = 1 << 15;
/// With fewer pairs, or fewer requests on reused connections, there is no finding.
const MIN_SAMPLES: usize = 20;
/// In a number of pairs, the reused connection is slower. This number must differ from half of all pairs by this many
/// standard deviations, as for tosses of a fair coin. Without a true difference, this happens with a probability of
/// 0.001.
const DEVIATIONS: f64 = 3.29;
/// The median difference must be at least this many milliseconds, and this share of the smaller median.
const LEAST_MS: f64 = 1.0;
const LEAST_SHARE: f64 = 0.2;

/// At least this share of the requests on reused connections must have a TTFT in [`DELAYED_ACK`].
const LEAST_DELAYED: f64 = 0.2;
/// A delayed acknowledgement has a sharp minimum delay. The range of the same width just below [`DELAYED_ACK`] may
/// contain at most this share of the number of requests in [`DELAYED_ACK`].
const MAX_SHARE_BELOW: f64 = 0.1;
/// On new connections, acknowledgements are not delayed. They rule out a slow server if most requests on reused
/// connections have a TTFT in [`DELAYED_ACK`], and if at least this many requests on new connections, of which nearly
/// all were much faster, had as many other requests beside them, and were not sent to an empty server.
const MIN_NEW_CONNECTIONS: usize = 3;
/// A share that counts as nearly all.
const NEARLY_ALL: f64 = 0.8;
/// First tokens of requests that a server computes in one step arrive as a group: the time from one to the next is at
/// most `TOGETHER`. A delayed acknowledgement affects only one connection, so there must be at least
/// `MIN_DELAYED_GROUPS` groups.
const TOGETHER: Duration = Duration::from_millis(1);
const MIN_DELAYED_GROUPS: usize = 5;

/// The requests of a pass whose connection is known to be new or reused.
#[derive(Clone, Debug, Default)]
pub(super) struct KeptConnections(Vec<Seen>);

#[derive(Clone, Copy, Debug)]
struct Seen {
    sent: Nanos,
    ended: Nanos,
    index: u32,
    kept: bool,
    ttft_ms: f64,
    /// Whether the first read with a token had several token events: those that waited for the same acknowledgement.
    is_bundle: bool,
}

/// The TTFT of a request on a new connection, and the TTFT of a request on a reused connection with the same number of
/// requests in flight.
struct Pair {
    new_ms: f64,
    kept_ms: f64,
}

impl KeptConnections {
    pub(super) fn add(&mut self, timeline: &Timeline<'_>) {
        let record = timeline.record;
        if record.index >= MAX_CHECKED_REQUESTS || !record.streamed {
            return;
        }
        let instants = record.send_start.zip(record.ended);
        let of_request = ttft::from_sent(timeline);
        if let (Some((sent, ended)), Some(kept), Some(ttft_ms)) =
            (instants, record.kept_connection, of_request)
        {
            let mut arrivals = record.token_events().map(|event| record.arrival(event));
            let is_bundle = arrivals.next().is_some_and(|first| arrivals.next() == Some(first));
            self.0.push(Seen { sent, ended, index: record.index, kept, ttft_ms, is_bundle });
        }
    }

    pub(super) fn findings(mut self) -> Vec<Finding> {
        self.0.sort_unstable_by_key(|seen| (seen.sent, seen.index));
        [self.differ(), self.delayed()].into_iter().flatten().collect()
    }

    /// The number of requests that were sent before the first one ended. They arrive at an empty server, so they are
    /// not compared with later requests. A single such request is compared, because no other request delayed it.
    fn at_start(&self) -> usize {
        let Some(first_end) = self.0.iter().map(|seen| seen.ended).min() else { return 0 };
        match self.0.partition_point(|seen| seen.sent < first_end) {
            1 => 0,
            several => several,
        }
    }

    /// Pairs each request on a new connection with a request on a reused connection that was sent at the same number of
    /// requests in flight. If there are several such requests, the nearest one in send order is used. Each request is
    /// in at most one pair. The requests of [`Self::at_start`] are left out.
    fn pairs(&self) -> Vec<Pair> {
        let at_start = self.at_start();
        let ends = self.ends();
        let in_flight = |(at, seen): (usize, &Seen)| {
            at.saturating_sub(ends.partition_point(|end| *end <= seen.sent))
        };
        let levels: Vec<usize> = self.0.iter().enumerate().map(in_flight).collect();
        let mut kept: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let is_kept = |(at, _): &(usize, &usize)| *at >= at_start && self.0[*at].kept;
        for (at, level) in levels.iter().enumerate().filter(is_kept) {
            kept.entry(*level).or_default().push(at);
        }
        let mut pairs = Vec::new();
        let new = |(at, _): &(usize, &usize)| *at >= at_start && !self.0[*at].kept;
        for (at, level) in levels.iter().enumerate().filter(new) {
            let Some(same) = kept.get_mut(level).filter(|same| !same.is_empty()) else { continue };
            let after = same.partition_point(|other| *other < at);
            let is_nearer_before =
                after == same.len() || after > 0 && at - same[after - 1] <= same[after] - at;
            let other = same.remove(if is_nearer_before { after - 1 } else { after });
            pairs.push(Pair { new_ms: self.0[at].ttft_ms, kept_ms: self.0[other].ttft_ms });
        }
        pairs
    }

    /// The finding that the reused connection of a pair is slower in clearly more than half of the pairs, or in clearly
    /// fewer.
    fn differ(&self) -> Option<Finding> {
        let pairs = self.pairs();
        let n = pairs.len() as f64;
        let slower = pairs.iter().filter(|pair| pair.kept_ms > pair.new_ms).count();
        let is_clear = (slower as f64 - n / 2.0).abs() > DEVIATIONS * n.sqrt() / 2.0;
        if pairs.len() < MIN_SAMPLES || !is_clear {
            return None;
        }
        let new_ms = median(pairs.iter().map(|pair| pair.new_ms))?;
        let kept_ms = median(pairs.iter().map(|pair| pair.kept_ms))?;
        let by_ms = median(pairs.iter().map(|pair| pair.kept_ms - pair.new_ms))?.abs();
        if by_ms < LEAST_MS.max(LEAST_SHARE * new_ms.min(kept_ms)) {
            return None;
        }
        let message = format!(
            "The median TTFT is {kept_ms:.1} ms on reused connections and {new_ms:.1} ms on new \
                ones, at the same number of requests in flight: of {} pairs of requests the reused \
                connection was slower in {slower}.",
            pairs.len()
        );
        Some(Finding::of(KEPT_CONNECTIONS_DIFFER, message))
    }

    /// The finding that first tokens on reused connections wait for a delayed acknowledgement. Servers may take the same
    /// time, so a second sign is needed: faster new connections under the same load, or first tokens that arrive with the
    /// tokens after them, as they do after an acknowledgement.
    fn delayed(&self) -> Option<Finding> {
        let width = ms(DELAYED_ACK.end.saturating_sub(DELAYED_ACK.start));
        let [start, end] = [DELAYED_ACK.start, DELAYED_ACK.end].map(ms);
        let within = |kept: bool, range: Range<f64>| -> Vec<&Seen> {
            let is_in = |seen: &&Seen| seen.kept == kept && range.contains(&seen.ttft_ms);
            self.0.iter().filter(is_in).collect()
        };
        let [kept, new] = [true, false].map(|kept| within(kept, 0.0..f64::INFINITY).len());
        let (delayed, below) = (within(true, start..end), within(true, start - width..start));
        if kept < MIN_SAMPLES
            || !is_share(delayed.len(), kept, LEAST_DELAYED)
            || below.len() as f64 > MAX_SHARE_BELOW * delayed.len() as f64
            || groups(&delayed) < MIN_DELAYED_GROUPS
        {
            return None;
        }
        let new_delayed = within(false, start..end).len();
        let ends = self.ends();
        let load = median(delayed.iter().map(|seen| self.beside(seen, &ends) as f64))?;
        let is_as_busy = |seen: &&Seen| !seen.kept && self.beside(seen, &ends) as f64 >= load;
        let busy: Vec<&Seen> = self.0[self.at_start()..].iter().filter(is_as_busy).collect();
        let busy_sooner = busy.iter().filter(|seen| seen.ttft_ms < start - width).count();
        let new_are_not = 2 * delayed.len() > kept
            && busy_sooner >= MIN_NEW_CONNECTIONS
            && is_share(busy_sooner, busy.len(), NEARLY_ALL);
        let sooner = within(true, 0.0..start - width);
        let bundles = |seen: &[&Seen]| seen.iter().filter(|seen| seen.is_bundle).count();
        let others_are_not = new > new_delayed && is_share(new - new_delayed, new, NEARLY_ALL)
            || is_share(sooner.len() - bundles(&sooner), kept, LEAST_DELAYED);
        let follow_acks = is_share(bundles(&delayed), delayed.len(), NEARLY_ALL) && others_are_not;
        let others = match (new_are_not, follow_acks) {
            (true, _) => format!("but on new connections {new_delayed} of {new}"),
            (false, true) => format!("{} of them with the tokens after it", bundles(&delayed)),
            (false, false) => return None,
        };
        let message = format!(
            "Of {kept} requests on reused connections, {} got their first token {start:.0} to \
                {end:.0} ms after they were sent, {others}: a sender without TCP_NODELAY waits about \
                40 ms for an acknowledgement.",
            delayed.len()
        );
        Some(Finding::of(TTFT_AT_DELAYED_ACKNOWLEDGEMENTS, message))
    }

    /// The ends of all requests, sorted.
    fn ends(&self) -> Vec<Nanos> {
        let mut ends: Vec<Nanos> = self.0.iter().map(|seen| seen.ended).collect();
        ends.sort_unstable();
        ends
    }

    /// The number of other requests in flight while a request waited for its first token. `ends` is [`Self::ends`].
    fn beside(&self, seen: &Seen, ends: &[Nanos]) -> usize {
        let sent = self.0.partition_point(|other| other.sent <= seen.first_token());
        let before = ends.partition_point(|end| *end <= seen.sent);
        sent.saturating_sub(before + 1)
    }
}

impl Seen {
    fn first_token(&self) -> Nanos {
        self.sent + Duration::from_secs_f64(self.ttft_ms / 1e3)
    }
}

/// The number of groups of first tokens that arrived together.
fn groups(delayed: &[&Seen]) -> usize {
    let mut arrivals: Vec<Nanos> = delayed.iter().map(|seen| seen.first_token()).collect();
    arrivals.sort_unstable();
    arrivals.chunk_by(|one, next| *next <= *one + TOGETHER).count()
}

/// Whether `part` is at least this share of `all`.
fn is_share(part: usize, all: usize, share: f64) -> bool {
    part as f64 >= share * all as f64
}

fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_model::fixture::{steady, stream};
    use inferometer_model::record::EventKind;

    /// The findings on requests that are sent `apart_ms` apart. `requests` states for each request whether its
    /// connection is reused, and its TTFT in milliseconds.
    fn found(apart_ms: f64, requests: impl Iterator<Item = (bool, f64)>) -> Vec<Finding> {
        let mut seen = KeptConnections::default();
        for (index, (kept, ttft_ms)) in (0..).zip(requests) {
            let mut record = steady(f64::from(index) * apart_ms, ttft_ms, 1.0, 4);
            (record.index, record.kept_connection) = (index, Some(kept));
            seen.add(&Timeline::new(&record));
        }
        seen.findings()
    }

    fn codes(findings: &[Finding]) -> Vec<&str> {
        findings.iter().map(|finding| finding.code.as_str()).collect()
    }

    /// 200 requests. Every fourth connection is new, and times vary by up to 10 %.
    fn mixed(new_ms: f64, kept_ms: f64) -> impl Iterator<Item = (bool, f64)> {
        (0..200_u32).map(move |at| {
            let kept = at % 4 > 0;
            let scatter = 1.0 + 0.1 * f64::from(at * 7919 % 101) / 101.0;
            (kept, scatter * if kept { kept_ms } else { new_ms })
        })
    }

    #[test]
    fn a_clear_difference_between_new_and_reused_connections_is_reported_in_both_directions() {
        for (new_ms, kept_ms, is_told) in
            [(20.0, 20.0, false), (20.0, 21.0, false), (20.0, 30.0, true), (30.0, 20.0, true)]
        {
            let findings = found(1_000.0, mixed(new_ms, kept_ms));
            let expected = ["kept_connections_differ"];
            assert_eq!(codes(&findings), &expected[..usize::from(is_told)], "{new_ms} {kept_ms}");
        }
        let told = &found(1_000.0, mixed(20.0, 30.0))[0].message;
        assert!(
            told.contains("of 50 pairs of requests the reused connection was slower in 50"),
            "{told}"
        );
        // The two middle values of the new connections are 10 ms and 20 ms.
        let halves = (0..80_u32).map(|at| match at % 4 {
            0 => (false, if at < 40 { 10.0 } else { 20.0 }),
            _ => (true, 30.0),
        });
        let told = &found(1_000.0, halves)[0].message;
        assert!(told.contains("and 15.0 ms on new ones"), "{told}");
        // A difference below a millisecond is not reported, however clear it is.
        assert_eq!(codes(&found(1_000.0, mixed(1.0, 1.5))), [""; 0]);
    }

    #[test]
    fn simultaneous_or_slow_first_requests_are_not_a_difference_between_connections() {
        // In a closed loop, the first requests are slow because they all arrive at the same time.
        let crowd = (0..200_u32).map(|at| if at < 50 { (false, 500.0) } else { (true, 20.0) });
        assert_eq!(codes(&found(1.0, crowd)), [""; 0]);
        let warm_up = (0..200_u32).map(|at| if at == 0 { (false, 500.0) } else { (true, 20.0) });
        assert_eq!(codes(&found(1_000.0, warm_up)), [""; 0]);
    }

    #[test]
    fn the_initial_burst_of_a_closed_loop_is_not_compared_with_later_bursts() {
        // 32 requests are sent at the same time, and 32 more when all of them have ended.
        // At first, the server computes fewer prompts together, or has no other work.
        for (new_ms, kept_ms) in [(117.0, 90.0), (20.1, 43.9)] {
            let mut seen = KeptConnections::default();
            for index in 0..320_u32 {
                let (round, kept) = (index / 32, index >= 32);
                let ttft_ms = if kept { kept_ms } else { new_ms };
                let mut record = steady(f64::from(round) * 200.0, ttft_ms, 1.0, 4);
                (record.index, record.kept_connection) = (index, Some(kept));
                seen.add(&Timeline::new(&record));
            }
            assert_eq!(codes(&seen.findings()), [""; 0]);
        }
    }

    #[test]
    fn requests_sent_at_the_same_time_are_not_taken_for_delayed_acknowledgements() {
        let of = |apart_ms: f64| {
            let mut seen = KeptConnections::default();
            for index in 0..50_u32 {
                // The last thirty requests have a TTFT of 41 ms.
                let is_late = index >= 20;
                let sent_ms = f64::from(index.min(20)) * 100.0
                    + f64::from(index.saturating_sub(20)) * apart_ms;
                let mut record = steady(sent_ms, if is_late { 41.0 } else { 5.0 }, 1.0, 4);
                (record.index, record.kept_connection) = (index, Some(index >= 5));
                seen.add(&Timeline::new(&record));
            }
            seen.findings().len()
        };
        assert_eq!((of(0.0), of(100.0)), (0, 1));
    }

    /// 100 requests, each `apart_ms` after the one before. The first `new` requests have a new connection. `kept_ms`
    /// is the TTFT on reused connections, except that `sooner` of ten have 3 ms. Delayed first tokens arrive with
    /// `together - 1` other tokens.
    fn is_told(apart_ms: f64, new: (u32, f64), kept_ms: f64, sooner: u32, together: u32) -> bool {
        let mut seen = KeptConnections::default();
        for index in 0..100_u32 {
            let kept = index >= new.0;
            let ttft_ms = if !kept {
                new.1
            } else if index % 10 < sooner {
                3.0
            } else {
                kept_ms
            };
            let late = if ttft_ms == kept_ms { together } else { 1 };
            let sent_ms = f64::from(index) * apart_ms;
            let at =
                |token: u32| sent_ms + ttft_ms + 2.0 * f64::from((token + 1).saturating_sub(late));
            let events: Vec<_> = (0..4).map(|token| (at(token), EventKind::Text, None)).collect();
            let mut record = stream(sent_ms, &events);
            (record.index, record.kept_connection) = (index, Some(kept));
            seen.add(&Timeline::new(&record));
        }
        codes(&seen.findings()).contains(&"ttft_at_delayed_acknowledgements")
    }

    #[test]
    fn delayed_acknowledgements_are_told_and_a_server_that_takes_as_long_is_not_taken_for_them() {
        for (expected, apart_ms, new, kept_ms, sooner, together, what) in [
            (true, 1e3, (5, 3.0), 43.9, 0, 1, "new connections are faster"),
            (true, 1e3, (1, 3.0), 43.9, 0, 4, "the tokens of the wait come at once"),
            (true, 1e3, (5, 43.9), 43.9, 3, 4, "of some requests on reused connections, too"),
            (false, 1e3, (5, 43.9), 43.9, 0, 1, "the server takes this time"),
            (false, 1e3, (5, 43.9), 43.9, 0, 4, "the server takes this time, and bundles"),
            (false, 1e3, (5, 90.0), 43.9, 0, 1, "the first requests were slower"),
            (false, 1e3, (5, 43.9), 43.9, 3, 1, "two kinds of requests"),
            (false, 1e3, (5, 3.0), 43.9, 6, 1, "two kinds of requests, one at first by chance"),
            (false, 1e3, (5, 3.0), 35.0, 0, 1, "not the time of an acknowledgement"),
            (false, 1e3, (5, 3.0), 60.0, 0, 1, "not the time of an acknowledgement"),
            (false, 9.0, (5, 3.0), 43.9, 0, 1, "the first requests had no others beside them"),
        ] {
            assert_eq!(is_told(apart_ms, new, kept_ms, sooner, together), expected, "{what}");
        }
    }
}
