//! Conversations of several turns: seeded words, or what people said in a ShareGPT file. What a
//! user says is made here ahead of the pass; what the server answers is carried by [`Dialogue`].
//!
//! Words of a turn come from a stream of their own, labelled with salt, place, conversation and
//! turn. In front of a file's first turn stands a tag of such words, so that no conversation finds
//! another's in a prefix cache; later turns do find what was said before them, as users do.

mod dialogue;
mod file;

use inferometer_load::conversation::{ConversationPlan, TurnPlan, TurnsFrom};
use inferometer_model::cell::CellPlan;
use inferometer_model::finding::Finding;
use inferometer_model::request::{Prompt, Request};
use inferometer_stats::seed;

use crate::error::WorkloadError;
use crate::fetch::{self, FetchConfig};
use crate::fit::{self, Words};
use crate::place::{PromptForm, PromptPlace};
use crate::requests::{Built, Shared, Workload};

pub use dialogue::{Dialogue, History, Turn};
use file::Spoken;

/// The workload `conversation`.
pub struct Conversations {
    plan: ConversationPlan,
    /// What people said, where that is from a file.
    spoken: Option<Spoken>,
}

impl Conversations {
    /// Reads the file, if there is one.
    ///
    /// # Errors
    /// When it cannot be read or used.
    pub fn open(plan: &ConversationPlan, seed: u64) -> Result<Self, WorkloadError> {
        let spoken = match &plan.turns {
            TurnsFrom::Random { .. } => None,
            TurnsFrom::Sharegpt { dataset, .. } => {
                let path = fetch::local(dataset, &FetchConfig::from_env())?;
                Some(Spoken::load(&path, seed, plan.conversations as usize)?)
            }
        };
        Ok(Self { plan: plan.clone(), spoken })
    }

    /// The turns of a conversation, as they are planned.
    #[must_use]
    pub fn talk(&self, seed: u64, number: u32) -> Vec<TurnPlan> {
        let available = self.spoken.as_ref().map(|spoken| spoken.talk(number).len() as u32);
        self.plan.talk(seed, number, available)
    }

    /// What is said in a conversation.
    fn said(
        &self,
        shared: &Shared,
        place: &PromptPlace,
        number: u32,
    ) -> Result<Vec<Turn>, WorkloadError> {
        let plans = self.talk(shared.seed, number);
        plans
            .iter()
            .enumerate()
            .map(|(at, plan)| self.turn(shared, place, number, at, plan))
            .collect()
    }

    fn turn(
        &self,
        shared: &Shared,
        place: &PromptPlace,
        number: u32,
        at: usize,
        plan: &TurnPlan,
    ) -> Result<Turn, WorkloadError> {
        let tokenizer = shared.tokenizer.as_ref();
        let labels = [place.repeat.to_string(), number.to_string(), at.to_string()];
        let [repeat, conversation, turn] = &labels;
        let of: [&str; 7] =
            ["turn", &shared.salt, &place.cell, &place.pass, repeat, conversation, turn];
        let mut words = Words::new(tokenizer, seed::rng(shared.seed, &of));
        // What the server adds to a prompt, it adds to the first turn.
        let reserve = if at == 0 { shared.reserve } else { 0 };
        let Some(spoken) = &self.spoken else {
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
        let (human, assistant) = &spoken.talk(number)[at];
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
    /// First turns alone: what a warm-up sends.
    fn requests(
        &self,
        shared: &Shared,
        _cell: CellPlan,
        place: &PromptPlace,
        count: usize,
    ) -> Result<Built, WorkloadError> {
        let turn = |number: usize| -> Result<Request, WorkloadError> {
            let number = number as u32;
            let plan = self.talk(shared.seed, number)[0];
            let turn = self.turn(shared, place, number, 0, &plan)?;
            Ok(Request {
                counted_tokens: turn.counted_tokens,
                ..Request::new(Prompt::Text(turn.text), turn.input_tokens, turn.output_tokens)
            })
        };
        let requests = shared.make(count, turn)?;
        Ok(Built { requests, notes: Vec::new() })
    }

    fn conversations(
        &self,
        shared: &Shared,
        place: &PromptPlace,
        count: u32,
    ) -> Result<Option<Vec<Vec<Turn>>>, WorkloadError> {
        let talks =
            shared.make(count as usize, |number| self.said(shared, place, number as u32))?;
        Ok(Some(talks))
    }

    fn findings(&self) -> Vec<Finding> {
        let Some(spoken) = &self.spoken else { return Vec::new() };
        spoken.findings()
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
