//! The form into which every trace is read: calls that wait for each other. It has only what a replay needs, and
//! says of every value where it comes from.

use std::path::PathBuf;

pub use inferometer_model::record::GapKind;

use super::tree::Tree;
use crate::{LeftOut, trace::RowReason};

/// A value of a call, and where it comes from. An absent value is never 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Known<T> {
    /// The file does not say it.
    #[default]
    Absent,
    /// The file states it.
    Recorded(T),
    /// It follows from other values of the file, by a rule of the format.
    Inferred(T),
    /// It is drawn at random, because the file has only distributions.
    Invented(T),
}

impl<T: Copy> Known<T> {
    /// The value, if there is one.
    pub fn get(self) -> Option<T> {
        match self {
            Self::Recorded(value) | Self::Inferred(value) | Self::Invented(value) => Some(value),
            Self::Absent => None,
        }
    }

    /// A value that the file states, if it does.
    pub fn recorded(value: Option<T>) -> Self {
        value.map_or(Self::Absent, Self::Recorded)
    }

    /// A value that follows from others, if they are known.
    pub fn inferred(value: Option<T>) -> Self {
        value.map_or(Self::Absent, Self::Inferred)
    }

    /// This value, or the other one if this one is absent.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        if matches!(self, Self::Absent) { other } else { self }
    }

    /// The place of its origin in the order recorded, inferred, invented, absent.
    pub fn origin(self) -> usize {
        match self {
            Self::Recorded(_) => 0,
            Self::Inferred(_) => 1,
            Self::Invented(_) => 2,
            Self::Absent => 3,
        }
    }
}

/// What a prompt consists of. The numbers are nodes of the trees of the trace, so prompts with a common beginning
/// share its nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Ids of blocks of equal length, in [`Trace::blocks`].
    Blocks(u32),
    /// Messages, in [`Trace::messages`].
    Messages(u32),
}

/// One request to a model. Numbers of calls are indices in [`Trace::calls`]; those of names are indices in
/// [`Trace::names`].
#[derive(Clone, Debug, Default)]
pub struct Call {
    /// The id in the file; without one, the line.
    pub id: String,
    /// The name of the job: that of its root session.
    pub job: u32,
    /// The name of the session.
    pub session: u32,
    /// The name of the agent, or of its kind.
    pub agent: Option<u32>,
    /// The calls that must end before this one starts.
    pub parents: Vec<u32>,
    /// Where the parents come from. Absent if the file says nothing about the order of calls.
    pub order: Known<()>,
    /// The recorded start, in nanoseconds from an origin that the format sets.
    pub start_ns: Known<i64>,
    /// The recorded end, from the same origin.
    pub end_ns: Known<i64>,
    /// From the last end of the parents to the start, in nanoseconds.
    pub gap_ns: Known<i64>,
    /// The part of the gap in which at least one tool ran, in nanoseconds.
    pub tool_ns: Known<i64>,
    /// What happened in the gap. If a person was awaited, the whole gap is the think time.
    pub gap_kind: GapKind,
    /// The length of the whole prompt, in tokens.
    pub prompt: Known<u32>,
    /// The prompt.
    pub content: Known<Content>,
    /// How many tokens of the previous call's prompt and answer begin this prompt. The previous call is the parent
    /// in the same session.
    pub keeps: Known<u32>,
    /// The length of the answer with its reasoning, in tokens.
    pub output: Known<u32>,
    /// The reasoning in the answer, in tokens.
    pub reasoning: Known<u32>,
    /// The part of the prompt that the recorded server took from its cache, in tokens.
    pub cached: Known<u32>,
    /// The index of the file in [`Trace::files`].
    pub file: u32,
    /// The line in the file. For a file that is one JSON document: the place in its lists.
    pub line: u64,
}

/// The contents of trace files.
#[derive(Debug, Default)]
pub struct Trace {
    /// The name of the format.
    pub format: &'static str,
    /// The files.
    pub files: Vec<PathBuf>,
    /// The calls, in the order of the files.
    pub calls: Vec<Call>,
    /// The calls in an order in which each follows its parents, otherwise as in the files.
    pub order: Vec<u32>,
    /// The names of sessions and agents.
    pub names: Vec<String>,
    /// The number of tokens of a block.
    pub block_tokens: Known<u32>,
    /// The blocks of prompts.
    pub blocks: Tree,
    /// The messages of prompts.
    pub messages: Tree,
    /// The JSON text of each node in `messages`. Definitions of tools and a system prompt come first.
    pub texts: Vec<Box<str>>,
    /// The rows that cannot be used.
    pub left_out: LeftOut<RowReason>,
    /// What was not used or is uncertain, in sentences.
    pub notes: Vec<String>,
}

impl Call {
    /// The file and the line.
    pub fn place(&self) -> (u32, u64) {
        (self.file, self.line)
    }
}

impl Trace {
    /// The parent of a call in the same session; the last one if there are several.
    pub fn previous(&self, call: &Call) -> Option<&Call> {
        let mut parents = call.parents.iter().map(|&parent| &self.calls[parent as usize]);
        parents.rfind(|parent| parent.session == call.session)
    }
}
