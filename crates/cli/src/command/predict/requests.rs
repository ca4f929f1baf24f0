//! The requests that `run` would send, for virtual time: the same prompts in the same order, of which
//! only lengths and, where the engine shares them, beginnings are kept. It sends nothing.

use std::sync::Arc;

use inferometer_engine::prefix_cache::block_hashes;
use inferometer_engine::serve::FrontConfig;
use inferometer_engine::{EngineConfig, EngineRequest, Lengths};
use inferometer_load::PassPlan;
use inferometer_model::cell::CellPlan;
use inferometer_model::finding::{Finding, Severity};
use inferometer_model::record::Record;
use inferometer_model::request::{Message, Prompt, Request};
use inferometer_model::source::{Source, Supply};
use inferometer_model::tokenizer::{Tokenizer, TokenizerError};
use inferometer_plan::{Plan, WorkloadPlan};
use inferometer_store::PassBegin;

use crate::exit::Failure;
use crate::run::Resolved;
use crate::run::identity::Identity;
use crate::run::places::Places;
use crate::run::prompts::{self, Prompts, Shaper, Supplied};

/// What makes the requests of a prediction.
pub struct Requests {
    prompts: Prompts,
    identity: Identity,
    places: Places,
    counter: Counter,
}

/// Requests that were played, in the order of their starts.
#[derive(Default)]
pub struct Made {
    asked: Vec<(u32, u32, Option<Box<str>>)>,
    /// Why there were no more of them, if that was not as planned.
    trouble: Option<String>,
}

impl Requests {
    /// The requests of a plan; nothing for a grid of random words of exact lengths, where every
    /// request of a cell is as long as the next and nothing but lengths matters.
    ///
    /// # Errors
    /// When the workload cannot be opened.
    pub fn open(resolved: &Resolved, config: &EngineConfig) -> Result<Option<Self>, Failure> {
        let plan = &resolved.plan;
        if matches!(plan.workload, WorkloadPlan::Random) && resolved.dump.is_none() {
            return Ok(None);
        }
        prompts::check_dataset(plan)?;
        let named = prompts::named_tokenizer(plan)?;
        let shaper = named.unwrap_or_else(|| Shaper {
            tokenizer: inferometer_workload::embedded(),
            is_models_own: true,
            asks_the_server: false,
        });
        let tokenizer = Arc::clone(&shaper.tokenizer);
        let engine = config.resolve().map_err(Failure::usage)?;
        let block_size = engine.prefix_caching.then_some(engine.block_size);
        let prompts = Prompts::open(plan, shaper, &resolved.salt)?;
        let identity = Identity::of_run(plan, &resolved.salt, resolved.dump.as_deref())?;
        let counter = Counter { tokenizer, block_size };
        Ok(Some(Self { prompts, identity, places: Places::default(), counter }))
    }

    /// What a reader should know of the data.
    pub fn findings(&self) -> Vec<Finding> {
        prompts::data_set_findings(&self.prompts)
    }

    /// The identity of what was made so far.
    pub fn hash(&self) -> String {
        self.identity.hash()
    }

    /// Leaves out what `run` sends before a cell without reporting it.
    pub fn warm_up(&mut self, plan: &Plan, cell: CellPlan) {
        if let Some(bound) = plan.warmup.bound() {
            self.places.next(cell, "warm-up", 1, &PassPlan::OneByOne { bound });
        }
    }

    /// The requests of a pass, and what is not as asked for.
    ///
    /// # Errors
    /// When they cannot be made.
    pub fn of_pass(
        &mut self,
        plan: &Plan,
        begin: &PassBegin,
    ) -> Result<(Stream, Vec<Finding>), Failure> {
        let label = begin.plan.prompt_label();
        let place = self.places.next(begin.cell, &label, begin.repeat, &begin.plan);
        let Supplied { source, notes, trouble } =
            prompts::supply(&self.prompts, plan, begin, &place, &mut self.identity)?;
        let label = format!("{}, {}", begin.cell, begin.plan);
        let findings = notes.iter().map(|note| {
            Finding::new("prompts_not_as_asked", Severity::Note, note.to_string()).at(&label)
        });
        let findings = findings.collect();
        let counter = self.counter.clone();
        Ok((Stream { source, trouble, counter, made: Made::default() }, findings))
    }
}

/// Counts prompts as the embedded engine's front does.
#[derive(Clone)]
struct Counter {
    tokenizer: Arc<dyn Tokenizer>,
    /// Tokens of a block, where beginnings of prompts are shared.
    block_size: Option<u32>,
}

impl Counter {
    fn asked(&self, request: &Request) -> Result<EngineRequest, TokenizerError> {
        let (prompt, blocks) = match (self.block_size, request.counted_tokens) {
            (None, Some(counted)) => (counted, Vec::new()),
            (size, _) => {
                let ids = self.ids(&request.prompt)?;
                (ids.len() as u32, size.map_or_else(Vec::new, |size| block_hashes(&ids, size)))
            }
        };
        let lengths = Lengths::from((prompt.max(1), request.output_tokens.max(1)));
        Ok(EngineRequest { lengths, block_hashes: blocks })
    }

    fn ids(&self, prompt: &Prompt) -> Result<Vec<u32>, TokenizerError> {
        match prompt {
            Prompt::TokenIds(ids) => Ok(ids.clone()),
            Prompt::Text(text) => self.tokenizer.encode(text),
            Prompt::Messages(messages) => {
                // What the template adds is the same in every chat.
                let mut ids = vec![0; FrontConfig::new("").chat_overhead_tokens as usize];
                for message in messages {
                    ids.extend(self.tokenizer.encode(&contents(message))?);
                }
                Ok(ids)
            }
        }
    }
}

/// The text of a message: a string, or parts with `text`.
fn contents(message: &Message) -> String {
    match message.get("content") {
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(serde_json::Value::Array(parts)) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect()
        }
        _ => String::new(),
    }
}

/// The requests of a pass as the engine takes them up.
pub struct Stream {
    source: Box<dyn Source>,
    trouble: prompts::Trouble,
    counter: Counter,
    made: Made,
}

impl Iterator for Stream {
    type Item = EngineRequest;

    fn next(&mut self) -> Option<EngineRequest> {
        loop {
            match self.source.next() {
                Supply::Request(request) => match self.counter.asked(&request) {
                    Ok(asked) => {
                        let Request { input_tokens, output_tokens, class, .. } = *request;
                        self.made.asked.push((input_tokens, output_tokens, class));
                        return Some(asked);
                    }
                    Err(error) => {
                        self.made.trouble = Some(error.to_string());
                        return None;
                    }
                },
                // They are made on another thread, which is about to have one.
                Supply::Wait => std::thread::yield_now(),
                Supply::Exhausted => return None,
            }
        }
    }
}

impl Stream {
    /// What was taken up, once the pass is over.
    ///
    /// # Errors
    /// When requests could not be made.
    pub fn made(self) -> Result<Made, Failure> {
        match self.made.trouble.as_ref().or_else(|| self.trouble.get()) {
            Some(told) => Err(Failure::not_carried_out(format!("workload (--workload): {told}"))),
            None => Ok(self.made),
        }
    }
}

impl Made {
    /// Writes into records what was asked of each, and its class.
    pub fn tell(self, records: &mut [Record]) {
        for (record, (input, output, class)) in records.iter_mut().zip(self.asked) {
            (record.asked_input, record.asked_output, record.class) = (input, output, class);
        }
    }
}
