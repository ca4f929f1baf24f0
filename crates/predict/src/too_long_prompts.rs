//! Reports the cells whose prompts are too long for the engine, and the limit that the prompts exceed. The simulated
//! engine itself has already rejected these prompts.

use inferometer_engine::Limits;
use inferometer_model::cell::CellPlan;
use inferometer_model::finding::{Finding, code};
use inferometer_model::outcome::Outcome;
use inferometer_model::record::Record;

/// The cells with prompts that are too long for the engine.
#[derive(Default)]
pub struct TooLongPrompts(Vec<Cell>);

struct Cell {
    cell: CellPlan,
    without_room: usize,
    requests: usize,
    /// The tokens of the shortest prompt that did not fit.
    shortest: u32,
    limits: Limits,
}

impl TooLongPrompts {
    /// Adds the records of a pass.
    pub fn add(&mut self, cell: CellPlan, limits: Limits, records: impl Iterator<Item = Record>) {
        let mut requests = 0;
        let rejected = records
            .inspect(|_| requests += 1)
            .filter(|record| matches!(record.outcome, Outcome::Rejected { .. }));
        let prompts: Vec<u32> = rejected.filter_map(|record| record.usage.prompt).collect();
        let Some(&shortest) = prompts.iter().min() else { return };
        let without_room = prompts.len();
        match self.0.iter_mut().find(|known| known.cell == cell) {
            Some(known) => {
                known.without_room += without_room;
                known.requests += requests;
                known.shortest = known.shortest.min(shortest);
            }
            None => self.0.push(Cell { cell, without_room, requests, shortest, limits }),
        }
    }

    /// Returns one finding for each cell that has prompts without output.
    pub fn findings(&self) -> impl Iterator<Item = Finding> {
        self.0.iter().map(|Cell { cell, without_room, requests, shortest, limits }| {
            let most = limits.max_model_len;
            let why = if *shortest >= most {
                format!("prompt and output together have at most {most} tokens (--max-model-len)")
            } else {
                format!(
                    "they do not fit into the KV cache or into a step of {} tokens",
                    limits.max_num_batched_tokens
                )
            };
            let message = match without_room == requests {
                true => format!(
                    "no request can be served: all {requests} prompts get no output, because {why}; the \
                        shortest prompt has {shortest} tokens"
                ),
                false => format!(
                    "{without_room} of {requests} prompts get no output, because {why}; the shortest of \
                        them has {shortest} tokens"
                ),
            };
            Finding::of(code::PROMPTS_IGNORED, message).at(cell.to_string())
        })
    }
}
