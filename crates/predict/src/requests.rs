//! Creates the requests that `run` would send, for a simulation in virtual time: the same prompts in the same order.
//! Only the lengths and the class of each request are kept. If the engine has a prefix cache, the simulation also gets
//! the hashes of the blocks of each prompt.

use std::{collections::HashMap, sync::Arc};

use inferometer_engine::prefix_cache::block_hashes;
use inferometer_engine::serve::FrontConfig;
use inferometer_engine::{EngineConfig, EngineRequest, Feed, Lengths};
use inferometer_model::source::{Said, Supply};
use inferometer_model::{
    CellPlan, Finding, Outcome, PassPlan, Prompt, Record, Request, Source, Tokenizer,
    TokenizerError, code, load::EndedRequest, record::JobCall, request::Message,
};
use inferometer_plan::{Plan, WorkloadPlan};
use inferometer_store::PassBegin;

use inferometer_run::prompts::{
    self, PassRequests, PromptCursor, PromptTokenizer, Prompts, SourceError, WorkloadHash,
};
use inferometer_run::{Context, RunError};

/// Creates the requests of a prediction.
pub struct Requests {
    prompts: Prompts,
    hash: WorkloadHash,
    cursor: PromptCursor,
    counter: Counter,
}

/// What the record of a request has of the request.
struct Asked {
    lengths: (u32, u32),
    class: Option<Box<str>>,
    job: Option<Box<JobCall>>,
}

/// The requests that were simulated, in the order of their starts.
#[derive(Default)]
pub struct PlayedRequests {
    asked: Vec<Asked>,
    /// Why a request could not be created; `None` if all requests were created.
    error: Option<String>,
}

impl Requests {
    /// Prepares the requests of a plan. Returns `None` for prompts of random words, because all requests of a cell then
    /// have the same lengths, and the simulation needs only lengths. If the requests must also be written to a file,
    /// they are always prepared.
    ///
    /// # Errors
    /// If the workload cannot be opened, or if the settings of the engine are invalid.
    pub fn open(
        plan: &Plan,
        context: &Context,
        config: &EngineConfig,
    ) -> Result<Option<Self>, RunError> {
        if plan.pooling.is_some() {
            return Err(RunError::plan(
                "dialect (--dialect): a prediction is of generated text, not of embeddings or rankings",
            ));
        }
        if plan.media.is_some() {
            return Err(RunError::plan(
                "images, audio: a prediction does not know the cost of pictures and sounds; leave them out",
            ));
        }
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
        let engine = config.resolve().map_err(RunError::plan)?;
        let block_size = engine.prefix_caching.then_some(engine.block_size);
        let prompts = Prompts::open(plan, tokenizer, &context.salt)?;
        let hash = WorkloadHash::of_run(plan, &context.salt, context.dump.as_deref())?;
        let counter = Counter { tokenizer: counts, block_size };
        Ok(Some(Self { prompts, hash, cursor: PromptCursor::default(), counter }))
    }

    /// Findings about the data set.
    pub fn findings(&self) -> Vec<Finding> {
        prompts::data_set_findings(&self.prompts)
    }

    /// The hash over the requests created so far.
    pub fn hash(&self) -> String {
        self.hash.hash()
    }

    /// Skips the prompts of the warm-up that `run` sends before a cell.
    pub fn warm_up(&mut self, plan: &Plan, cell: CellPlan) {
        if let Some(pass) = plan.warmup.pass() {
            self.cursor.next(cell, "warm-up", 1, &pass);
        }
    }

    /// Returns the requests of a pass, and findings about prompts that differ from what was requested.
    ///
    /// # Errors
    /// If the requests cannot be created.
    pub fn of_pass(
        &mut self,
        plan: &Plan,
        begin: &PassBegin,
    ) -> Result<(Stream, Vec<Finding>), RunError> {
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
        let has_jobs = matches!(begin.plan, PassPlan::Conversations(_));
        let (played, ready, jobs) = (PlayedRequests::default(), HashMap::new(), 0);
        Ok((Stream { source, error, counter, played, has_jobs, jobs, ready }, findings))
    }
}

