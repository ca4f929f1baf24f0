//! Token events that arrived together, in one read of the socket.

use inferometer_model::record::Record;

/// The most token events per read, on average, of a stream whose tokens have separate arrival times. A
/// step of speculative decoding brings this many tokens, each perhaps in an event of its own.
const MOST_PER_READ: usize = 4;

/// How the token events of a stream are distributed over reads of the socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bundles {
    /// Token events.
    pub events: usize,
    /// Reads with at least one of them.
    pub reads: usize,
    /// Whether all events from the first visible one on came in one read, and they are at least two.
    pub ends_with_first: bool,
}

impl Bundles {
    /// The bundles of a record.
    pub fn of(record: &Record) -> Self {
        let mut bundles = Self::default();
        let (mut last, mut first) = (None, None);
        for event in record.token_events() {
            bundles.events += 1;
            bundles.reads += usize::from(last != Some(event.read));
            last = Some(event.read);
            if first.is_some() {
                bundles.ends_with_first = first == last;
            } else if event.kind.is_visible() {
                first = last;
            }
        }
        bundles
    }

    /// Whether times between its tokens are unknown: its tokens came all at once, or many in each read,
    /// so that most of the times between them would be 0.
    pub fn hide_gaps(&self) -> bool {
        self.ends_with_first || self.events > MOST_PER_READ * self.reads
    }
}

/// Whether times between tokens are known in a pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// Completed streams with two token events or more.
    pub streams: u64,
    /// Streams among them that hide their gaps.
    pub hidden: u64,
}

impl Gaps {
    /// If a larger share of the streams of a pass hides its gaps, the pass has no figure of gaps. Such
    /// streams are not left out one by one, because the remaining ones would be the slow ones.
    const MOST_HIDDEN: f64 = 0.1;

    /// Adds a completed request.
    pub fn add(&mut self, record: &Record) {
        let bundles = Bundles::of(record);
        if record.streamed && bundles.events > 1 {
            self.streams += 1;
            self.hidden += u64::from(bundles.hide_gaps());
        }
    }

    /// Adds the counts of other requests.
    pub fn join(&mut self, others: Self) {
        self.streams += others.streams;
        self.hidden += others.hidden;
    }

    /// Whether gaps are known in so many streams that their figures are valid.
    pub fn are_known(&self) -> bool {
        self.hidden as f64 <= Self::MOST_HIDDEN * self.streams as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_model::fixture::stream;
    use inferometer_model::record::EventKind::{EmptyText, Text};

    /// Whether gaps are hidden with this many token events in each read.
    fn hides(per_read: &[usize]) -> bool {
        let arrivals = per_read.iter().enumerate().flat_map(|(read, &events)| {
            std::iter::repeat_n((10.0 * read as f64, Text, None), events)
        });
        Bundles::of(&stream(0.0, &arrivals.collect::<Vec<_>>())).hide_gaps()
    }

    #[test]
    fn gaps_are_hidden_where_tokens_came_at_once_or_many_in_each_read() {
        for (per_read, expected) in [
            (&[] as &[usize], false),
            (&[1], false),
            (&[2], true),
            (&[64], true),
            (&[1, 1, 1, 1], false),
            (&[1, 2], false),
            (&[4, 4, 4], false),
            (&[1, 20, 20, 23], true),
            (&[5, 4, 4], true),
            (&[1, 7], false),
        ] {
            assert_eq!(hides(per_read), expected, "{per_read:?}");
        }
    }

    #[test]
    fn an_incomplete_character_before_the_first_visible_event_is_no_gap() {
        let events = [(0.0, EmptyText, None), (10.0, Text, None), (10.0, Text, None)];
        assert!(Bundles::of(&stream(0.0, &events)).hide_gaps());
        assert!(!Bundles::of(&stream(0.0, &events[..2])).hide_gaps());
    }
}
