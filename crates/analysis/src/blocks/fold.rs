//! Computes the figures of a pass over text blocks from its records, and from nothing else.

use inferometer_plan::template::BlockPass;

use super::{Answer, BlockFigures, keeping::LengthFold};
use inferometer_model::{EventKind, Nanos, Timeline, metrics::e2e};

/// Collects the records of a pass, in any order.
#[derive(Clone, Debug)]
pub struct BlockFold {
    pass: BlockPass,
    planned: u64,
    completed: u64,
    began: Option<Nanos>,
    ended: Option<Nanos>,
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    completion_chars: u64,
    /// The sum over requests of output tokens / latency (in tokens/s), and the number of requests in this sum.
    speed: (f64, u64),
    keeping: LengthFold,
}

/// The finish reasons by which servers state that the token limit ended an answer.
const CUT: [&str; 3] = ["length", "limit", "max_tokens"];

impl BlockFold {
    /// A fold without records.
    pub fn new(pass: BlockPass) -> Self {
        Self {
            pass,
            planned: 0,
            completed: 0,
            began: None,
            ended: None,
            prompt_tokens: Some(0),
            completion_tokens: Some(0),
            completion_chars: 0,
            speed: (0.0, 0),
            keeping: LengthFold::default(),
        }
    }

    /// Adds the record of a planned request, whatever its outcome.
    pub fn add(&mut self, timeline: &Timeline<'_>) {
        let record = timeline.record;
        self.planned += 1;
        if let (Some(send_start), Some(ended)) = (record.send_start, record.ended) {
            self.began = Some(self.began.map_or(send_start, |known| known.min(send_start)));
            self.ended = Some(self.ended.map_or(ended, |known| known.max(ended)));
        }
        if !record.outcome.is_complete() {
            return;
        }
        self.completed += 1;
        let text = record.events.iter().filter(|event| event.kind == EventKind::Text);
        let chars: u64 = text.map(|event| u64::from(event.chars)).sum();
        let tokens = timeline.tokens_from.map(|_| timeline.output_tokens);
        self.completion_chars += chars;
        // If the count of one request is unknown, the sum of the pass is unknown too.
        let add = |sum: Option<u64>, count: Option<u32>| Some(sum? + u64::from(count?));
        self.prompt_tokens = add(self.prompt_tokens, record.input_tokens());
        self.completion_tokens = add(self.completion_tokens, tokens);
        if let (Some(tokens), Some(latency_ms)) = (tokens, e2e::from_sent(timeline))
            && latency_ms > 0.0
        {
            self.speed.0 += f64::from(tokens) / (latency_ms / 1e3);
            self.speed.1 += 1;
        }
        let answer = Answer {
            wanted_chars: self.pass.wanted_chars,
            chars,
            is_cut: record.finish_reason.as_deref().is_some_and(|reason| CUT.contains(&reason)),
        };
        self.keeping.add(&answer, tokens);
    }

    /// Computes the figures. `concurrency` is the planned number of requests in flight; absent if the load has no such
    /// number.
    pub fn finish(self, concurrency: Option<u32>) -> BlockFigures {
        let wall = |at: Option<Nanos>| {
            let since = i128::from(at.unwrap_or(Nanos::ZERO).0);
            u64::try_from(i128::from(self.pass.origin_unix_ns) + since).unwrap_or(0)
        };
        BlockFigures {
            block_chars: self.pass.block_chars,
            wanted_chars: self.pass.wanted_chars,
            planned: self.planned,
            concurrency,
            began_unix_ns: wall(self.began),
            ended_unix_ns: wall(self.ended),
            completed: self.completed,
            prompt_tokens: self.prompt_tokens,
            completion_tokens: self.completion_tokens,
            prompt_chars: self.pass.prompt_chars * self.completed,
            completion_chars: self.completion_chars,
            tokens_per_s_per_request: (self.speed.1 > 0)
                .then(|| self.speed.0 / self.speed.1 as f64),
            keeping: self.keeping.finish(),
        }
    }
}
