//! The workload `agents`: a trace of agents, played as jobs. A call is due its gap after the end of the calls that it
//! waits for. [`crate::jobs`] reads the trace, `shape` finds its jobs, `words` and `messages` make prompts, and `source`
//! gives each call when it may start.

mod ahead;
mod messages;
mod open;
mod player;
mod shape;
mod shared;
mod source;
mod words;

use std::sync::Arc;

use inferometer_model::{CellPlan, Finding, Nanos, PassPlan, code, load::ReplayPlan};
use inferometer_plan::{AgentsPlan, Answers};

use crate::jobs::{Call, Trace};
use crate::workload::{WorkloadDefinition, longest_beyond, rows_left_out};
use crate::{
    JobsNeeded, PassJobs, PromptContext, PromptForm, RequestBatch, RequestsNeeded, TooLong,
    Workload, WorkloadError,
};

use player::Player;
use shape::Shape;

/// A trace that can be played.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    trace: Trace,
    shape: Shape,
    order: words::Order,
    /// Whether prompts are the recorded messages, because the trace does not state their lengths.
    has_messages: bool,
    /// The length of each prompt in tokens.
    prompts: Vec<u32>,
    /// The length of each answer in tokens; empty until the tokenizer is known.
    outputs: Vec<u32>,
    /// What each prompt has in common with earlier ones: tokens, and the first call with them. Empty for messages.
    shared: Vec<(u32, u32)>,
}

impl Recorded {
    fn prompt(&self, at: u32) -> u32 {
        self.prompts[at as usize]
    }

    fn output(&self, at: u32) -> u32 {
        self.outputs[at as usize]
    }

    /// The call before this one in its session, and how many tokens of its prompt and answer begin this prompt. If the
    /// trace does not say how many, all of them, if the prompt is long enough.
    fn kept(&self, at: u32) -> Option<(u32, u32)> {
        let call = &self.trace.calls[at as usize];
        let is_before = |parent: &&u32| self.trace.calls[**parent as usize].session == call.session;
        let before = *call.parents.iter().rfind(is_before)?;
        let all = self.prompt(before).saturating_add(self.output(before));
        let assumed = if self.prompt(at) > all { all } else { 0 };
        Some((before, call.keeps.get().unwrap_or(assumed).min(all).min(self.prompt(at))))
    }
}

impl WorkloadDefinition for AgentsPlan {
    fn open(&self, context: &PromptContext) -> Result<Arc<dyn Workload>, WorkloadError> {
        let recorded = Arc::new(open::open(self, context.tokenizer.as_ref())?);
        Ok(Arc::new(Agents { recorded, plan: self.clone() }))
    }

    fn prepare(&self, passes: &mut [PassPlan], _seed: u64) -> Result<(), WorkloadError> {
        let recorded = open::shaped(self)?;
        let Recorded { shape, trace, .. } = &*recorded;
        let count = self.jobs.unwrap_or(shape.jobs.len() as u32) as usize;
        for pass in passes.iter_mut().filter_map(PassPlan::jobs_mut) {
            pass.write((0..count).map(|number| shape.steps(trace, number % shape.jobs.len())));
            if let PassPlan::Replay(ReplayPlan { recording, .. }) = &mut *pass.begin
                && recording.file == self.dataset
            {
                recording.write(begins(shape, count)?);
            }
        }
        Ok(())
    }

    fn has_messages(&self) -> bool {
        open::shaped(self).is_ok_and(|recorded| recorded.has_messages)
    }

    fn has_recorded_times(&self) -> bool {
        open::shaped(self).is_ok_and(|recorded| {
            let Recorded { trace, shape, .. } = &*recorded;
            (0..trace.calls.len() as u32).all(|at| shape.call(trace, at).recorded_ns.is_some())
        })
    }
}

/// The recorded begins of the first jobs, as offsets from the first one.
fn begins(shape: &Shape, count: usize) -> Result<Vec<Nanos>, WorkloadError> {
    let begins = shape.jobs.iter().take(count).map(|job| job.start_ns);
    let begins: Option<Vec<i64>> = begins.collect();
    let begins = begins.ok_or_else(|| {
        WorkloadError::Agents("its jobs have no times; give --concurrency or --rate".to_owned())
    })?;
    if begins.len() < count {
        return Err(WorkloadError::Agents(format!(
            "it has {} jobs and their times; for {count} jobs (--jobs), give --concurrency or --rate",
            begins.len()
        )));
    }
    Ok(begins.iter().map(|at| Nanos(at.abs_diff(begins[0]))).collect())
}

/// The most tokens of prompts that are made before a pass.
const MOST_TOKENS_MADE_BEFORE: u64 = 1 << 25;

struct Agents {
    recorded: Arc<Recorded>,
    plan: AgentsPlan,
}

