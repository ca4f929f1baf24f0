//! The workload `conversation`: conversations of several turns, of seeded words or from a ShareGPT file.
//! The users' turns are made before the pass. During the pass, [`Dialogue`] adds the server's answers.
//!
//! The words of a turn come from a random stream that depends on the seed, the salt, the scope, the
//! conversation and the turn. A first turn from a file begins with a tag of such words. So the text of a
//! conversation practically never hits the prefix-cache entries of another conversation, unless its first
//! turn has only few random words. Later turns hit the entries of their own conversation, as in practice.

mod dialogue;
mod sharegpt;
mod transcript;

use std::sync::Arc;

use inferometer_model::load::conversation::{ConversationPlan, TurnPlan, TurnsFrom};
use inferometer_model::{CellPlan, Finding, PassPlan, Prompt, Request, load::Step, stats::seed};

use crate::fit::{self, Words};
use crate::workload::{Beyond, WorkloadDefinition, longest_beyond};
use crate::{
    JobsNeeded, PassJobs, PromptContext, PromptForm, PromptScope, RequestBatch, RequestsNeeded,
    TooLong, Workload, WorkloadError, fetch,
};

pub use dialogue::{Dialogue, Turn};
use sharegpt::ConversationFile;
pub use transcript::Transcript;

impl WorkloadDefinition for ConversationPlan {
    fn open(&self, context: &PromptContext) -> Result<Arc<dyn Workload>, WorkloadError> {
        Ok(Arc::new(Conversations::open(self, context.seed)?))
    }

    fn prepare(&self, passes: &mut [PassPlan], seed: u64) -> Result<(), WorkloadError> {
        let opened = Conversations::open(self, seed)?;
        for plan in passes.iter_mut().filter_map(PassPlan::jobs_mut) {
            let turns = |number| {
                let plans = opened.plans(seed, number);
                Step::turns(plans.iter().map(|turn| turn.think))
            };
            plan.script.write((0..plan.script.conversations).map(turns));
        }
        Ok(())
    }
}

/// The workload `conversation`.
struct Conversations {
    plan: ConversationPlan,
    /// The conversations of the file; `None` if turns are seeded words.
    file: Option<ConversationFile>,
}

impl Conversations {
    /// Reads the file, if there is one.
    fn open(plan: &ConversationPlan, seed: u64) -> Result<Self, WorkloadError> {
        let file = match &plan.turns {
            TurnsFrom::Random { .. } => None,
            TurnsFrom::Sharegpt { dataset, .. } => {
                let path = fetch::data_file(dataset)?;
                Some(ConversationFile::load(&path, seed, plan.conversations as usize)?)
            }
        };
        Ok(Self { plan: plan.clone(), file })
    }

    /// The plans of the turns of the conversation with this number, from 0.
    fn plans(&self, seed: u64, number: u32) -> Vec<TurnPlan> {
        let available = self.file.as_ref().map(|file| file.conversation(number).len() as u32);
        self.plan.turns_of(seed, number, available)
    }

    /// The turns of the conversation with this number, from 0.
    fn turns(
        &self,
        context: &PromptContext,
        scope: &PromptScope,
        number: u32,
    ) -> Result<Vec<Turn>, WorkloadError> {
        let plans = self.plans(context.seed, number);
        plans
            .iter()
            .enumerate()
            .map(|(at, plan)| self.turn(context, scope, number, at, plan))
            .collect()
    }

