//! The engine: a pure state machine. Requests go in, steps with their durations come out. It knows
//! no clock; whoever steps it decides what time it is.

use std::time::Duration;

use crate::capacity::kv_blocks;
use crate::config::{EngineConfig, Resolved};
use crate::cost::{CostModel, StepShape};
use crate::error::EngineError;
use crate::kv::BlockManager;
use crate::policy::{Batch, Policy, Queues, Sequence, policy};

/// The caller's number of a request; unique among those in the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// Why a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// It has the tokens that were asked for.
    Length,
    /// Prompt and output reached the engine's limit (`--max-model-len`), or the text its end.
    Stop,
    /// It cannot run, or after an eviction cannot run again; usually without a token.
    Ignored,
}

/// What a step did to one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepOutput {
    /// The request.
    pub id: RequestId,
    /// Output tokens after the step.
    pub tokens_so_far: u32,
    /// Why it ended, if it did.
    pub finished: Option<Finish>,
}

/// What a step was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// Prompts were computed; each got its first token.
    Prompt,
    /// Every running sequence got a token.
    Decode,
}

/// One step: outputs appear when its duration is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// How long it takes.
    pub duration: Duration,
    /// What it was.
    pub kind: StepKind,
    /// One entry per request that took part or was ignored.
    pub outputs: Vec<StepOutput>,
}

/// Decode steps in which nothing changed but lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// How many; each gave each running sequence a token.
    pub steps: u32,
    /// How long they took together.
    pub duration: Duration,
}

/// The state of an engine, as its metrics show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Sequences that hold KV blocks.
    pub running: u32,
    /// Sequences that wait.
    pub waiting: u32,
    /// KV blocks held.
    pub kv_blocks_used: u32,
    /// KV blocks there are.
    pub kv_blocks_total: u32,
    /// Evictions so far.
    pub preemptions: u64,
    /// Prompt tokens of requests that got their first token so far.
    pub prompt_tokens: u64,
    /// Output tokens so far.
    pub generation_tokens: u64,
    /// Steps so far.
    pub steps: u64,
}

/// A serving engine.
pub struct Engine {
    config: Resolved,
    cost: CostModel,
    policy: Box<dyn Policy>,
    queues: Queues,
    prompt_tokens: u64,
    generation_tokens: u64,
    steps: u64,
}

impl Engine {
    /// An idle engine.
    ///
    /// # Errors
    /// When the configuration is one that the engine would refuse to start with.
    pub fn new(config: EngineConfig) -> Result<Self, EngineError> {
        let config = config.resolve()?;
        let queues = Queues {
            waiting: std::collections::VecDeque::new(),
            running: Vec::new(),
            kv: BlockManager::new(kv_blocks(&config)?, config.block_size),
            limits: config.limits,
            preemptions: 0,
            decodes_since_prompt: 0,
        };
        Ok(Self {
            cost: CostModel::new(&config),
            policy: policy(&config.profile)?,
            config,
            queues,
            prompt_tokens: 0,
            generation_tokens: 0,
            steps: 0,
        })
    }

    /// What it runs with.
    #[must_use]
    pub fn config(&self) -> &Resolved {
        &self.config
    }

    /// Queues a request. A prompt has at least one token and asks for at least one.
    ///
    /// # Panics
    /// When it does not.
    pub fn add(&mut self, id: RequestId, prompt_tokens: u32, max_tokens: u32) {
        self.add_ending(id, prompt_tokens, max_tokens, max_tokens);
    }

    /// The same for a request whose output ends by itself after so many tokens, if it is not at its
    /// most before.
    ///
    /// # Panics
    /// When one of the numbers is 0.
    pub fn add_ending(&mut self, id: RequestId, prompt: u32, max_tokens: u32, ends_after: u32) {
        let some = prompt > 0 && max_tokens > 0 && ends_after > 0;
        assert!(some, "a request has a prompt, asks for tokens and gets some");
        let (generated, blocks) = (0, 0);
        let sequence = Sequence { id, prompt, generated, max_tokens, ends_after, blocks };
        self.queues.waiting.push_back(sequence);
    }

    /// Drops a request, wherever it is. One that has ended already is not there to drop.
    pub fn abort(&mut self, id: RequestId) {
        self.queues.waiting.retain(|sequence| sequence.id != id);
        if let Some(at) = self.queues.running.iter().position(|sequence| sequence.id == id) {
            let sequence = self.queues.running.remove(at);
            self.queues.kv.release(sequence.blocks);
        }
    }

