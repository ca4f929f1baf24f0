//! The selected part of a trace of agents, as data.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use inferometer_model::time::optional_nanoseconds;

/// A trace of agents, and how it is played: each call is due its gap after the end of the calls that it waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentsPlan {
    /// The path of the file, or the name of a fetched data set.
    pub dataset: String,
    /// The format of the file; absent: detected from the first row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// The number of jobs of a pass; absent: those of the trace. More jobs than the trace has are copies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<u32>,
    /// Longer gaps are cut to this length; absent: no gap is cut.
    #[serde(rename = "max_gap_ns", with = "optional_nanoseconds", default)]
    pub max_gap: Option<Duration>,
    /// The length of answers whose length the trace does not say, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_length: Option<u32>,
    /// Whose answers later prompts contain.
    #[serde(default)]
    pub answers: Answers,
}

/// Whose answers the later prompts of a session contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answers {
    /// Those of the trace, or words in their place: every prompt has its recorded length, and every server gets the same.
    #[default]
    Recorded,
    /// Those of the measured server, without its reasoning.
    Live,
    /// Those of the measured server, with the reasoning that it sends apart.
    LiveWithReasoning,
}

inferometer_model::names!(Answers { Recorded => "recorded", Live => "live",
    LiveWithReasoning => "live-with-reasoning" });
