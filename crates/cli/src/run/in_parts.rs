//! Passes whose prompts would fill more memory than they should, or have no end: their prompts are
//! made part by part while they are sent. Their identity is taken beforehand, by making all of
//! them once.

use std::sync::Arc;

use inferometer_model::request::Request;
use inferometer_workload::{PromptForm, PromptScope, RequestBatch};

use super::prompts::{BATCH, Made, Prompts, Supplied, Trouble};
use crate::exit::Failure;

/// Prompt tokens that are held at once: some 160 MB of text.
const MOST_TOKENS_HELD: u64 = 32 << 20;

/// A pass whose prompts are made in parts.
pub struct InParts {
    prompts: Prompts,
    place: PromptScope,
    count: Option<u32>,
}

/// The prompts of a pass in parts, where they can and should be made so. A tokenizer that asks the
/// server is not asked while the server is measured; ids need none.
pub fn of(prompts: &Prompts, place: &PromptScope, count: Option<u32>) -> Option<InParts> {
    let spec = prompts.spec();
    let asks = prompts.shaper().asks_the_server && spec.context.form == PromptForm::Text;
    let parts = spec.workload().chunked().filter(|_| !asks)?;
    let is_long = count.is_none_or(|count| parts.input_tokens(count as usize) > MOST_TOKENS_HELD);
    let (prompts, place) = (prompts.clone(), place.clone());
    is_long.then_some(InParts { prompts, place, count })
}

impl InParts {
    /// The requests of a pass, all of which `see` is shown beforehand; of a pass without end, the
    /// first part.
    ///
    /// # Errors
    /// When they cannot be made.
    pub fn supply(
        self,
        mut see: impl FnMut(&[Request]) -> Result<(), Failure>,
    ) -> Result<Supplied, Failure> {
        let mut notes = Vec::new();
        let first = self.part(0)?.map_or_else(Vec::new, |built| built.requests);
        let mut at = 0;
        while let Some(built) = self.part(at)? {
            see(&built.requests)?;
            built.notes.into_iter().for_each(|note| note.add_to(&mut notes));
            at += u64::from(BATCH);
            if self.count.is_none() {
                break;
            }
        }
        let trouble = Trouble::default();
        let mut at = 0;
        let next = move || {
            at += u64::from(BATCH);
            Ok(self.part(at)?.map(|built| built.requests))
        };
        let source = Box::new(Made::on_a_thread(first, next, Arc::clone(&trouble)));
        Ok(Supplied { source, notes, trouble })
    }

    /// The part that begins with this request, if there is any.
    fn part(&self, first: u64) -> Result<Option<RequestBatch>, Failure> {
        let left = self.count.map_or(u64::MAX, |count| u64::from(count).saturating_sub(first));
        let count = left.min(u64::from(BATCH)) as usize;
        let spec = self.prompts.spec();
        let Some(parts) = spec.workload().chunked().filter(|_| count > 0) else { return Ok(None) };
        let mut built = parts
            .chunk(&spec.context, &self.place, first, count)
            .map_err(|error| Failure::not_carried_out(error.to_string()))?;
        self.prompts.forget_counts(&mut built);
        Ok(Some(built))
    }
}
