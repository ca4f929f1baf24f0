//! The selected part of a trace of production traffic, as data.

use std::time::Duration;

use derive_more::Display;
use serde::{Deserialize, Serialize};

use inferometer_model::time::{nanoseconds, optional_nanoseconds};

/// A trace, and the part of it to send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TracePlan {
    /// The path of the file, or the name of a fetched data set.
    pub dataset: String,
    /// The format of the file; absent: detected from the first line.
    pub format: Option<TraceFormat>,
    /// The part of the trace to send.
    pub window: TraceWindow,
    /// The factor by which the number of requests is multiplied; the duration stays the same.
    pub scale: f64,
    /// Rows with more tokens than this, input and output together, are left out.
    pub max_tokens: Option<u32>,
    /// The number of tokens for which a hash stands; absent: derived from the rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_tokens: Option<u32>,
}

/// A format of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Display)]
#[display("{}", self.name())]
#[serde(rename_all = "snake_case")]
pub enum TraceFormat {
    /// Mooncake: one JSON object per line, with a time in milliseconds, the lengths, and the hashes of
    /// blocks of tokens. <https://github.com/kvcache-ai/Mooncake>
    Mooncake,
    /// Bailian: the keys of Mooncake, with a time in seconds.
    /// <https://github.com/alibaba-edu/qwen-bailian-usagetraces-anon>
    Bailian,
    /// Azure's LLM inference traces of 2023, 2024 and 2025.
    /// <https://github.com/Azure/AzurePublicDataset>
    Azure,
    /// BurstGPT. <https://github.com/HPMLL/BurstGPT>
    Burstgpt,
    /// Three columns or keys: seconds, input tokens, output tokens.
    Plain,
}

inferometer_model::names!(TraceFormat {
    Mooncake => "mooncake", Bailian => "bailian", Azure => "azure", Burstgpt => "burstgpt",
    Plain => "plain",
});

/// A part of a trace, by the time since its earliest row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceWindow {
    /// The start of the window, inclusive.
    #[serde(rename = "from_ns", with = "nanoseconds")]
    pub from: Duration,
    /// The end of the window, exclusive; absent: the end of the trace.
    #[serde(rename = "to_ns", with = "optional_nanoseconds")]
    pub to: Option<Duration>,
}

impl TraceWindow {
    /// Whether a row is inside the window. `after` is the time from the earliest row to this row.
    pub fn holds(&self, after: Duration) -> bool {
        after >= self.from && self.to.is_none_or(|to| after < to)
    }
}
