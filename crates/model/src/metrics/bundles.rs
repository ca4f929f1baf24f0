//! Token events that arrived together, in one read of the socket.

/// The largest mean number of token events per read at which the tokens of a stream count as arriving separately. A
/// step of speculative decoding may send this many tokens together, each in its own event.
const MOST_PER_READ: usize = 4;

/// How the token events of a stream are distributed over reads of the socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bundles {
    /// The number of token events.
    pub events: usize,
    /// The number of reads with at least one token event.
    pub reads: usize,
    /// Whether the first visible event and all later token events are in one read, and there are at least two of them.
    pub ends_with_first: bool,
    /// The reads of the first visible event and of the last event.
    first: Option<u32>,
    last: Option<u32>,
}

impl Bundles {
    /// Adds a token event; `read` is the index of its read.
    pub(super) fn add(&mut self, read: u32, is_visible: bool) {
        self.events += 1;
        self.reads += usize::from(self.last != Some(read));
        self.last = Some(read);
        if self.first.is_some() {
            self.ends_with_first = self.first == self.last;
        } else if is_visible {
            self.first = self.last;
        }
    }

    /// Whether the times between the stream's tokens are unknown. They are unknown if all token events from the first
    /// visible one on arrived together, or if the mean number of token events per read is above `MOST_PER_READ`.
    pub fn hide_gaps(&self) -> bool {
        self.ends_with_first || self.events > MOST_PER_READ * self.reads
    }
}
