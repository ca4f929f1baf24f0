//! Records to summaries: one pass, then one cell. Every figure is a pure re-computation.
//!
//! Never here: a formula (those are in [`crate::metric`]), a judgement, a default count.

use crate::instrument::InstrumentFold;
use crate::metric::{
    Definition, Over, Span, Timeline, Value, Window, concurrency, duration, e2e, itl,
    latency_per_output_token, latency_per_token, send_delay, throughput, tpot, ttft,
};
use crate::outcome::OutcomeCounts;
use crate::plan::PassPlan;
use crate::record::{Record, TokensFrom};
use crate::stats::{self, Pool};
use crate::summary::{Cell, Distribution, PassKind, PassSummary};

/// The metrics whose distribution over requests a summary holds.
static PER_REQUEST: [&Definition; 8] = [
    &ttft::FROM_SENT,
    &ttft::FROM_DUE,
    &tpot::DEFINITION,
    &e2e::FROM_SENT,
    &e2e::FROM_DUE,
    &send_delay::DEFINITION,
    &latency_per_token::DEFINITION,
    &latency_per_output_token::DEFINITION,
];

/// Folds the records of one pass, in any order, into its summary.
///
/// A record leaves behind one number per metric and two per token event, nothing else.
#[derive(Clone, Debug)]
pub struct PassFold {
    kind: PassKind,
    concurrency: Option<u32>,
    rate: Option<f64>,
    streamed: bool,
    seed: u64,
    outcomes: OutcomeCounts,
    tokens_from: Option<TokensFrom>,
    window: Window,
    columns: [Vec<f64>; PER_REQUEST.len()],
    itl: Pool,
    instrument: InstrumentFold,
}

impl PassFold {
    /// A fold that has seen nothing. `streamed` is the plan's
    /// [`crate::request::Sampling::stream`]; `seed` makes the resamples of intervals.
    #[must_use]
    pub fn new(pass: &PassPlan, streamed: bool, seed: u64) -> Self {
        Self {
            kind: pass.kind(),
            concurrency: pass.concurrency(),
            rate: pass.rate(),
            streamed,
            seed,
            outcomes: OutcomeCounts::default(),
            tokens_from: None,
            window: Window::default(),
            columns: Default::default(),
            itl: Pool::default(),
            instrument: InstrumentFold::default(),
        }
    }

    /// Takes in the record of one planned request, whatever became of it.
    ///
    /// # Panics
    /// If an event names a read that the record does not have: such a record cannot be decoded.
    pub fn add(&mut self, record: &Record) {
        let timeline = Timeline::new(record, self.streamed);
        self.outcomes.add(record.outcome);
        self.instrument.add(record, self.streamed);
        if let (Some(send_start), Some(ended)) = (record.send_start, record.ended) {
            self.window.spans.push(Span { send_start, ended });
        }
        let complete = record.outcome.is_complete();
        for (definition, column) in PER_REQUEST.iter().zip(&mut self.columns) {
            if let (Value::Request(value), true) =
                (definition.value, complete || definition.over == Over::Sent)
            {
                column.extend(value(&timeline));
            }
        }
        if complete {
            self.add_complete(&timeline);
        }
    }

    fn add_complete(&mut self, timeline: &Timeline<'_>) {
        let (output_tokens, from) = timeline.record.output_tokens();
        let input_tokens = timeline.record.input_tokens();
        self.window.completed += 1;
        self.window.output_tokens += u64::from(output_tokens);
        // Where nobody counted a prompt, a finding says so: see `crate::inspect`.
        self.window.input_tokens += input_tokens.map_or(0, u64::from);
        self.tokens_from = self.tokens_from.into_iter().chain([from]).max_by_key(weakness);
        self.itl.add_request(|gaps| itl::itl_ms(timeline, gaps));
    }

    /// The summary of what was taken in.
    #[must_use]
    pub fn finish(mut self) -> PassSummary {
        let seed = self.seed;
        let mut column = |definition: &Definition| -> Option<Distribution> {
            let at = PER_REQUEST.iter().position(|candidate| candidate.name == definition.name);
            let at = at.expect("invariant: the summary's metrics are those of PER_REQUEST");
            stats::distribution(&mut self.columns[at], seed)
        };
        PassSummary {
            kind: self.kind,
            concurrency: self.concurrency,
            rate: self.rate,
            planned: self.outcomes.total(),
            outcomes: self.outcomes,
            // Figures of the steady state belong here, beside those of the whole pass.
            duration_s: duration::duration_s(&self.window),
            requests_per_s: throughput::requests_per_s(&self.window),
            input_tokens: self.window.input_tokens,
            output_tokens: self.window.output_tokens,
            output_tokens_per_s: throughput::output_tokens_per_s(&self.window),
            tokens_from: self.tokens_from,
            peak_concurrency: concurrency::peak(&self.window),
            mean_concurrency: concurrency::mean(&self.window),
            ttft_ms: column(&ttft::FROM_SENT),
            tpot_ms: column(&tpot::DEFINITION),
            itl_ms: self.itl.distribution(seed),
            e2e_ms: column(&e2e::FROM_SENT),
            ttft_from_due_ms: column(&ttft::FROM_DUE),
            e2e_from_due_ms: column(&e2e::FROM_DUE),
            send_delay_ms: column(&send_delay::DEFINITION),
            latency_per_token_ms: column(&latency_per_token::DEFINITION),
            latency_per_output_token_ms: column(&latency_per_output_token::DEFINITION),
            instrument: self.instrument.finish(seed),
        }
    }
}

/// How little a count of tokens can be relied on.
fn weakness(from: &TokensFrom) -> u8 {
    match from {
        TokensFrom::Usage => 0,
        TokensFrom::Tokenizer => 1,
        TokensFrom::Events => 2,
    }
}

/// A cell of the grid, from its passes.
///
/// Throughput is that of the pass that loads the server; of several, the one with the most
/// requests per second. A cell that was only measured one by one has none. Latencies are those
/// of the one_by_one pass, else of the pass that the throughput is from.
#[must_use]
pub fn cell(input_length: u32, output_length: u32, passes: Vec<PassSummary>) -> Cell {
    let loading = passes
        .iter()
        .filter(|pass| pass.kind != PassKind::OneByOne)
        .max_by(|a, b| requests_per_s(a).total_cmp(&requests_per_s(b)));
    let alone = passes.iter().find(|pass| pass.kind == PassKind::OneByOne).or(loading);
    let mean = |distribution: Option<Distribution>| distribution.map(|values| values.mean);
    Cell {
        input_length,
        output_length,
        requests_per_s: loading.and_then(|pass| pass.requests_per_s),
        output_tokens_per_s: loading.and_then(|pass| pass.output_tokens_per_s),
        latency_per_token_ms: alone.and_then(|pass| mean(pass.latency_per_token_ms)),
        latency_per_output_token_ms: alone.and_then(|pass| mean(pass.latency_per_output_token_ms)),
        passes,
    }
}

/// For comparison only: a pass in which nothing was sent is the slowest.
fn requests_per_s(pass: &PassSummary) -> f64 {
    pass.requests_per_s.unwrap_or(0.0)
}

#[cfg(test)]
mod tests;
