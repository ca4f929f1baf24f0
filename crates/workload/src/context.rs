//! The settings that all prompts of a run share, such as the tokenizer, the seed and the form. The
//! workloads make the prompts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use inferometer_model::{Tokenizer, TokenizerError};

use crate::{PromptForm, WorkloadError, parallel};

/// The settings that all prompts of a run share.
#[derive(Clone)]
pub struct PromptContext {
    /// The tokenizer, which counts tokens and converts between tokens and text.
    pub tokenizer: Arc<dyn Tokenizer>,
    /// The seed of every random choice.
    pub seed: u64,
    /// A text that, together with the seed, determines the random words and the order of text blocks. By
    /// default, each run has its own salt, so each run has different words and blocks. Lengths, groups and
    /// the choice of conversations do not depend on the salt.
    pub salt: String,
    /// The form in which prompts are sent.
    pub form: PromptForm,
    /// The number of tokens that the server adds to each prompt, such as a beginning-of-sequence token or
    /// a chat template. Prompts that are made with a requested number of tokens are shorter by this number.
    pub reserve: u32,
    /// Whether the dialect can send messages, such as a system prompt.
    pub accepts_messages: bool,
    /// The number of prompts made so far. All turns of a conversation together count as one prompt.
    made: Arc<AtomicU64>,
    /// Set when no more prompts are needed. Calls that make prompts then return an error.
    pub stop: Arc<AtomicBool>,
}

impl PromptContext {
    /// A context for prompts that are sent as text, and to which the server adds no tokens.
    pub fn new(tokenizer: Arc<dyn Tokenizer>, seed: u64, salt: impl Into<String>) -> Self {
        let (salt, form) = (salt.into(), PromptForm::Text);
        let (made, stop) = (Arc::default(), Arc::default());
        let (reserve, accepts_messages) = (0, false);
        Self { tokenizer, seed, salt, form, reserve, accepts_messages, made, stop }
    }

    /// The counter of the prompts made so far. Another thread can read it while prompts are made.
    pub fn made(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.made)
    }

    /// Calls `make` for each index from `0` to `count - 1`, on several threads if `count` is large
    /// enough. Returns the prompts in the order of their indexes.
    ///
    /// # Errors
    /// The error of the lowest index for which `make` failed, or an error if `stop` is set.
    pub(crate) fn make<T: Send, E: Send + From<TokenizerError>>(
        &self,
        count: usize,
        make: impl Fn(usize) -> Result<T, E> + Sync,
    ) -> Result<Vec<T>, E> {
        self.in_order(count, |index| {
            let prompt = make(index);
            self.made.fetch_add(1, Ordering::Relaxed);
            prompt
        })
    }

    /// As [`Self::make`], but for calls of the tokenizer that make no prompt. These calls are not counted
    /// as prompts.
    ///
    /// # Errors
    /// The same errors as [`Self::make`].
    pub(crate) fn in_order<T: Send, E: Send + From<TokenizerError>>(
        &self,
        count: usize,
        work: impl Fn(usize) -> Result<T, E> + Sync,
    ) -> Result<Vec<T>, E> {
        parallel::in_order(self.tokenizer.as_ref(), count, |index| {
            if self.stop.load(Ordering::Relaxed) {
                let (tokenizer, message) = (self.tokenizer.name(), "interrupted".to_owned());
                return Err(TokenizerError { tokenizer, message }.into());
            }
            work(index)
        })
    }

    /// The number of tokens of the prompt without those that the server adds: `input_length - reserve`.
    ///
    /// # Errors
    /// [`WorkloadError::NothingLeft`] if the result would not be positive.
    pub fn own_length(&self, input_length: u32) -> Result<u32, WorkloadError> {
        let reserve = self.reserve;
        let length = input_length.checked_sub(reserve).filter(|length| *length > 0);
        length.ok_or(WorkloadError::NothingLeft { input_length, reserve })
    }
}
