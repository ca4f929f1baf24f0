//! The figures of a pass as the published text-block log states them, and their definitions as data.

use serde::{Deserialize, Serialize};

use super::LengthFigures;

/// What the log of a pass states, and what it is computed from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockFigures {
    /// Characters of a block: the log's `chunk_size`.
    pub block_chars: u32,
    /// Characters asked for: the log's `generate_size`.
    pub wanted_chars: u32,
    /// Blocks that the plan sends.
    pub planned: u64,
    /// The requested number in flight; absent if the load has no such number.
    pub concurrency: Option<u32>,
    /// Wall time of the first send, in nanoseconds since 1970.
    pub began_unix_ns: u64,
    /// Wall time of the last end.
    pub ended_unix_ns: u64,
    /// Completed requests: the log's `n-request`.
    pub completed: u64,
    /// Prompt tokens of the completed requests; absent if they were not counted.
    pub prompt_tokens: Option<u64>,
    /// Output tokens of the completed requests; absent if they were not counted.
    pub completion_tokens: Option<u64>,
    /// Characters of the completed requests' prompts, template and preamble included.
    pub prompt_chars: u64,
    /// Characters of the completed requests' answers.
    pub completion_chars: u64,
    /// Mean over completed requests of output tokens / latency in seconds.
    pub tokens_per_s_per_request: Option<f64>,
    /// How well answers had the requested length.
    pub keeping: LengthFigures,
}

impl BlockFigures {
    /// Whole seconds from the first send to the last end, each cut to whole seconds first, as the log
    /// counts them.
    pub fn duration_s(&self) -> u64 {
        const SECOND: u64 = 1_000_000_000;
        (self.ended_unix_ns / SECOND).saturating_sub(self.began_unix_ns / SECOND)
    }

    fn per_second(&self, count: Option<u64>) -> Option<f64> {
        let seconds = self.duration_s();
        count.filter(|_| seconds > 0).map(|count| count as f64 / seconds as f64)
    }

    fn per_request(&self, count: Option<u64>) -> Option<f64> {
        count.filter(|_| self.completed > 0).map(|count| count as f64 / self.completed as f64)
    }

    /// Output tokens of a completed request, on average.
    pub fn completion_tokens_per_request(&self) -> Option<f64> {
        self.per_request(self.completion_tokens)
    }

    /// Output tokens per second of [`BlockFigures::duration_s`].
    pub fn completion_tokens_per_s(&self) -> Option<f64> {
        self.per_second(self.completion_tokens)
    }
}

/// A figure of the log.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name in the log.
    pub name: &'static str,
    /// How it is computed.
    pub formula: &'static str,
    /// The figure; counts are whole.
    pub value: fn(&BlockFigures) -> Option<f64>,
    /// Whether it is a count, which the log writes without a decimal point.
    pub is_count: bool,
}

/// The figures of the log, in its order. Every rate divides by the log's own `duration`.
pub static FIELDS: [Field; 10] = [
    Field {
        name: "duration",
        formula: "int(wall time of the last end) - int(wall time of the first send), in seconds",
        value: |figures| Some(figures.duration_s() as f64),
        is_count: true,
    },
    Field {
        name: "prompt-tokens/second",
        formula: "prompt tokens of the completed requests / duration",
        value: |figures| figures.per_second(figures.prompt_tokens),
        is_count: false,
    },
    Field {
        name: "completion-tokens/second",
        formula: "output tokens of the completed requests / duration",
        value: BlockFigures::completion_tokens_per_s,
        is_count: false,
    },
    Field {
        name: "prompt-chars/second",
        formula: "characters of the completed requests' prompts, template included / duration",
        value: |figures| figures.per_second(Some(figures.prompt_chars)),
        is_count: false,
    },
    Field {
        name: "completion-chars/second",
        formula: "characters of the completed requests' answers / duration",
        value: |figures| figures.per_second(Some(figures.completion_chars)),
        is_count: false,
    },
    Field {
        name: "total completion tokens",
        formula: "output tokens of the completed requests",
        value: |figures| figures.completion_tokens.map(|count| count as f64),
        is_count: true,
    },
    Field {
        name: "completion tokens per request",
        formula: "total completion tokens / n-request",
        value: BlockFigures::completion_tokens_per_request,
        is_count: false,
    },
    Field {
        name: "n-request",
        formula: "completed requests",
        value: |figures| Some(figures.completed as f64),
        is_count: true,
    },
    Field {
        name: "QPS",
        formula: "n-request / duration",
        value: |figures| figures.per_second(Some(figures.completed)),
        is_count: false,
    },
    Field {
        name: "tokens-speed-per-request/second(终端用户视角)",
        formula: "mean over completed requests of output tokens / latency; inferred, because in \
            the published log it does not follow from the other fields",
        value: |figures| figures.tokens_per_s_per_request,
        is_count: false,
    },
];