impl Agents {
    fn lengths(&self) -> impl Iterator<Item = CellPlan> + '_ {
        let recorded = &self.recorded;
        let lengths =
            |at| CellPlan { input_length: recorded.prompt(at), output_length: recorded.output(at) };
        (0..recorded.trace.calls.len() as u32).map(lengths)
    }

    fn player(&self, context: &PromptContext, scope: &crate::PromptScope) -> Player {
        let (context, scope, recorded) =
            (context.clone(), scope.clone(), Arc::clone(&self.recorded));
        Player::new(recorded, context, scope, self.plan.answers)
    }

    /// Makes all prompts before the pass if each must be counted, because it may take long and the measured server may be
    /// the one that counts.
    fn made_before(
        &self,
        player: Player,
        context: &PromptContext,
        own: &[u32],
    ) -> Result<Player, WorkloadError> {
        let is_exact = context.tokenizer.plain_words().is_some_and(|words| words.encodes_exactly);
        let is_counted = context.form == PromptForm::Text && !is_exact;
        if !is_counted || self.plan.answers != Answers::Recorded {
            return Ok(player);
        }
        let calls =
            own.iter().flat_map(|job| (0..player.calls(*job) as u32).map(|call| (*job, call)));
        let calls: Vec<(u32, u32)> = calls.collect();
        let tokens =
            calls.iter().map(|(job, call)| u64::from(player.prompt(*job, *call))).sum::<u64>();
        if tokens > MOST_TOKENS_MADE_BEFORE {
            return Err(WorkloadError::Agents(format!(
                "its prompts have {tokens} tokens, and each would have to be counted; the limit is \
                    {MOST_TOKENS_MADE_BEFORE}: give fewer --jobs, --token-ids, or a --tokenizer that keeps words apart"
            )));
        }
        let made = context.make(calls.len(), |at| player.alone(calls[at].0, calls[at].1))?;
        Ok(player.with(calls.into_iter().zip(made).collect()))
    }
}

impl Workload for Agents {
    /// Makes only the first calls of jobs, for a warm-up.
    fn requests(&self, wanted: &RequestsNeeded<'_>) -> Result<RequestBatch, WorkloadError> {
        let RequestsNeeded { context, scope, count, .. } = *wanted;
        let player = self.player(context, scope);
        let requests = context.make(count, |number| player.alone(number as u32, 0))?;
        Ok(RequestBatch { requests, notes: Vec::new() })
    }

    fn jobs(&self, wanted: &JobsNeeded<'_>) -> Result<Option<PassJobs>, WorkloadError> {
        let JobsNeeded { context, scope, script, share, history, counts } = *wanted;
        let player = self.player(context, scope).sending(history, counts);
        let calls = |number: u32| {
            let calls = 0..player.calls(number) as u32;
            calls.map(|call| player.planned(number, call)).collect()
        };
        let planned = (0..script.conversations).map(calls).collect();
        let own: Vec<u32> = share.only(0..script.conversations).collect();
        let error = player.error();
        let player = self.made_before(player, context, &own)?;
        let source = Box::new(source::Jobs::new(player, own));
        Ok(Some(PassJobs { planned, source, error }))
    }

    fn beyond(&self, _wanted: &RequestsNeeded<'_>, limit: u64) -> TooLong {
        Ok(longest_beyond(limit, self.lengths()))
    }

    fn findings(&self) -> Vec<Finding> {
        let Recorded { trace, shape, .. } = &*self.recorded;
        let left_out = rows_left_out(trace.calls.len(), &trace.left_out);
        let mut findings: Vec<Finding> = left_out.into_iter().collect();
        let derived = |note: String| Finding::of(code::TRACE_AS_PLAYED, note);
        findings.extend(trace.notes.iter().cloned().map(derived));
        let unknown = |at: &u32| {
            let call = &trace.calls[*at as usize];
            call.content.get().is_none()
                && call.keeps.get().is_none()
                && self.recorded.kept(*at).is_some()
        };
        let assumed = (0..trace.calls.len() as u32).filter(unknown).count();
        if assumed > 0 {
            findings.push(derived(format!(
                "{assumed} calls do not say how much of the prompt before them they keep; if they are long enough, \
                    they are sent with all of it and its answer"
            )));
        }
        let without = |call: &&Call| !call.parents.is_empty() && call.gap_ns.get().is_none();
        let without = trace.calls.iter().filter(without).count();
        if without > 0 {
            findings.push(derived(format!(
                "{without} calls do not say how long after the calls before them they start: they are sent as soon as \
                    these calls, and tools whose time is known, have ended"
            )));
        }
        let (gaps, cut, removed) = shape.gaps;
        if cut > 0 {
            let (most, removed) = (self.plan.max_gap.unwrap_or_default(), removed.as_secs_f64());
            findings.push(derived(format!(
                "{cut} of {gaps} gaps between calls are cut to {} s (--max-gap), which removes {removed:.1} s of \
                    waiting",
                most.as_secs_f64()
            )));
        }
        findings
    }
}
