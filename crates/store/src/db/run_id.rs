//! The identity of a run: it sorts by time, is readable, and is short enough to type.

use derive_more::Display;
use serde::{Deserialize, Serialize};

use crate::calendar;

/// A run's identity in the store, such as `20261120-051233-ab12`: the UTC second in which the run began,
/// and four hexadecimal digits that distinguish runs of the same second.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Display)]
#[serde(transparent)]
pub struct RunId(String);

impl RunId {
    /// The identity of a run that began at a wall time, in nanoseconds since the Unix epoch. `suffix`
    /// should be random: two runs of the same second must not have the same suffix.
    pub fn new(started_unix_ns: i64, suffix: u16) -> Self {
        Self(format!("{}-{suffix:04x}", calendar::compact(started_unix_ns)))
    }

    /// Parses an identity; `None` if the text is not an identity. The check is necessary because an identity
    /// becomes a part of file names, and may come from an untrusted source.
    pub fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('-').collect();
        let [day, second, suffix] = parts[..] else { return None };
        let digits =
            |text: &str, many| text.len() == many && text.bytes().all(|b| b.is_ascii_digit());
        let is_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        let is_id =
            digits(day, 8) && digits(second, 6) && suffix.len() == 4 && suffix.bytes().all(is_hex);
        is_id.then(|| Self(text.to_owned()))
    }

    /// Whether this is the identity of a run that began at this instant, in nanoseconds since the Unix
    /// epoch.
    pub fn began_at(&self, started_unix_ns: i64) -> bool {
        let second = calendar::compact(started_unix_ns);
        self.0.strip_prefix(&second).is_some_and(|rest| rest.starts_with('-'))
    }

    pub(super) fn stored(id: String) -> Self {
        Self(id)
    }

    /// The identity as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
