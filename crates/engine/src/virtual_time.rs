//! The engine in virtual time: a load model is played against it without waiting for anything.

use std::time::Duration;

use inferometer_load::{Bound, PassPlan};
use inferometer_load::{Due, Ended, LoadModel, load_model};
use inferometer_model::cell::CellPlan;
use inferometer_model::time::Nanos;

use crate::config::EngineConfig;
use crate::engine::{Engine, Finish, RequestId, Run, Step};
use crate::error::EngineError;
use crate::output_lengths::output_lengths;

/// One request in virtual time; instants are offsets from the start of the pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VirtualRecord {
    /// When it should start.
    pub due: Nanos,
    /// When it was sent: at once when due, unless it had to wait for a place.
    pub sent: Nanos,
    /// When its first token came; absent where none came.
    pub first_token: Option<Nanos>,
    /// When its last token came; absent where none came.
    pub last_token: Option<Nanos>,
    /// When it ended.
    pub ended: Nanos,
    /// Prompt tokens.
    pub prompt: u32,
    /// Output tokens that came.
    pub output: u32,
    /// Why it ended.
    pub finish: Finish,
}

/// What a request asks for and gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// Prompt tokens.
    pub prompt: u32,
    /// Output tokens that are asked for.
    pub max_tokens: u32,
    /// Output tokens after which the text ends by itself, if that is less.
    pub ends_after: u32,
}

impl From<(u32, u32)> for Lengths {
    /// Prompt and output tokens; the text does not end by itself.
    fn from((prompt, max_tokens): (u32, u32)) -> Self {
        Self { prompt, max_tokens, ends_after: max_tokens }
    }
}

/// What a request asks for, and what its prompt begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Its lengths.
    pub lengths: Lengths,
    /// The whole blocks of its prompt by their contents
    /// ([`crate::prefix_cache::block_hashes`]); none where it shares nothing.
    pub blocks: Vec<u64>,
}

impl<L: Into<Lengths>> From<L> for Asked {
    fn from(lengths: L) -> Self {
        Self { lengths: lengths.into(), blocks: Vec::new() }
    }
}

/// Tokens that a request got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokensAt {
    /// Which request, counted from 0 in the order of their starts.
    pub request: usize,
    /// When the last of them came.
    pub at: Nanos,
    /// How many, in steps of the same length but for what a token of context costs.
    pub count: u32,
}

/// Plays a load model against an idle engine until neither has anything left. `source` gives
/// lengths; when it is exhausted, no further request starts.
///
/// What is due before a step begins takes part in it. Records are in the order of their starts.
pub fn simulate<L: Into<Asked>>(
    engine: &mut Engine,
    load: &mut dyn LoadModel,
    source: &mut dyn Iterator<Item = L>,
) -> Vec<VirtualRecord> {
    simulate_seen(engine, load, source, None, |_| ())
}

/// [`simulate`], with every token shown to `see` as it comes. Of what is due while
/// `max_in_flight` are in flight, each waits for an end; it is sent then.
pub fn simulate_seen<L: Into<Asked>>(
    engine: &mut Engine,
    load: &mut dyn LoadModel,
    source: &mut dyn Iterator<Item = L>,
    max_in_flight: Option<u32>,
    see: impl FnMut(TokensAt),
) -> Vec<VirtualRecord> {
    let mut play = Play {
        now: Nanos::ZERO,
        records: Vec::new(),
        places: max_in_flight.unwrap_or(u32::MAX),
        was_full: false,
        see,
    };
    loop {
        let wait = play.begin_due(engine, load, source);
        let limit = wait.map_or(Duration::MAX, |due| due.since(play.now));
        if let Some(run) = engine.run(limit) {
            play.note_run(engine, run);
        } else if let Some(step) = engine.step() {
            play.note_step(step, load);
        } else if let Some(due) = wait {
            // An idle engine waits for the next arrival.
            play.now = due;
        } else {
            return play.records;
        }
    }
}

/// A load model that is being played. The number of a request is its place among the records.
struct Play<See> {
    now: Nanos,
    records: Vec<VirtualRecord>,
    /// How many more may be in flight.
    places: u32,
    was_full: bool,
    see: See,
}

impl<See: FnMut(TokensAt)> Play<See> {
    /// Starts what is due, and says when the next is, if that is known.
    fn begin_due<L: Into<Asked>>(
        &mut self,
        engine: &mut Engine,
        load: &mut dyn LoadModel,
        source: &mut dyn Iterator<Item = L>,
    ) -> Option<Nanos> {
        loop {
            let due = match load.next_due() {
                Due::At(due) if due > self.now => {
                    self.was_full = false;
                    return Some(due);
                }
                Due::At(due) => due,
                Due::AfterEnd | Due::Never => return None,
            };
            if self.places == 0 {
                self.was_full = true;
                return None;
            }
            let Asked { lengths, blocks } = source.next()?.into();
            let Lengths { prompt, max_tokens, ends_after } = lengths;
            load.take();
            self.places -= 1;
            let sent = if self.was_full { due.max(self.now) } else { due };
            let id = RequestId(self.records.len() as u64);
            engine.add_known(id, prompt, max_tokens, ends_after, blocks);
            self.records.push(VirtualRecord {
                due,
                sent,
                first_token: None,
                last_token: None,
                ended: due,
                prompt,
                output: 0,
                // Replaced at its end, which every request has.
                finish: Finish::Ignored,
            });
        }
    }