    fn turn(
        &self,
        context: &PromptContext,
        scope: &PromptScope,
        number: u32,
        at: usize,
        plan: &TurnPlan,
    ) -> Result<Turn, WorkloadError> {
        let tokenizer = context.tokenizer.as_ref();
        let labels = [scope.repeat.to_string(), number.to_string(), at.to_string()];
        let [repeat, conversation, turn] = &labels;
        let of: [&str; 7] =
            ["turn", &context.salt, &scope.cell, &scope.pass, repeat, conversation, turn];
        let mut words = Words::new(tokenizer, seed::rng(context.seed, &of));
        // The tokens that the server adds are part of the first turn only.
        let reserve = if at == 0 { context.reserve } else { 0 };
        let Some(file) = &self.file else {
            let (input, output) = (plan.input.unwrap_or(1), plan.output.unwrap_or(1));
            let length = input.saturating_sub(reserve).max(1);
            let positions = words.positions(length);
            let made = fit::at_positions(tokenizer, &mut words, &positions, PromptForm::Text)?;
            return Ok(Turn {
                text: text_of(made.prompt),
                input_tokens: input,
                counted_tokens: Some(made.counted + reserve),
                output_tokens: output,
            });
        };
        let (human, assistant) = &file.conversation(number)[at];
        let mut text = human.to_string();
        if at == 0 {
            let tag = words.take(fit::full_tag(tokenizer.plain_ids().len()));
            text = format!("{}\n{text}", tokenizer.decode(&tag)?);
        }
        let counted = tokenizer.count(&text)? + reserve;
        let output_tokens = match plan.output {
            Some(output) => output,
            None => tokenizer.count(assistant)?.max(1),
        };
        Ok(Turn { text, input_tokens: counted, counted_tokens: Some(counted), output_tokens })
    }
}

impl Workload for Conversations {
    /// Makes only first turns, because a warm-up sends only first turns.
    fn requests(&self, wanted: &RequestsNeeded<'_>) -> Result<RequestBatch, WorkloadError> {
        let RequestsNeeded { context, scope, count, .. } = *wanted;
        let turn = |number: usize| -> Result<Request, WorkloadError> {
            let number = number as u32;
            let plan = self.plans(context.seed, number)[0];
            let turn = self.turn(context, scope, number, 0, &plan)?;
            Ok(Request {
                counted_tokens: turn.counted_tokens,
                ..Request::new(Prompt::Text(turn.text), turn.input_tokens, turn.output_tokens)
            })
        };
        let requests = context.make(count, turn)?;
        Ok(RequestBatch { requests, notes: Vec::new() })
    }

    fn jobs(&self, wanted: &JobsNeeded<'_>) -> Result<Option<PassJobs>, WorkloadError> {
        let JobsNeeded { context, scope, script, share, history, counts } = *wanted;
        let turns = |number| self.turns(context, scope, number as u32);
        let mut talks = context.make(script.conversations as usize, turns)?;
        if !counts {
            talks.iter_mut().flatten().for_each(|turn| turn.counted_tokens = None);
        }
        let planned = |turn: &Turn| Request {
            counted_tokens: turn.counted_tokens,
            ..Request::new(Prompt::Text(turn.text.clone()), turn.input_tokens, turn.output_tokens)
        };
        let planned = talks.iter().map(|turns| turns.iter().map(planned).collect()).collect();
        let own = (0..).zip(share.only(talks.into_iter().zip(script.steps())));
        let own = own.map(|(number, (turns, steps))| (share.index_of(number), turns, steps));
        let source = Box::new(Dialogue::new(own, history));
        Ok(Some(PassJobs { planned, source, error: Arc::default() }))
    }

    /// The last request of a conversation is its longest one: it has all earlier turns and answers. The tokens of a
    /// file's turns are not counted.
    fn beyond(&self, wanted: &RequestsNeeded<'_>, limit: u64) -> TooLong {
        let last = |number| {
            let plans = self.plans(wanted.context.seed, number);
            let turns = plans.iter().map(|turn| Some((turn.input?, turn.output?)));
            let turns = turns.collect::<Option<Vec<(u32, u32)>>>()?;
            let all = turns.iter().fold(0_u32, |sum, (input, output)| {
                sum.saturating_add(*input).saturating_add(*output)
            });
            let output_length = turns.last()?.1;
            Some(CellPlan { input_length: all - output_length, output_length })
        };
        Ok(longest_beyond(limit, (0..self.plan.conversations).filter_map(last))
            .map(Beyond::only_longest))
    }

    fn findings(&self) -> Vec<Finding> {
        self.file.as_ref().map_or_else(Vec::new, ConversationFile::findings)
    }
}

fn text_of(prompt: Prompt) -> String {
    match prompt {
        Prompt::Text(text) => text,
        Prompt::TokenIds(_) | Prompt::Messages(_) => {
            unreachable!("invariant: words were asked for as text")
        }
    }
}
