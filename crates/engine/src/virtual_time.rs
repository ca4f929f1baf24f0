//! The engine in virtual time: a load model is played against it without waiting for anything.

use std::collections::BTreeMap;

use inferometer_core::load::{AtOnce, Closed, Due, LoadModel};
use inferometer_core::plan::{Bound, CellPlan};
use inferometer_core::time::Nanos;

use crate::config::EngineConfig;
use crate::engine::{Engine, Finish, RequestId};
use crate::error::EngineError;

/// One request in virtual time; instants are offsets from the start of the pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VirtualRecord {
    /// When it should start.
    pub due: Nanos,
    /// When it was sent: at once when due.
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

/// Plays a load model against an idle engine until neither has anything left. `source` gives prompt
/// and output lengths in tokens; when it is exhausted, no further request starts.
///
/// What is due before a step begins takes part in it. Records are in the order of their starts.
pub fn simulate(
    engine: &mut Engine,
    load: &mut dyn LoadModel,
    source: &mut dyn Iterator<Item = (u32, u32)>,
) -> Vec<VirtualRecord> {
    let mut now = Nanos::ZERO;
    let mut started: u64 = 0;
    let mut in_flight = BTreeMap::new();
    let mut done = Vec::new();
    loop {
        let wait = loop {
            let due = match load.next_due() {
                Due::At(due) if due > now => break Some(due),
                Due::At(due) => due,
                Due::AfterEnd | Due::Never => break None,
            };
            let Some((prompt, output)) = source.next() else { break None };
            load.take();
            let id = RequestId(started);
            started += 1;
            engine.add(id, prompt, output);
            in_flight.insert(id, Open { due, prompt, first_token: None, last_token: None });
        };
        let Some(step) = engine.step() else {
            // An idle engine waits for the next arrival, or there is none.
            match wait {
                Some(due) => now = due,
                None => break,
            }
            continue;
        };
        now = now + step.duration;
        for output in step.outputs {
            let open = in_flight.get_mut(&output.id).expect("invariant: outputs are of requests");
            if output.finished != Some(Finish::Ignored) {
                open.first_token.get_or_insert(now);
                open.last_token = Some(now);
            }
            if let Some(finish) = output.finished {
                let open = in_flight.remove(&output.id).expect("invariant: it was just there");
                done.push((output.id, open.close(now, output.tokens_so_far, finish)));
                load.ended(now);
            }
        }
    }
    done.sort_by_key(|(id, _)| *id);
    done.into_iter().map(|(_, record)| record).collect()
}

struct Open {
    due: Nanos,
    prompt: u32,
    first_token: Option<Nanos>,
    last_token: Option<Nanos>,
}

impl Open {
    fn close(self, now: Nanos, output: u32, finish: Finish) -> VirtualRecord {
        let Self { due, prompt, first_token, last_token } = self;
        VirtualRecord {
            due,
            sent: due,
            first_token,
            last_token,
            ended: now,
            prompt,
            output,
            finish,
        }
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
    let lengths = (cell.input_length, cell.output_length);
    let pass = |load: &mut dyn LoadModel| -> Result<_, EngineError> {
        Ok(simulate(&mut Engine::new(config.clone())?, load, &mut std::iter::repeat(lengths)))
    };
    let single = pass(&mut Closed::new(1, Bound::requests(one_by_one)))?;
    let saturated = pass(&mut AtOnce::new(requests))?;
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
