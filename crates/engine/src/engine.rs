//! The engine: a state machine that receives requests and returns steps with their durations. It reads no clock; the
//! caller adds up the durations.

use std::time::Duration;

use crate::cost::{CostModel, StepShape};
use crate::kv::{BlockManager, WindowShare};
use crate::policy::{Batch, Queues, Scheduler, Sequence, scheduler};
use crate::{
    EngineConfig, EngineError, EngineRequest, Lengths, Memory, NoiseState, RequestId,
    ResolvedConfig, Stats, SteadySteps, Step, StepKind, StepOutput, kv_blocks,
    prefix_cache::Prefix, reach::Reach,
};

mod ahead;
mod heat;
mod work;

use heat::Heat;
use work::{DecodeLoad, StepWork, ignored_outputs, prompt_shape};

/// A simulated serving engine.
pub struct Engine {
    config: ResolvedConfig,
    cost: CostModel,
    reach: Reach,
    noise: Option<NoiseState>,
    heat: Heat,
    /// Whether the engine was idle before its next step.
    is_idle: bool,
    scheduler: &'static dyn Scheduler,
    queues: Queues,
    /// The number of tokens, prompt and output together, at which a sequence ends.
    max_sequence_tokens: u32,
    prompt_tokens: u64,
    generation_tokens: u64,
    steps: u64,
    /// Whether the engine schedules the next step while a step runs.
    is_ahead: bool,
    /// The step that was scheduled while the previous one ran.
    scheduled: Option<Planned>,
}

/// A scheduled step, and the sequences that end with it. These sequences hold their KV blocks until the step ends.
struct Planned {
    step: Step,
    ended: Vec<Sequence>,
}

impl Engine {
    /// An idle engine.
    ///
    /// # Errors
    /// If the engine would refuse to start with this configuration.
    pub fn new(config: EngineConfig) -> Result<Self, EngineError> {
        let given_limit = config.max_model_len;
        let config = config.resolve()?;
        let mut kv = BlockManager::new(kv_blocks(&config)?, config.block_size);
        if let Some(share) = WindowShare::of(&config) {
            kv = kv.with_windows(share);
        }
        if config.prefix_caching {
            kv = kv.with_prefix_cache();
        }
        let scheduler = scheduler(&config.profile)?;
        let needs = config.limits.max_model_len;
        let holds = Memory::of(&config).longest_sequence();
        if scheduler.requires_kv_of_one_sequence() && holds < needs {
            let room = format!("the KV cache has room for {holds} tokens; give at most that many");
            return Err(match given_limit {
                Some(given) => EngineError::invalid("--max-model-len", given, room),
                None => EngineError::invalid(
                    "--max-model-len",
                    "is missing",
                    format!(
                        "sequences of {} have up to {needs} tokens, but {room}",
                        config.model.name
                    ),
                ),
            });
        }
        Ok(Self {
            cost: CostModel::new(&config),
            reach: Reach::of(&config),
            noise: config.noise.map(NoiseState::new),
            heat: Heat::default(),
            is_idle: true,
            max_sequence_tokens: scheduler.max_sequence_tokens(config.limits),
            scheduler,
            queues: Queues::new(kv, config.limits),
            is_ahead: config.async_scheduling,
            scheduled: None,
            config,
            prompt_tokens: 0,
            generation_tokens: 0,
            steps: 0,
        })
    }

    /// The resolved configuration.
    pub fn config(&self) -> &ResolvedConfig {
        &self.config
    }

