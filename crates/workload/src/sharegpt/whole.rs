//! The serving run: first turns as they stand, each with the length of the answer that it got, as
//! vLLM's scripts take them. Prompts carry no tag, so that they are those of the scripts: a server
//! that has a prefix cache may know them from an earlier run.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use inferometer_model::finding::Finding;
use inferometer_model::cell::CellPlan;
use inferometer_plan::ServingLimits;
use inferometer_model::request::{Prompt, Request};
use inferometer_model::tokenizer::{Tokenizer, TokenizerError};

use super::file::{self, Loaded};
use super::pick::shuffled;
use crate::error::WorkloadError;
use crate::parallel;
use crate::place::{PromptForm, PromptPlace};
use crate::requests::{Built, Note, Shared, Workload};

/// Conversations whose lengths are counted at a time.
const BLOCK: usize = 1_024;

/// A first turn and the turn that followed it.
pub type Pair = (Box<str>, Box<str>);

/// The workload `sharegpt` with the lengths of its conversations.
pub(crate) struct ServingRun {
    path: PathBuf,
    loaded: Loaded<Pair>,
    limits: ServingLimits,
    tokenizer: Arc<dyn Tokenizer>,
    order: Vec<usize>,
    /// Tokens of both turns, in the file's order.
    lengths: Vec<OnceLock<(u32, u32)>>,
}

impl ServingRun {
    /// Reads the file.
    ///
    /// # Errors
    /// When it cannot be used.
    pub(crate) fn open(
        path: PathBuf,
        limits: ServingLimits,
        shared: &Shared,
    ) -> Result<Self, WorkloadError> {
        let loaded = file::load_pairs(&path)?;
        let order = shuffled(loaded.conversations.len(), shared.seed);
        let lengths = vec![OnceLock::new(); loaded.conversations.len()];
        let tokenizer = Arc::clone(&shared.tokenizer);
        Ok(Self { path, loaded, limits, tokenizer, order, lengths })
    }

    /// The conversations within the limits for `count` prompts after the first `taken`, and how
    /// many there are if that is known.
    fn pick(&self, taken: u64, count: usize) -> Result<(Vec<usize>, Option<u64>), WorkloadError> {
        let needed = taken + count as u64;
        let mut fitting: Vec<usize> = Vec::new();
        for block in self.order.chunks(BLOCK) {
            if fitting.len() as u64 >= needed {
                break;
            }
            let tokenizer = self.tokenizer.as_ref();
            let lengths = parallel::in_order(tokenizer, block.len(), |at| self.length(block[at]))?;
            let found = block.iter().zip(lengths).filter(|(_, lengths)| self.fits(*lengths));
            fitting.extend(found.map(|(conversation, _)| *conversation));
        }
        let available = fitting.len() as u64;
        if available == 0 {
            return Err(WorkloadError::NoneWithinLimits {
                path: self.path.clone(),
                conversations: self.order.len(),
                limits: self.limits,
            });
        }
        let picked = (taken..needed).map(|at| fitting[(at % available) as usize]).collect();
        Ok((picked, (available < needed).then_some(available)))
    }

    fn fits(&self, (prompt, answer): (u32, u32)) -> bool {
        let ServingLimits { min_tokens, max_prompt_tokens, max_total_tokens } = self.limits;
        prompt >= min_tokens
            && answer >= min_tokens
            && prompt <= max_prompt_tokens
            && prompt.saturating_add(answer) <= max_total_tokens
    }

    fn length(&self, conversation: usize) -> Result<(u32, u32), TokenizerError> {
        let known = &self.lengths[conversation];
        if let Some(lengths) = known.get() {
            return Ok(*lengths);
        }
        let (prompt, answer) = &self.loaded.conversations[conversation];
        let lengths = (self.tokenizer.count(prompt)?, self.tokenizer.count(answer)?);
        Ok(*known.get_or_init(|| lengths))
    }
}

impl Workload for ServingRun {
    fn requests(
        &self,
        shared: &Shared,
        _cell: CellPlan,
        place: &PromptPlace,
        count: usize,
    ) -> Result<Built, WorkloadError> {
        let (picked, available) = self.pick(place.taken, count)?;
        let requests = shared.make(count, |at| -> Result<Request, WorkloadError> {
            let text = &self.loaded.conversations[picked[at]].0;
            let (prompt_tokens, answer_tokens) = self.length(picked[at])?;
            let prompt = match shared.form {
                PromptForm::Text => Prompt::Text(text.to_string()),
                PromptForm::TokenIds => Prompt::TokenIds(self.tokenizer.encode(text)?),
            };
            let counted = prompt_tokens + shared.reserve;
            let request = Request::new(prompt, counted, answer_tokens);
            Ok(Request { counted_tokens: Some(counted), ..request })
        })?;
        let again = available.map(|available| {
            let fresh = available.saturating_sub(place.taken).min(count as u64);
            Note::Reused { prompts: count as u64 - fresh, available }
        });
        let notes = again.filter(|note| !matches!(note, Note::Reused { prompts: 0, .. }));
        Ok(Built { requests, notes: notes.into_iter().collect() })
    }

    fn findings(&self) -> Vec<Finding> {
        self.loaded.findings()
    }
}
