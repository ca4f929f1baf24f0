//! What all prompts of a run have in common.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use inferometer_model::tokenizer::Tokenizer;

use crate::error::WorkloadError;
use crate::parallel;
use crate::scope::PromptForm;

/// What all prompts of a run have in common.
#[derive(Clone)]
pub struct PromptContext {
    /// Counts tokens, and makes text from them.
    pub tokenizer: Arc<dyn Tokenizer>,
    /// The seed of every random choice.
    pub seed: u64,
    /// Makes this run's prompts differ from those of every other run.
    pub salt: String,
    /// The form in which prompts are sent.
    pub form: PromptForm,
    /// Tokens that the server adds to a prompt, such as a beginning-of-sequence token or a chat
    /// template; prompts are made shorter by this number.
    pub reserve: u32,
    /// Prompts made so far.
    made: Arc<AtomicU64>,
}

impl PromptContext {
    /// A context of text prompts with nothing reserved.
    pub fn new(tokenizer: Arc<dyn Tokenizer>, seed: u64, salt: impl Into<String>) -> Self {
        let (salt, form, made) = (salt.into(), PromptForm::Text, Arc::default());
        Self { tokenizer, seed, salt, form, reserve: 0, made }
    }

    /// The number of prompts made so far; it can be read while prompts are made.
    pub fn made(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.made)
    }

    /// Makes prompts `0` to `count - 1` on several threads, in order.
    ///
    /// # Errors
    /// The error of the lowest index that failed.
    pub(crate) fn make<T: Send, E: Send>(
        &self,
        count: usize,
        make: impl Fn(usize) -> Result<T, E> + Sync,
    ) -> Result<Vec<T>, E> {
        parallel::in_order(self.tokenizer.as_ref(), count, |at| {
            let made = make(at);
            self.made.fetch_add(1, Ordering::Relaxed);
            made
        })
    }

    /// The tokens that a prompt of `input_length` has without those that the server adds.
    ///
    /// # Errors
    /// If none are left.
    pub fn own_length(&self, input_length: u32) -> Result<u32, WorkloadError> {
        let reserve = self.reserve;
        let length = input_length.checked_sub(reserve).filter(|length| *length > 0);
        length.ok_or(WorkloadError::NothingLeft { input_length, reserve })
    }
}
