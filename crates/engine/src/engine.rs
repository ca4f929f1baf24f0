//! The engine: a pure state machine. Requests go in, steps with their durations come out. It knows
//! no clock; whoever steps it decides what time it is.

use std::time::Duration;

use crate::capacity::kv_blocks;
use crate::config::{EngineConfig, Resolved};
use crate::cost::{CostModel, StepShape};
use crate::error::EngineError;
use crate::kv::BlockManager;
use crate::policy::{Batch, Policy, Queues, Scheduler, Sequence, scheduler};
use crate::prefix_cache::Prefix;

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
    /// Parts of prompts were computed beside sequences that each got a token.
    Mixed,
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
    /// Tokens of prompts that were looked for in memory so far.
    pub prefix_queries: u64,
    /// Those that were found there, and not computed again.
    pub prefix_hits: u64,
}

/// A serving engine.
pub struct Engine {
    config: Resolved,
    cost: CostModel,
    policy: Box<dyn Policy>,
    queues: Queues,
    /// Tokens, prompt and output, with which a sequence ends.
    most_tokens: u32,
    /// Prompts may be computed in parts.
    in_parts: bool,
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
        let mut kv = BlockManager::new(kv_blocks(&config)?, config.block_size);
        if config.prefix_caching {
            kv = kv.with_prefix_cache();
        }
        let scheduler = scheduler(&config.profile)?;
        let policy = scheduler.policy();
        let (holds, needs) = (kv.total() * config.block_size, config.limits.max_model_len);
        // It does not start where a sequence could not run even alone.
        if scheduler == Scheduler::VllmV1 && holds < needs {
            return Err(EngineError::Invalid {
                flag: "--max-model-len",
                found: needs.to_string(),
                expected: format!("the KV cache holds {holds} tokens; take no more than that"),
            });
        }
        Ok(Self {
            in_parts: scheduler == Scheduler::VllmV1,
            cost: CostModel::new(&config),
            most_tokens: policy.most_tokens(config.limits),
            policy,
            queues: Queues::new(kv, config.limits),
            config,
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
        self.add_known(id, prompt, max_tokens, ends_after, Vec::new());
    }

    /// The same for a prompt whose whole blocks are known by these hashes
    /// ([`crate::prefix_cache::block_hashes`]), for engines that share them.
    ///
    /// # Panics
    /// When one of the numbers is 0.
    pub fn add_known(
        &mut self,
        id: RequestId,
        prompt: u32,
        max_tokens: u32,
        ends_after: u32,
        blocks: Vec<u64>,
    ) {
        let some = prompt > 0 && max_tokens > 0 && ends_after > 0;
        assert!(some, "a request has a prompt, asks for tokens and gets some");
        let prefix = Prefix::new(blocks).filter(|_| self.config.prefix_caching);
        let sequence = Sequence { max_tokens, ends_after, prefix, ..Sequence::new(id, prompt) };
        self.queues.waiting.push_back(sequence);
    }

    /// Drops a request, wherever it is. One that has ended already is not there to drop.
    pub fn abort(&mut self, id: RequestId) {
        self.queues.waiting.retain(|sequence| sequence.id != id);
        if let Some(at) = self.queues.running.iter().position(|sequence| sequence.id == id) {
            let sequence = self.queues.running.remove(at);
            self.queues.release(sequence);
        }
    }

    /// Does all decode steps in a row that begin within `limit` from now and in which no sequence
    /// comes, ends or is evicted; nothing when the next step is not such a one.
    ///
    /// It is the same as [`Engine::step`] again and again: the same tokens, blocks and nanoseconds.
    pub fn run(&mut self, limit: Duration) -> Option<Run> {
        let Load { sequences, context, generated, remaining } =
            Load::of(&self.queues.running, self.most_tokens);
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
            sequence.computed = sequence.prompt + sequence.generated + steps - 1;
            kv.append(&mut sequence.blocks, sequence.computed);
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
                let mut outputs = endings(&ignored);
                self.emit(from, &mut outputs);
                (shape, StepKind::Prompt, outputs)
            }
            Batch::Mixed { ignored } => {
                let shape = mixed_shape(&self.queues.running);
                let decodes = matches!(shape, Some(StepShape::Decode { .. }));
                let mut outputs = endings(&ignored);
                self.compute();
                self.emit(0, &mut outputs);
                (shape, if decodes { StepKind::Decode } else { StepKind::Mixed }, outputs)
            }
            Batch::Decode => {
                self.queues.decodes_since_prompt += 1;
                let Load { sequences, context, generated, .. } =
                    Load::of(&self.queues.running, self.most_tokens);
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
            prefix_queries: self.queues.prefix_queries,
            prefix_hits: self.queues.prefix_hits,
        }
    }