/// Counts prompt tokens in the same way as the embedded engine's API server.
#[derive(Clone)]
struct Counter {
    tokenizer: Arc<dyn Tokenizer>,
    /// The number of tokens in a block of the prefix cache; `None` without a prefix cache.
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
                // The chat template adds the same tokens to every chat, so the ids of these tokens do not matter.
                let mut ids = vec![0; FrontConfig::new("").chat_overhead_tokens as usize];
                for message in messages {
                    ids.extend(self.tokenizer.encode(&contents(message))?);
                }
                Ok(ids)
            }
        }
    }
}

/// The text of a message: a string, or parts with `text`; then calls of tools.
fn contents(message: &Message) -> String {
    let calls = message.get("tool_calls").filter(|calls| calls.is_array());
    let text: String = match message.get("content") {
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(serde_json::Value::Array(parts)) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect()
        }
        _ => String::new(),
    };
    text + &calls.map_or(String::new(), ToString::to_string)
}

/// The requests of a pass, each of which is created when the simulation needs it.
pub struct Stream {
    source: Box<dyn Source>,
    error: SourceError,
    counter: Counter,
    played: PlayedRequests,
    has_jobs: bool,
    /// The number of requests that began a job, or belong to none.
    jobs: u32,
    /// The calls that wait for nothing but their due times.
    ready: HashMap<(u32, u32), Request>,
}

impl Feed for Stream {
    fn next(&mut self) -> Option<EngineRequest> {
        loop {
            match self.source.next() {
                Supply::Request(request) => {
                    let job = self.jobs;
                    self.jobs += 1;
                    let also = self.source.begun(job);
                    self.add(job, also);
                    return self.asked(*request);
                }
                // Another thread creates requests and will soon have one.
                Supply::Wait => std::thread::yield_now(),
                Supply::Exhausted => return None,
            }
        }
    }

    fn call(&mut self, job: u32, call: u32) -> Option<EngineRequest> {
        let request = self.ready.remove(&(job, call))?;
        self.asked(request)
    }

    fn ended(&mut self, EndedRequest { conversation, call, complete }: EndedRequest) {
        if !self.has_jobs {
            return;
        }
        let outcome = if complete { Outcome::Complete } else { Outcome::Malformed };
        let record = Record { outcome, ..Record::default() };
        let follows = self.source.ended((conversation, call), &record, Said::default());
        self.add(conversation, follows.requests);
    }
}

impl Stream {
    fn add(&mut self, job: u32, requests: Vec<(u32, Request)>) {
        let calls = requests.into_iter().map(|(call, request)| ((job, call), request));
        self.ready.extend(calls);
    }

    /// The request as the engine sees it; `None` if its tokens cannot be counted.
    fn asked(&mut self, request: Request) -> Option<EngineRequest> {
        match self.counter.asked(&request) {
            Ok(asked) => {
                let Request { input_tokens, output_tokens, class, job, .. } = request;
                let lengths = (input_tokens, output_tokens);
                self.played.asked.push(Asked { lengths, class, job });
                Some(asked)
            }
            Err(error) => {
                self.played.error = Some(error.to_string());
                None
            }
        }
    }

    /// Returns the requests that were simulated. Call this method after the simulation of the pass.
    ///
    /// # Errors
    /// If requests could not be created.
    pub fn played(self) -> Result<PlayedRequests, RunError> {
        match self.played.error.as_ref().or_else(|| self.error.get()) {
            Some(why) => Err(RunError::Prompts(format!("workload (--workload): {why}"))),
            None => Ok(self.played),
        }
    }
}

impl PlayedRequests {
    /// Requests with these prompt and output lengths.
    pub fn of_lengths(lengths: &[(u32, u32)]) -> Self {
        let asked = lengths.iter().map(|&lengths| Asked { lengths, class: None, job: None });
        Self { asked: asked.collect(), error: None }
    }

    /// Adds the requested lengths and the class of the request to its record.
    pub fn complete(&self, record: Record) -> Record {
        match self.asked.get(record.index as usize) {
            Some(Asked { lengths: (input, output), class, job }) => Record {
                asked_input: *input,
                asked_output: *output,
                class: class.clone().or(record.class),
                job: job.clone(),
                ..record
            },
            None => record,
        }
    }
}
