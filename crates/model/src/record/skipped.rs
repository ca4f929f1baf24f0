//! The messages of a stream that were skipped, counted by kind.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The longest name of a kind that is stored, in characters.
const MAX_CHARS: usize = 60;
/// The most kinds that are counted one by one, because a server may invent a new kind for each message.
const MAX_KINDS: usize = 8;
/// The kind of all further messages.
const OTHERS: &str = "others";

/// Messages that are neither output, error, usage nor end, counted by kind: the name of their event, their type, or
/// the names of their fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Skipped(BTreeMap<Box<str>, u64>);

impl Skipped {
    /// Counts a message of this kind.
    pub fn add(&mut self, kind: &str) {
        self.add_times(kind, 1);
    }

    /// Counts the messages of another stream, too.
    pub fn add_all(&mut self, other: &Self) {
        other.iter().for_each(|(kind, count)| self.add_times(kind, count));
    }

    /// Each kind with its number of messages.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(kind, count)| (&**kind, *count))
    }

    /// Whether no message was skipped.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn add_times(&mut self, kind: &str, count: u64) {
        let mut kind = crate::visible::cut(kind, MAX_CHARS).into_boxed_str();
        if self.0.len() >= MAX_KINDS && !self.0.contains_key(&kind) {
            kind = OTHERS.into();
        }
        let total = self.0.entry(kind).or_default();
        *total = total.saturating_add(count);
    }
}
