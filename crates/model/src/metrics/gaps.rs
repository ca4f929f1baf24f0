//! Whether the times between the tokens of a pass are known.

use super::Timeline;

/// Counts the streams of a pass, and those whose times between tokens are unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// Completed streams with two token events or more.
    pub streams: u64,
    /// Streams among them for which [`super::Bundles::hide_gaps`] is true.
    pub hidden: u64,
    /// Other streams among them in which it is unknown where tokens without an event lie, or which token belongs to
    /// which answer ([`super::HiddenTokens::is_unknown`]).
    pub unknown: u64,
}

impl Gaps {
    /// A pass has figures of gaps if at most this share of its streams is hidden. Hidden streams are not left out one
    /// by one, because then mainly slow streams would remain.
    pub const MOST_HIDDEN: f64 = 0.1;

    /// Counts a completed request. A request with fewer than two token events, or without a stream, is
    /// ignored.
    pub fn add(&mut self, timeline: &Timeline<'_>) {
        let bundles = &timeline.bundles;
        if bundles.events > 1 {
            self.streams += 1;
            let is_hidden = bundles.hide_gaps();
            self.hidden += u64::from(is_hidden);
            self.unknown += u64::from(timeline.hidden.is_unknown && !is_hidden);
        }
    }

    /// Adds the counts of other requests.
    pub fn join(&mut self, others: Self) {
        self.streams += others.streams;
        self.hidden += others.hidden;
        self.unknown += others.unknown;
    }

    /// Whether the gaps of enough streams are known, so that figures of gaps are valid.
    pub fn are_known(&self) -> bool {
        self.are_few(self.hidden + self.unknown)
    }

    /// Whether this number of streams is at most [`Gaps::MOST_HIDDEN`].
    pub fn are_few(&self, streams: u64) -> bool {
        streams as f64 <= Self::MOST_HIDDEN * self.streams as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::stream;
    use crate::record::EventKind::{EmptyText, Text};

    /// Whether gaps are hidden in a stream with these numbers of token events in its reads.
    fn hides(per_read: &[usize]) -> bool {
        let arrivals = per_read.iter().enumerate().flat_map(|(read, &events)| {
            std::iter::repeat_n((10.0 * read as f64, Text, None), events)
        });
        Timeline::new(&stream(0.0, &arrivals.collect::<Vec<_>>())).bundles.hide_gaps()
    }

    #[test]
    fn gaps_between_tokens_are_unknown_if_tokens_arrive_at_once_or_many_per_read() {
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
    fn an_event_without_visible_text_before_the_first_token_does_not_count_as_a_gap() {
        let events = [(0.0, EmptyText, None), (10.0, Text, None), (10.0, Text, None)];
        assert!(Timeline::new(&stream(0.0, &events)).bundles.hide_gaps());
        assert!(!Timeline::new(&stream(0.0, &events[..2])).bundles.hide_gaps());
    }
}