    /// Does all decode steps in a row that begin within `limit` from now and in which no sequence
    /// comes, ends or is evicted; nothing when the next step is not such a one.
    ///
    /// It is the same as [`Engine::step`] again and again: the same tokens, blocks and nanoseconds.
    pub fn run(&mut self, limit: Duration) -> Option<Run> {
        let max_model_len = self.config.limits.max_model_len;
        let Load { sequences, context, generated, remaining } =
            Load::of(&self.queues.running, max_model_len);
        // The step in which a sequence ends is not one of the run.
        let most = remaining.checked_sub(1).filter(|&steps| steps > 0 && sequences > 0)?;
        let most = self.policy.steady_steps(&self.queues, most);
        if most == 0 {
            return None;
        }
        let limit_ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        let (steps, spent_ns) = self.cost.decode(sequences).run(most, context, generated, limit_ns);
        if steps == 0 {
            return None;
        }
        let Queues { running, kv, .. } = &mut self.queues;
        for sequence in running {
            // Keys and values of the last token are not stored yet.
            kv.append(&mut sequence.blocks, sequence.prompt + sequence.generated + steps - 1);
            sequence.generated += steps;
        }
        self.queues.decodes_since_prompt += steps;
        self.steps += u64::from(steps);
        self.generation_tokens += u64::from(steps) * u64::from(sequences);
        Some(Run { steps, duration: Duration::from_nanos(spent_ns) })
    }

    /// The requests that hold KV blocks.
    pub fn running(&self) -> impl Iterator<Item = RequestId> {
        self.queues.running.iter().map(|sequence| sequence.id)
    }

    /// Does one step; nothing when there is nothing to do.
    pub fn step(&mut self) -> Option<Step> {
        let batch = self.policy.schedule(&mut self.queues)?;
        self.steps += 1;
        let (shape, kind, outputs) = match batch {
            Batch::Prompt { admitted, ignored } => {
                self.queues.decodes_since_prompt = 0;
                let from = self.queues.running.len() - admitted;
                let shape = prompt_shape(&self.queues.running[from..]);
                let finished = Some(Finish::Ignored);
                let mut outputs: Vec<_> = ignored
                    .iter()
                    .map(|Sequence { id, generated, .. }| StepOutput {
                        id: *id,
                        tokens_so_far: *generated,
                        finished,
                    })
                    .collect();
                self.emit(from, &mut outputs);
                (shape, StepKind::Prompt, outputs)
            }
            Batch::Decode => {
                self.queues.decodes_since_prompt += 1;
                let Load { sequences, context, generated, .. } =
                    Load::of(&self.queues.running, self.config.limits.max_model_len);
                let shape = StepShape::Decode { sequences, context, generated };
                let mut outputs = Vec::with_capacity(sequences as usize);
                self.emit(0, &mut outputs);
                (Some(shape), StepKind::Decode, outputs)
            }
        };
        // There is no shape where requests were only ignored.
        let duration = shape.map_or(Duration::ZERO, |shape| self.cost.duration(shape));
        Some(Step { duration, kind, outputs })
    }

    /// Counts and memory use.
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats {
            running: self.queues.running.len() as u32,
            waiting: self.queues.waiting.len() as u32,
            kv_blocks_used: self.queues.kv.used(),
            kv_blocks_total: self.queues.kv.total(),
            preemptions: self.queues.preemptions,
            prompt_tokens: self.prompt_tokens,
            generation_tokens: self.generation_tokens,
            steps: self.steps,
        }
    }

    /// Gives a token to each running sequence from `from` on, and lets go of those that ended.
    fn emit(&mut self, from: usize, outputs: &mut Vec<StepOutput>) {
        let max_model_len = self.config.limits.max_model_len;
        let running = &mut self.queues.running;
        let mut kept = from;
        for at in from..running.len() {
            let sequence = &mut running[at];
            if sequence.generated == 0 {
                self.prompt_tokens += u64::from(sequence.prompt);
            }
            sequence.generated += 1;
            self.generation_tokens += 1;
            let finished = if sequence.generated >= sequence.max_tokens {
                Some(Finish::Length)
            } else if sequence.tokens() > max_model_len || sequence.generated >= sequence.ends_after
            {
                Some(Finish::Stop)
            } else {
                None
            };
            let (id, tokens_so_far) = (sequence.id, sequence.generated);
            outputs.push(StepOutput { id, tokens_so_far, finished });
            if finished.is_some() {
                self.queues.kv.release(sequence.blocks);
            } else {
                if kept < at {
                    running.swap(kept, at);
                }
                kept += 1;
            }
        }
        running.truncate(kept);
    }
}

/// What a decode step has to carry.
struct Load {
    sequences: u32,
    context: u64,
    generated: u64,
    /// Steps until the first of them ends; the most there are where none runs.
    remaining: u32,
}

impl Load {
    fn of(running: &[Sequence], max_model_len: u32) -> Self {
        let sequences = running.len() as u32;
        let none = Self { sequences, context: 0, generated: 0, remaining: u32::MAX };
        running.iter().fold(none, |load, sequence| Self {
            sequences,
            context: load.context + u64::from(sequence.tokens()),
            generated: load.generated + u64::from(sequence.generated),
            remaining: load.remaining.min(sequence.remaining(max_model_len)),
        })
    }
}

fn prompt_shape(prompts: &[Sequence]) -> Option<StepShape> {
    let longest = prompts.iter().map(Sequence::tokens).max()?;
    let squares = prompts.iter().map(|sequence| u64::from(sequence.tokens()).pow(2)).sum();
    Some(StepShape::Prompt { sequences: prompts.len() as u32, longest, squares })
}
