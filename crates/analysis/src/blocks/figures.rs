//! The figures of a pass in the published text-block log, and their definitions as data.

use serde::{Deserialize, Serialize};

use super::LengthFigures;

/// The counts and times of a pass from which the figures of the log are computed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockFigures {
    /// Characters of a block of text: the log's `chunk_size`.
    pub block_chars: u32,
    /// Characters that a prompt requests: the log's `generate_size`.
    pub wanted_chars: u32,
    /// The number of planned requests, one for each block.
    pub planned: u64,
    /// The planned number of requests in flight; absent if the load has no such number.
    pub concurrency: Option<u32>,
    /// Wall time of the first send, in nanoseconds since 1970. If no request was sent: the wall time at which the clock of
    /// the run was 0.
    pub began_unix_ns: u64,
    /// Wall time of the last end of a sent request, in nanoseconds since 1970. If no request was sent: as for
    /// `began_unix_ns`.
    pub ended_unix_ns: u64,
    /// Completed requests: the log's `n-request`.
    pub completed: u64,
    /// Prompt tokens of the completed requests; absent if the count of one request is unknown.
    pub prompt_tokens: Option<u64>,
    /// Output tokens of the completed requests; absent if the count of one request is unknown.
    pub completion_tokens: Option<u64>,
    /// Characters of the prompts of completed requests, template and preamble included.
    pub prompt_chars: u64,
    /// Characters of the answers of completed requests.
    pub completion_chars: u64,
    /// Mean over completed requests of output tokens / latency in seconds; absent if no request has both.
    pub tokens_per_s_per_request: Option<f64>,
    /// How often answers had the requested length.
    pub keeping: LengthFigures,
}

impl BlockFigures {
    /// Seconds from the first send to the last end. Both times are rounded down to whole seconds first, as in the log.
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

    /// The mean number of output tokens of a completed request; `None` if no request completed, or if the tokens are
    /// unknown.
    pub fn completion_tokens_per_request(&self) -> Option<f64> {
        self.per_request(self.completion_tokens)
    }

    /// Output tokens divided by [`BlockFigures::duration_s`]; `None` if the duration is 0 or the tokens are
    /// unknown.
    pub fn completion_tokens_per_s(&self) -> Option<f64> {
        self.per_second(self.completion_tokens)
    }
}

/// A figure of the log.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The name of the figure in the log.
    pub name: &'static str,
    /// The formula of the figure, as text.
    pub formula: &'static str,
    /// Computes the figure; `None` if it is unknown. Counts are whole numbers.
    pub value: fn(&BlockFigures) -> Option<f64>,
    /// Whether the figure is a count, which the log writes without a decimal point.
    pub is_count: bool,
}

/// The figures of the log, in its order. All rates except the last figure divide by the log's own `duration`.
pub static FIELDS: [Field; 10] = inferometer_model::table! { Field { name, formula, value, is_count }
    ("duration", "int(wall time of the last end) - int(wall time of the first send), in seconds",
     |figures| Some(figures.duration_s() as f64), true)
    ("prompt-tokens/second", "prompt tokens of the completed requests / duration",
     |figures| figures.per_second(figures.prompt_tokens), false)
    ("completion-tokens/second", "output tokens of the completed requests / duration",
     BlockFigures::completion_tokens_per_s, false)
    ("prompt-chars/second", "characters of the completed requests' prompts, template included / duration",
     |figures| figures.per_second(Some(figures.prompt_chars)), false)
    ("completion-chars/second", "characters of the completed requests' answers / duration",
     |figures| figures.per_second(Some(figures.completion_chars)), false)
    ("total completion tokens", "output tokens of the completed requests",
     |figures| figures.completion_tokens.map(|count| count as f64), true)
    ("completion tokens per request", "total completion tokens / n-request",
     BlockFigures::completion_tokens_per_request, false)
    ("n-request", "completed requests", |figures| Some(figures.completed as f64), true)
    ("QPS", "n-request / duration", |figures| figures.per_second(Some(figures.completed)), false)
    ("tokens-speed-per-request/second(终端用户视角)",
     "mean over completed requests of output tokens / latency; inferred, because in the published log it does not \
      follow from the other fields", |figures| figures.tokens_per_s_per_request, false)
};