    /// The engine's scheduler.
    pub fn scheduler(&self) -> &'static dyn Scheduler {
        self.scheduler
    }

    /// The current state of the noise of the step times; `None` without noise.
    pub fn noise(&self) -> Option<&NoiseState> {
        self.noise.as_ref()
    }

    /// Continues with the noise state of a previous engine, if there is one.
    #[must_use]
    pub fn with_noise_of(mut self, before: Option<NoiseState>) -> Self {
        self.noise = before.or(self.noise);
        self
    }

    /// Queues a request, such as `(prompt_tokens, max_tokens)`.
    ///
    /// # Panics
    /// If one of its lengths is 0.
    pub fn add(&mut self, id: RequestId, request: impl Into<EngineRequest>) {
        let EngineRequest { lengths, block_hashes } = request.into();
        let Lengths { prompt, max_tokens, ends_after } = lengths;
        let has_tokens = prompt > 0 && max_tokens > 0 && ends_after > 0;
        assert!(has_tokens, "the prompt and the output must have at least one token");
        let prefix = Prefix::new(block_hashes).filter(|_| self.config.prefix_caching);
        let sequence = Sequence { max_tokens, ends_after, prefix, ..Sequence::new(id, prompt) };
        self.queues.waiting.push_back(sequence);
    }

    /// Removes a request from its queue and from the scheduled step; does nothing if it has already ended.
    pub fn abort(&mut self, id: RequestId) {
        self.queues.waiting.retain(|sequence| sequence.id != id);
        self.abort_scheduled(id);
        if let Some(at) = self.queues.running.iter().position(|sequence| sequence.id == id) {
            let sequence = self.queues.running.remove(at);
            self.queues.release(sequence);
        }
    }

    /// Executes several decode steps in one call: all consecutive steps that begin within `limit` from now, until a
    /// sequence is admitted, ends or is preempted. Returns `None` if already the next step is not such a decode step.
    /// With noise, the result is always `None`, because the noise of each step is sampled separately.
    ///
    /// The result equals that of repeated [`Engine::step`]: the same tokens, blocks and nanoseconds.
    pub fn steady_steps(&mut self, limit: Duration) -> Option<SteadySteps> {
        if self.noise.is_some() {
            return None;
        }
        if self.is_ahead {
            return self.steady_steps_ahead(limit);
        }
        let DecodeLoad { sequences, context, growth, generated, remaining } =
            DecodeLoad::of(&self.queues.running, self.max_sequence_tokens, &self.reach);
        // `step` executes the step in which a sequence ends.
        let most = remaining.checked_sub(1).filter(|&steps| steps > 0 && sequences > 0)?;
        let most = self.scheduler.steady_steps(&self.queues, most);
        if most == 0 {
            return None;
        }
        let limit_ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        let (steps, spent_ns) =
            self.cost.decode(sequences).steps(most, (context, growth), generated, limit_ns);
        if steps == 0 {
            return None;
        }
        self.advance(steps);
        let duration = Duration::from_nanos(spent_ns);
        self.heat.rest(duration);
        Some(SteadySteps { steps, duration })
    }

    /// Tells the engine that it was idle for some time: its card cools down, and its next step has to wake it up.
    pub fn rest(&mut self, time: Duration) {
        self.heat.rest(time);
        self.is_idle |= !time.is_zero();
    }

    /// Gives every running sequence `steps` tokens, one for each decode step.
    fn advance(&mut self, steps: u32) {
        let Queues { running, kv, .. } = &mut self.queues;
        let sequences = running.len() as u64;
        for sequence in running {
            // The keys and values of the last token are not stored yet.
            sequence.computed = sequence.prompt + sequence.generated + steps - 1;
            kv.hold(sequence.prefix.as_deref(), &mut sequence.blocks, (sequence.computed, 1));
            sequence.generated += steps;
        }
        self.queues.decodes_since_prompt += steps;
        self.steps += u64::from(steps);
        self.generation_tokens += u64::from(steps) * sequences;
    }

    /// The ids of the running requests, which hold KV blocks.
    pub fn running(&self) -> impl Iterator<Item = RequestId> {
        self.queues.running.iter().map(|sequence| sequence.id)
    }

    /// Executes one step; `None` if there is nothing to do.
    ///
    /// An engine that schedules ahead has already scheduled this step while the previous step ran, unless it was idle.
    /// In this call, the engine schedules the next step. So a request that arrives later takes part only in the step
    /// after the next.
    pub fn step(&mut self) -> Option<Step> {
        if self.is_ahead {
            return self.step_ahead();
        }
        let Planned { step, ended } = self.plan()?;
        self.release(ended);
        Some(step)
    }

    fn release(&mut self, ended: Vec<Sequence>) {
        for sequence in ended {
            self.queues.release(sequence);
        }
    }

    /// Schedules the next step and updates its sequences.
    fn plan(&mut self) -> Option<Planned> {
        let mut ended = Vec::new();
        let batch = self.scheduler.schedule(&mut self.queues)?;
        self.steps += 1;
        let (shape, kind, outputs) = match batch {
            Batch::Prompt { admitted, ignored } => {
                self.queues.decodes_since_prompt = 0;
                let from = self.queues.running.len() - admitted;
                let shape = prompt_shape(&self.queues.running[from..]);
                let mut outputs = ignored_outputs(&ignored);
                self.emit(from, &mut outputs, &mut ended);
                (shape, StepKind::Prompt, outputs)
            }
            Batch::Mixed { ignored } => {
                let mut outputs = ignored_outputs(&ignored);
                let shape = self.emit(0, &mut outputs, &mut ended);
                let decodes = matches!(shape, Some(StepShape::Decode { .. }));
                (shape, if decodes { StepKind::Decode } else { StepKind::Mixed }, outputs)
            }
            Batch::Decode => {
                self.queues.decodes_since_prompt += 1;
                let DecodeLoad { sequences, context, generated, .. } =
                    DecodeLoad::of(&self.queues.running, self.max_sequence_tokens, &self.reach);
                let shape = StepShape::Decode { sequences, context, generated };
                let mut outputs = Vec::with_capacity(sequences as usize);
                self.emit(0, &mut outputs, &mut ended);
                (Some(shape), StepKind::Decode, outputs)
            }
        };
        // If requests were only ignored, there is no shape, and the step takes no time.
        let duration = shape.map_or(Duration::ZERO, |shape| {
            let waking = std::mem::take(&mut self.is_idle).then(|| self.cost.waking());
            let cost = self.cost.duration(shape) + waking.unwrap_or_default();
            let cost = self.heat.step(&self.cost, shape, cost);
            self.noise.as_mut().map_or(cost, |noise| noise.step(cost))
        });
        Some(Planned { step: Step { duration, kind, outputs }, ended })
    }

    /// Queue lengths, KV use and totals.
    pub fn stats(&self) -> Stats {
        let (ending, refused) = self.ending();
        Stats {
            running: (self.queues.running.len() + ending) as u32,
            waiting: (self.queues.waiting.len() + refused) as u32,
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

    /// Gives a token to each sequence in `running[from..]` whose tokens are all computed. Moves sequences that end to
    /// `ended`. With chunked prefill, this function first counts the scheduled tokens as computed, and returns the work
    /// of the step. Everything is in one loop, because a simulation spends most of its time here.
    fn emit(
        &mut self,
        from: usize,
        outputs: &mut Vec<StepOutput>,
        ended: &mut Vec<Sequence>,
    ) -> Option<StepShape> {
        let Queues { running, kv, .. } = &mut self.queues;
        let chunks_prefill = self.scheduler.chunks_prefill();
        let mut work = StepWork::none(&self.reach);
        let mut remaining = from;
        outputs.reserve(running.len() - from);
        for at in from..running.len() {
            let sequence = &mut running[at];
            if chunks_prefill {
                work.add(sequence);
                sequence.computed += sequence.scheduled;
                if let Some(prefix) = &mut sequence.prefix {
                    kv.cache_computed(prefix, sequence.computed, sequence.blocks);
                }
            }
            if !chunks_prefill || sequence.computed >= sequence.tokens() {
                if sequence.generated == 0 {
                    self.prompt_tokens += u64::from(sequence.prompt);
                }
                sequence.generated += 1;
                self.generation_tokens += 1;
                let finished = sequence.finish(self.max_sequence_tokens);
                let Sequence { id, generated: tokens_so_far, cached, .. } = *sequence;
                outputs.push(StepOutput { id, tokens_so_far, cached, finished });
                if finished.is_some() {
                    let placeholder = Sequence::new(sequence.id, sequence.prompt);
                    ended.push(std::mem::replace(sequence, placeholder));
                    continue;
                }
            }
            if remaining < at {
                running.swap(remaining, at);
            }
            remaining += 1;
        }
        running.truncate(remaining);
        work.shape()
    }
}
