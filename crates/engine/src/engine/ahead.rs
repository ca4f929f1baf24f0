//! Scheduling ahead (`--async-scheduling`): the engine schedules the next step while a step runs. A request that
//! arrives during a step waits for the end of this step and for the whole next step.

use std::time::Duration;

use super::{Engine, Planned, work::DecodeLoad};
use crate::{Finish, RequestId, SteadySteps, Step, StepKind};

impl Engine {
    pub(super) fn step_ahead(&mut self) -> Option<Step> {
        let Planned { step, ended } = match self.scheduled.take() {
            Some(planned) => planned,
            None => self.plan()?,
        };
        // Sequences that end with this step still count as running while the next step is scheduled.
        self.queues.leaving = ended.len();
        self.scheduled = self.plan();
        self.queues.leaving = 0;
        self.release(ended);
        Some(step)
    }

    /// Counts the requests that end with the scheduled step and are no longer in a queue. Returns (requests with
    /// output, ignored requests). Requests with output hold KV blocks until the step ends.
    pub(super) fn ending(&self) -> (usize, usize) {
        self.scheduled.as_ref().map_or((0, 0), |Planned { step, ended }| {
            let all = step.outputs.iter().filter(|output| output.finished.is_some()).count();
            (ended.len(), all - ended.len())
        })
    }

    /// Removes a request from the scheduled step.
    pub(super) fn abort_scheduled(&mut self, id: RequestId) {
        let Some(Planned { step, ended }) = &mut self.scheduled else { return };
        step.outputs.retain(|output| {
            let is_kept = output.id != id;
            // The step no longer generates a token for this request. An ignored prompt never had one.
            let loses_token = !is_kept && output.finished != Some(Finish::Ignored);
            self.generation_tokens -= u64::from(loses_token);
            is_kept
        });
        if let Some(at) = ended.iter().position(|sequence| sequence.id == id) {
            let sequence = ended.remove(at);
            self.queues.release(sequence);
        }
    }

    /// Like `steady_steps`, but for an engine that schedules ahead. At the end, one further decode step of the same
    /// sequences is scheduled.
    pub(super) fn steady_steps_ahead(&mut self, limit: Duration) -> Option<SteadySteps> {
        let Planned { step, ended } = self.scheduled.as_ref()?;
        let running = self.queues.running.len();
        // `step` executes a step with a first token, because the instant of a first token must be recorded.
        let is_steady = step.kind == StepKind::Decode
            && ended.is_empty()
            && step.outputs.len() == running
            && step.outputs.iter().all(|output| output.tokens_so_far > 1);
        let limit_ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        let first_ns = step.duration.as_nanos() as u64;
        if !is_steady || limit_ns == 0 {
            return None;
        }
        let DecodeLoad { sequences, context, growth, generated, remaining } =
            DecodeLoad::of(&self.queues.running, self.max_sequence_tokens, &self.reach);
        let most = remaining.checked_sub(1).filter(|&steps| steps > 0 && sequences > 0)?;
        let most = self.scheduler.steady_steps(&self.queues, most).checked_sub(1)?;
        // Execute the scheduled step and all further steps that begin within the limit, and schedule one more.
        let decode = self.cost.decode(sequences);
        let left_ns = limit_ns.saturating_sub(first_ns);
        let (more, more_ns) = decode.steps(most, (context, growth), generated, left_ns);
        let steps = more + 1;
        let context = context + u64::from(more) * growth;
        let generated = generated + u64::from(more) * u64::from(sequences);
        let (_, last_ns) = decode.steps(1, (context, growth), generated, u64::MAX);
        self.advance(steps);
        self.heat.rest(Duration::from_nanos(more_ns + last_ns));
        let planned = self.scheduled.as_mut()?;
        planned.step.duration = Duration::from_nanos(last_ns);
        for output in &mut planned.step.outputs {
            output.tokens_so_far += steps;
        }
        Some(SteadySteps { steps, duration: Duration::from_nanos(first_ns + more_ns) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EngineConfig;
    use crate::profile::profile;

    #[test]
    fn an_abort_of_a_prompt_that_the_scheduled_step_ignores_takes_away_no_generated_token() {
        let mut config = EngineConfig::of_model("qwen-14b").unwrap();
        config.profile = profile("vllm-0.23-h100-sxm").unwrap();
        config.max_model_len = Some(900);
        let mut engine = Engine::new(config).unwrap();
        let (short, too_long) = (RequestId(0), RequestId(1));
        engine.add(short, (20, 50));
        engine.step().expect("the step of the short prompt");
        engine.add(too_long, (900, 1));
        engine
            .step()
            .expect("a decode step, during which the step with the long prompt is scheduled");
        let before = engine.stats();
        engine.abort(too_long);
        assert_eq!(engine.stats().generation_tokens, before.generation_tokens);
        assert_eq!((before.waiting, engine.stats().waiting), (1, 0));
        let outputs = engine.step().expect("a decode step").outputs;
        assert_eq!(outputs.iter().map(|output| output.id).collect::<Vec<_>>(), [short]);
    }
}
