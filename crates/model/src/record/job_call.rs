//! The place of a request in its job, and what was recorded of it.

use serde::{Deserialize, Serialize};

/// The place of a request in its job: a conversation, or the calls of an agent and its sub-agents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobCall {
    /// The number of the job in its pass, from 0.
    pub job: u32,
    /// The place of the call in its job, from 0.
    pub call: u32,
    /// The number of calls of the job.
    pub calls: u32,
    /// The calls of the job that the call waits for, by their places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<u32>,
    /// From the last end of these calls, or from the begin of the job, to the due time, in nanoseconds.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub gap_ns: u64,
    /// The part of the gap, from its begin, in which tools run, in nanoseconds.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub tool_ns: u64,
    /// What happens in the rest of the gap.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub gap: GapKind,
    /// The recorded start, from the recorded begin of the job, and the recorded duration, in nanoseconds; `None` if
    /// these are not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_ns: Option<(u64, u64)>,
    /// What the prompt has in common with earlier ones of the pass; `None` if this is not known before it is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<SharedPrompt>,
}

/// The longest beginning of a prompt that an earlier prompt of the same pass has, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedPrompt {
    /// Its length in tokens, without those that the server adds; 0 if no other prompt has it.
    pub tokens: u32,
    /// The first call with this beginning, by its job and its place there.
    pub with: (u32, u32),
}

/// What happens between the last end of the calls that a call waits for, and its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GapKind {
    /// It is not known.
    #[default]
    Unknown,
    /// Tools run.
    Tool,
    /// A person reads, thinks and writes.
    Human,
    /// A sub-agent is started, or its end is awaited.
    Agent,
}
