//! The speed of a server, from its first requests, to estimate how long a run takes. The figures of a run never use it.

use std::time::Duration;

use inferometer_model::{CellPlan, Record};

/// The speed of a server without other load.
pub struct ServerSpeed {
    /// A request with a short prompt.
    short: RequestTimes,
    /// A request with a prompt as long as the longest prompt of the plan, if the longest prompt is not short.
    long: Option<LongPrompt>,
}

/// A request with a long prompt.
struct LongPrompt {
    times: RequestTimes,
    /// How long it took to generate the prompt, in seconds.
    making_s: f64,
}

/// The times of one request.
#[derive(Clone, Copy)]
struct RequestTimes {
    /// The length of the prompt, in tokens.
    tokens: f64,
    /// Time to the first token, in seconds.
    first_s: f64,
    /// Time per output token after the first, in seconds.
    each_s: f64,
}

impl RequestTimes {
    fn of(record: &Record) -> Option<Self> {
        let sent = record.send_start?;
        let first = record.arrival(record.token_events().next()?);
        let last = record.arrival(record.token_events().next_back()?);
        let after_first = record.output_tokens().0.saturating_sub(1).max(1);
        Some(Self {
            tokens: f64::from(record.asked_input),
            first_s: first.seconds_after(sent),
            each_s: last.seconds_after(first) / f64::from(after_first),
        })
    }
}

impl ServerSpeed {
    /// The speed according to the record of a request with a short prompt; absent if no token arrived.
    pub fn of(record: &Record) -> Option<Self> {
        Some(Self { short: RequestTimes::of(record)?, long: None })
    }

    /// Adds the record of a request with a long prompt. `making` is the time that it took to generate this prompt.
    #[must_use]
    pub fn with_long_prompt(self, record: &Record, making: Duration) -> Self {
        let times = RequestTimes::of(record).filter(|times| times.tokens > self.short.tokens);
        let long = times.map(|times| LongPrompt { times, making_s: making.as_secs_f64() });
        Self { long, ..self }
    }

    /// The time of a request of this cell, in seconds.
    pub fn alone_s(&self, cell: CellPlan) -> f64 {
        let each_s = self.long.as_ref().map_or(self.short, |long| long.times).each_s;
        let later = f64::from(cell.output_length.saturating_sub(1));
        self.short.first_s + self.prompt_s(cell.input_length) + each_s * later
    }

    /// The additional time of a prompt of this length, compared with a short prompt, in seconds. It is proportional to
    /// the additional length; 0 if no long prompt was measured. Batching does not save this time, because one long
    /// prompt uses the whole card.
    pub fn prompt_s(&self, tokens: u32) -> f64 {
        let Some(LongPrompt { times, .. }) = &self.long else { return 0.0 };
        let longer = (f64::from(tokens) - self.short.tokens) / (times.tokens - self.short.tokens);
        (times.first_s - self.short.first_s).max(0.0) * longer.max(0.0)
    }

    /// The time to generate `count` prompts of a cell, in seconds; 0 if no long prompt was generated.
    pub fn making_s(&self, cell: CellPlan, count: u32) -> f64 {
        self.long.as_ref().map_or(0.0, |long| {
            let tokens = f64::from(cell.input_length) * f64::from(count);
            long.making_s * tokens / long.times.tokens
        })
    }
}