    /// Does what running sequences were scheduled for.
    fn compute(&mut self) {
        let Queues { running, kv, .. } = &mut self.queues;
        for sequence in running {
            sequence.computed += sequence.scheduled;
            if let Some(prefix) = &mut sequence.prefix {
                kv.offer(prefix, sequence.computed);
            }
        }
    }

    /// Gives a token to each running sequence from `from` on whose tokens are all computed, and lets
    /// go of those that ended.
    fn emit(&mut self, from: usize, outputs: &mut Vec<StepOutput>) {
        let running = &mut self.queues.running;
        let in_parts = self.in_parts;
        let mut ended = Vec::new();
        let mut kept = from;
        for at in from..running.len() {
            let sequence = &mut running[at];
            if in_parts && sequence.computed < sequence.tokens() {
                if kept < at {
                    running.swap(kept, at);
                }
                kept += 1;
                continue;
            }
            if sequence.generated == 0 {
                self.prompt_tokens += u64::from(sequence.prompt);
            }
            sequence.generated += 1;
            self.generation_tokens += 1;
            let finished = if sequence.generated >= sequence.max_tokens {
                Some(Finish::Length)
            } else if sequence.tokens() >= self.most_tokens
                || sequence.generated >= sequence.ends_after
            {
                Some(Finish::Stop)
            } else {
                None
            };
            let (id, tokens_so_far) = (sequence.id, sequence.generated);
            outputs.push(StepOutput { id, tokens_so_far, finished });
            if finished.is_some() {
                let gone = Sequence::new(sequence.id, sequence.prompt);
                ended.push(std::mem::replace(sequence, gone));
            } else {
                if kept < at {
                    running.swap(kept, at);
                }
                kept += 1;
            }
        }
        running.truncate(kept);
        for sequence in ended {
            self.queues.release(sequence);
        }
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
    fn of(running: &[Sequence], most_tokens: u32) -> Self {
        let sequences = running.len() as u32;
        let none = Self { sequences, context: 0, generated: 0, remaining: u32::MAX };
        running.iter().fold(none, |load, sequence| Self {
            sequences,
            context: load.context + u64::from(sequence.tokens()),
            generated: load.generated + u64::from(sequence.generated),
            remaining: load.remaining.min(sequence.remaining(most_tokens)),
        })
    }
}

/// What is told of requests that can never run.
fn endings(ignored: &[Sequence]) -> Vec<StepOutput> {
    let ending = |sequence: &Sequence| StepOutput {
        id: sequence.id,
        tokens_so_far: sequence.generated,
        finished: Some(Finish::Ignored),
    };
    ignored.iter().map(ending).collect()
}

/// A step of what running sequences were scheduled for: a decode step where each gets a token.
fn mixed_shape(running: &[Sequence]) -> Option<StepShape> {
    let (mut sequences, mut rows, mut sampled) = (0, 0, 0);
    let (mut context, mut squares, mut generated) = (0_u64, 0_u64, 0_u64);
    for sequence in running.iter().filter(|sequence| sequence.scheduled > 0) {
        let until = sequence.computed + sequence.scheduled;
        sequences += 1;
        rows += sequence.scheduled;
        sampled += u32::from(until == sequence.tokens());
        generated += u64::from(sequence.generated);
        if sequence.scheduled == 1 {
            context += u64::from(until);
        } else {
            context += u64::from(sequence.computed);
            squares += u64::from(until).pow(2) - u64::from(sequence.computed).pow(2);
        }
    }
    match sequences {
        0 => None,
        _ if rows == sequences => Some(StepShape::Decode { sequences, context, generated }),
        _ => Some(StepShape::Mixed { sequences, rows, sampled, context, squares }),
    }
}

fn prompt_shape(prompts: &[Sequence]) -> Option<StepShape> {
    let longest = prompts.iter().map(Sequence::tokens).max()?;
    let squares = prompts.iter().map(|sequence| u64::from(sequence.tokens()).pow(2)).sum();
    Some(StepShape::Prompt { sequences: prompts.len() as u32, longest, squares })
}
