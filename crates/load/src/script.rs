//! The turns of the conversations of a pass, and what the load that begins them counts.

use std::sync::Arc;
use std::time::Duration;

use inferometer_model::request::sha256_hex;
use serde::{Deserialize, Serialize};

/// The turns of the conversations of a pass. A plan stores what identifies them; they are drawn
/// again for each run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Script {
    /// Conversations.
    pub conversations: u32,
    /// Turns of all of them; 0 until they have been drawn.
    pub turns: u32,
    /// SHA-256 over turns and think times; empty until they have been drawn.
    pub sha256: String,
    /// For each conversation the think time before each of its turns.
    #[serde(skip)]
    pub(crate) think: Arc<[Box<[Duration]>]>,
}

impl Script {
    /// A script of so many conversations that have not been drawn.
    pub fn of(conversations: u32) -> Self {
        Self { conversations, ..Self::default() }
    }

    /// Takes in the think times before each turn of each conversation; that of a first turn says
    /// nothing. Each conversation has at least one turn.
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

    /// Turns of each conversation, on average.
    pub(crate) fn mean_turns(&self) -> f64 {
        f64::from(self.turns.max(1)) / f64::from(self.conversations.max(1))
    }

    /// Seconds that are thought in each conversation, on average.
    pub(crate) fn mean_think_s(&self) -> f64 {
        let later = self.think.iter().flat_map(|talk| talk.iter().skip(1));
        later.map(Duration::as_secs_f64).sum::<f64>() / f64::from(self.conversations.max(1))
    }
}

/// A conversation as bytes: the number of its turns, then the think time before each.
fn bytes_of(talk: &[Duration]) -> Vec<u8> {
    let spans = talk.iter().map(|span| span.as_nanos() as u64);
    std::iter::once(talk.len() as u64).chain(spans).flat_map(u64::to_le_bytes).collect()
}

/// What the load model that begins conversations counts as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CountOf {
    /// A conversation, from its first turn to its last answer: who thinks keeps a place.
    #[default]
    Conversations,
    /// A request: who thinks keeps no place, and turns that are due go before new conversations.
    Requests,
}
