//! The requests that `run` would send, for virtual time: the same prompts in the same order. Only their
//! lengths are kept and, where the engine shares them, the hashes of their beginnings.

use std::sync::Arc;

use inferometer_engine::prefix_cache::block_hashes;
use inferometer_engine::serve::FrontConfig;
use inferometer_engine::{EngineConfig, EngineRequest, Lengths};
use inferometer_load::PassPlan;
use inferometer_model::cell::CellPlan;
use inferometer_model::finding::{Finding, code};
use inferometer_model::record::Record;
use inferometer_model::request::{Message, Prompt, Request};
use inferometer_model::source::{Source, Supply};
use inferometer_model::tokenizer::{Tokenizer, TokenizerError};
use inferometer_plan::{Plan, WorkloadPlan};
use inferometer_store::PassBegin;

use inferometer_run::Context;
use inferometer_run::prompts::{
    self, PassRequests, PromptCursor, PromptTokenizer, Prompts, SourceError, WorkloadHash,
};

use crate::error::PredictError;

/// What makes the requests of a prediction.
pub struct Requests {
    prompts: Prompts,
    hash: WorkloadHash,
    cursor: PromptCursor,
    counter: Counter,
}

/// Simulated requests, in the order of their starts.
#[derive(Default)]
pub struct Played {
    asked: Vec<(u32, u32, Option<Box<str>>)>,
    /// Why there were no more of them, if that was not as planned.
    error: Option<String>,
}

impl Requests {
    /// The requests of a plan; nothing for a grid of random words of exact lengths, where every
    /// request of a cell is as long as the next and nothing but lengths matters.
    ///
    /// # Errors
    /// When the workload cannot be opened.
    pub fn open(
        plan: &Plan,
        context: &Context,
        config: &EngineConfig,
    ) -> Result<Option<Self>, PredictError> {
        if matches!(plan.workload, WorkloadPlan::Random) && context.dump.is_none() {
            return Ok(None);
        }
        prompts::check_dataset(plan)?;
        let named = prompts::named_tokenizer(plan)?;
        let tokenizer = named.unwrap_or_else(|| PromptTokenizer {
            tokenizer: inferometer_workload::embedded(),
            is_models_own: true,
            asks_the_server: false,
        });
        let counts = Arc::clone(&tokenizer.tokenizer);
        let engine = config.resolve().map_err(PredictError::plan)?;
        let block_size = engine.prefix_caching.then_some(engine.block_size);
        let prompts = Prompts::open(plan, tokenizer, &context.salt)?;
        let hash = WorkloadHash::of_run(plan, &context.salt, context.dump.as_deref())?;
        let counter = Counter { tokenizer: counts, block_size };
        Ok(Some(Self { prompts, hash, cursor: PromptCursor::default(), counter }))
    }

    /// What a reader should know of the data.
    pub fn findings(&self) -> Vec<Finding> {
        prompts::data_set_findings(&self.prompts)
    }

    /// The hash over what was made so far.
    pub fn hash(&self) -> String {
        self.hash.hash()
    }

    /// Leaves out what `run` sends before a cell without reporting it.
    pub fn warm_up(&mut self, plan: &Plan, cell: CellPlan) {
        if let Some(bound) = plan.warmup.bound() {
            self.cursor.next(cell, "warm-up", 1, &PassPlan::OneByOne { bound });
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
    ) -> Result<(Stream, Vec<Finding>), PredictError> {
        let label = begin.plan.prompt_label();
        let place = self.cursor.next(begin.cell, &label, begin.repeat, &begin.plan);
        let PassRequests { source, notes, error } =
            prompts::supply(&self.prompts, plan, begin, &place, &mut self.hash)?;
        let label = format!("{}, {}", begin.cell, begin.plan);
        let findings = notes
            .iter()
            .map(|note| Finding::of(code::PROMPTS_NOT_AS_ASKED, note.to_string()).at(&label));
        let findings = findings.collect();
        let counter = self.counter.clone();
        Ok((Stream { source, error, counter, played: Played::default() }, findings))
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
    error: SourceError,
    counter: Counter,
    played: Played,
}

impl Iterator for Stream {
    type Item = EngineRequest;

    fn next(&mut self) -> Option<EngineRequest> {
        loop {
            match self.source.next() {
                Supply::Request(request) => match self.counter.asked(&request) {
                    Ok(asked) => {
                        let Request { input_tokens, output_tokens, class, .. } = *request;
                        self.played.asked.push((input_tokens, output_tokens, class));
                        return Some(asked);
                    }
                    Err(error) => {
                        self.played.error = Some(error.to_string());
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
    pub fn played(self) -> Result<Played, PredictError> {
        match self.played.error.as_ref().or_else(|| self.error.get()) {
            Some(why) => Err(PredictError::requests(format!("workload (--workload): {why}"))),
            None => Ok(self.played),
        }
    }
}

impl Played {
    /// Writes into records what was asked of each, and its class.
    pub fn write_into(self, records: &mut [Record]) {
        for (record, (input, output, class)) in records.iter_mut().zip(self.asked) {
            (record.asked_input, record.asked_output, record.class) = (input, output, class);
        }
    }
}
