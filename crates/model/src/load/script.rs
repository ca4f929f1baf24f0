//! The turns of the conversations of a pass ([`Script`]), and whether a load counts conversations or
//! requests ([`CountOf`]).

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::request::sha256_hex;

/// The turns of the conversations of a pass. A plan stores the numbers of conversations and turns, and the hash of
/// the turns. The turns are computed again for each run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Script {
    /// The number of conversations.
    pub conversations: u32,
    /// The number of turns of all conversations; 0 until the turns have been computed.
    pub turns: u32,
    /// SHA-256 over the numbers of turns and the think times, in hexadecimal; empty until the turns have
    /// been computed.
    pub sha256: String,
    /// For each conversation: the think time before each of its turns.
    #[serde(skip)]
    pub(crate) think: Arc<[Box<[Duration]>]>,
}

impl Script {
    /// A script of this many conversations. Their turns have not been computed.
    pub fn of(conversations: u32) -> Self {
        Self { conversations, ..Self::default() }
    }

    /// Sets, for each conversation, the think time before each of its turns. The think time before a first
    /// turn changes no due time. Each conversation must have at least one turn.
    pub fn write(&mut self, think: impl IntoIterator<Item = Vec<Duration>>) {
        self.think = think.into_iter().map(Vec::into_boxed_slice).collect();
        self.conversations = self.think.len() as u32;
        self.turns = self.think.iter().map(|talk| talk.len() as u32).sum();
        let bytes: Vec<u8> = self.think.iter().flat_map(|talk| bytes_of(talk)).collect();
        self.sha256 = sha256_hex(&bytes);
    }

    /// The think times before the turns of each conversation.
    pub fn think(&self) -> impl Iterator<Item = &[Duration]> {
        self.think.iter().map(|talk| &**talk)
    }

    /// The mean number of turns of a conversation.
    pub(crate) fn mean_turns(&self) -> f64 {
        f64::from(self.turns.max(1)) / f64::from(self.conversations.max(1))
    }

    /// The think time of a whole conversation in seconds, as the mean over all conversations.
    pub(crate) fn mean_think_s(&self) -> f64 {
        let later = self.think.iter().flat_map(|talk| talk.iter().skip(1));
        later.map(Duration::as_secs_f64).sum::<f64>() / f64::from(self.conversations.max(1))
    }
}

/// A conversation as bytes, for the hash: the number of its turns, then the think time before each, in ns.
fn bytes_of(talk: &[Duration]) -> Vec<u8> {
    let spans = talk.iter().map(|span| span.as_nanos() as u64);
    std::iter::once(talk.len() as u64).chain(spans).flat_map(u64::to_le_bytes).collect()
}

/// Whether the load that begins conversations counts conversations or requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CountOf {
    /// Conversations: each one counts from its first turn to its last answer, also during its think times.
    #[default]
    Conversations,
    /// Requests: a conversation does not count during its think times. A turn that is due is sent before a
    /// new conversation begins.
    Requests,
}