    fn note_run(&mut self, engine: &Engine, run: Run) {
        self.now = self.now + run.duration;
        for id in engine.running() {
            self.tokens(id, run.steps);
        }
    }

    fn note_step(&mut self, step: Step, load: &mut dyn LoadModel) {
        self.now = self.now + step.duration;
        for output in step.outputs {
            if output.finished != Some(Finish::Ignored) {
                self.tokens(output.id, 1);
            }
            if let Some(finish) = output.finished {
                let request = output.id.0 as usize;
                let complete = finish != Finish::Ignored;
                let record = &mut self.records[request];
                record.ended = self.now;
                record.output = output.tokens_so_far;
                record.finish = finish;
                self.places += 1;
                load.ended(self.now, Ended { conversation: request as u32, complete });
            }
        }
    }

    /// A request has got tokens.
    fn tokens(&mut self, id: RequestId, count: u32) {
        let request = id.0 as usize;
        let record = &mut self.records[request];
        record.first_token.get_or_insert(self.now);
        record.last_token = Some(self.now);
        (self.see)(TokensAt { request, at: self.now, count });
    }
}

/// The figures of one row of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableRow {
    /// Saturated: requests completed per second.
    pub requests_per_s: f64,
    /// Saturated: output tokens per second.
    pub output_tokens_per_s: f64,
    /// One by one: mean of latency / (prompt + output), in milliseconds.
    pub latency_per_token_ms: Option<f64>,
    /// One by one: mean of latency / output, in milliseconds; absent where no token came.
    pub latency_per_output_token_ms: Option<f64>,
}

/// Predicts a row: `one_by_one` requests with nothing else in flight, then `requests` all at once.
///
/// # Errors
/// When the configuration is one that the engine would refuse to start with.
pub fn table(
    config: &EngineConfig,
    cell: CellPlan,
    one_by_one: u32,
    requests: u32,
) -> Result<TableRow, EngineError> {
    table_ending(config, cell, None, one_by_one, requests)
}

/// The lengths of so many requests of a cell whose outputs end by themselves at this mean, if one
/// is given.
pub fn lengths(
    cell: CellPlan,
    mean_output: Option<f64>,
    count: u32,
) -> Box<dyn Iterator<Item = Lengths>> {
    let asked = Lengths::from((cell.input_length, cell.output_length));
    match mean_output {
        None => Box::new(std::iter::repeat(asked)),
        Some(mean) => {
            let outputs = output_lengths(mean, cell.output_length, count.max(1));
            Box::new(
                outputs.into_iter().cycle().map(move |ends_after| Lengths { ends_after, ..asked }),
            )
        }
    }
}

/// [`table`] of outputs that end by themselves at this mean, if one is given.
///
/// # Errors
/// As [`table`].
pub fn table_ending(
    config: &EngineConfig,
    cell: CellPlan,
    mean_output: Option<f64>,
    one_by_one: u32,
    requests: u32,
) -> Result<TableRow, EngineError> {
    let play = |pass: &PassPlan, count: u32| -> Result<_, EngineError> {
        let (mut engine, mut load) = (Engine::new(config.clone())?, load_model(pass, 0));
        Ok(simulate(&mut engine, &mut *load, &mut *lengths(cell, mean_output, count)))
    };
    let bound = Bound::requests(one_by_one);
    let single = play(&PassPlan::OneByOne { bound }, one_by_one)?;
    let saturated = play(&PassPlan::Saturated { requests }, requests)?;
    let end = saturated.iter().map(|record| record.ended).max().unwrap_or(Nanos::ZERO);
    let seconds = end.seconds_after(Nanos::ZERO);
    let tokens: u64 = saturated.iter().map(|record| u64::from(record.output)).sum();
    let per = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
    let completed = saturated.iter().filter(|record| record.finish != Finish::Ignored).count();
    Ok(TableRow {
        requests_per_s: per(completed as f64),
        output_tokens_per_s: per(tokens as f64),
        latency_per_token_ms: mean_ms(&single, |record| record.prompt + record.output),
        latency_per_output_token_ms: mean_ms(&single, |record| record.output),
    })
}

/// Mean over requests with output of latency per what `share` counts.
fn mean_ms(records: &[VirtualRecord], share: impl Fn(&VirtualRecord) -> u32) -> Option<f64> {
    let with_output = records.iter().filter(|record| record.output > 0);
    let latencies: Vec<f64> = with_output
        .map(|record| record.ended.ms_after(record.sent) / f64::from(share(record)))
        .collect();
    let count = latencies.len();
    (count > 0).then(|| latencies.iter().sum::<f64>() / count as f64)
}
