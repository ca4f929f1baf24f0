//! Reports the cells whose prompts are too long for the engine, and the limit that the prompts exceed. The simulated
//! engine itself has already rejected these prompts.

use inferometer_engine::Limits;
use inferometer_model::{CellPlan, Finding, Outcome, Record, code};

/// The cells, with the prompts that are too long for the engine.
#[derive(Default)]
pub struct TooLongPrompts(Vec<Cell>);

struct Cell {
    cell: CellPlan,
    without_room: usize,
    requests: usize,
    /// The tokens of the shortest prompt that did not fit; `None` if all prompts fit.
    shortest: Option<u32>,
    limits: Limits,
}

impl TooLongPrompts {
    /// Adds a pass with this number of requests. `records` must contain at least the records of all rejected requests.
    pub fn add(
        &mut self,
        cell: CellPlan,
        limits: Limits,
        requests: usize,
        records: impl Iterator<Item = Record>,
    ) {
        let rejected = records.filter(|record| matches!(record.outcome, Outcome::Rejected { .. }));
        let prompts: Vec<u32> = rejected.filter_map(|record| record.usage.prompt).collect();
        let (without_room, shortest) = (prompts.len(), prompts.into_iter().min());
        match self.0.iter_mut().find(|known| known.cell == cell) {
            Some(known) => {
                known.without_room += without_room;
                known.requests += requests;
                known.shortest = known.shortest.into_iter().chain(shortest).min();
            }
            None => self.0.push(Cell { cell, without_room, requests, shortest, limits }),
        }
    }

    /// Returns one finding for each cell that has prompts without output.
    pub fn findings(&self) -> impl Iterator<Item = Finding> {
        self.0.iter().filter_map(|Cell { cell, without_room, requests, shortest, limits }| {
            let shortest = (*shortest)?;
            let most = limits.max_model_len;
            let why = if shortest >= most {
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
            Some(Finding::of(code::PROMPTS_IGNORED, message).at(cell.to_string()))
        })
    }
}

#[cfg(test)]
mod tests {
    use inferometer_engine::EngineConfig;
    use inferometer_model::time::Nanos;

    use super::*;

    #[test]
    fn no_request_can_be_served_only_if_every_pass_of_the_cell_has_no_served_request() {
        let limits = EngineConfig::of("qwen-14b", None).unwrap().resolve().unwrap().limits;
        let rejected = |_| {
            let mut record = Record::planned(0, 0, Nanos(0));
            record.outcome = Outcome::Rejected { status: 400 };
            record.usage.prompt = Some(9_000);
            record
        };
        let cell = CellPlan { input_length: 9_000, output_length: 1 };
        // Each pass: the number of its requests, and how many of them were rejected.
        for (passes, words) in [
            (&[(3, 3)][..], Some("no request can be served: all 3 prompts")),
            (&[(3, 3), (2, 2)], Some("no request can be served: all 5 prompts")),
            (&[(3, 3), (2, 0)], Some("3 of 5 prompts get no output")),
            (&[(2, 0), (3, 3)], Some("3 of 5 prompts get no output")),
            (&[(2, 0)], None),
        ] {
            let mut found = TooLongPrompts::default();
            for &(requests, count) in passes {
                found.add(cell, limits, requests, (0..count).map(rejected));
            }
            let told: Vec<String> = found.findings().map(|finding| finding.message).collect();
            assert_eq!(told.len(), usize::from(words.is_some()), "{told:?}");
            assert!(words.is_none_or(|words| told[0].starts_with(words)), "{told:?}");
        }
    }
}
