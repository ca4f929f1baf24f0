//! Passes whose prompts would take too much memory, or that have no number of requests. If the workload can make its
//! prompts in chunks (only `trace` can), they are made in chunks while the pass runs. For the hash of the workload, all
//! prompts are also made once before the pass. If the pass has no number of requests, only the first chunk is made
//! before it.

use std::sync::Arc;

use inferometer_model::{Prompt, Request};
use inferometer_workload::{PromptForm, PromptScope, RequestBatch};

use super::source::{BATCH, PassRequests, SourceError, ThreadedSource};
use super::workload::Prompts;
use crate::RunError;

/// If a workload can make its prompts in chunks, a pass with more prompt tokens than this number makes them in chunks.
/// This number of tokens is about 160 MB of text.
const MAX_TOKENS_IN_MEMORY: u64 = 32 << 20;

/// A pass whose prompts are made in chunks.
pub struct ChunkedSource {
    prompts: Prompts,
    place: PromptScope,
    count: Option<u32>,
}

/// The prompts of a pass in chunks; `None` if chunks are not needed, or if the workload does not support them. They are
/// also not possible with a tokenizer that sends requests to the server, because the server must not get these requests
/// while it is measured. Exception: prompts of token ids need no tokenizer.
pub fn of(prompts: &Prompts, place: &PromptScope, count: Option<u32>) -> Option<ChunkedSource> {
    let spec = prompts.spec();
    let asks = prompts.tokenizer().asks_the_server && spec.context.form == PromptForm::Text;
    let parts = spec.workload().chunked().filter(|_| !asks)?;
    let is_long =
        count.is_none_or(|count| parts.input_tokens(count as usize) > MAX_TOKENS_IN_MEMORY);
    let (prompts, place) = (prompts.clone(), place.clone());
    is_long.then_some(ChunkedSource { prompts, place, count })
}

impl ChunkedSource {
    /// Calls `see` with all requests, chunk by chunk, and then returns the requests of the pass. If the pass has no
    /// number of requests, calls `see` only with the first chunk.
    ///
    /// # Errors
    /// When the requests cannot be made, when the system refuses a thread, or the error of `see`.
    pub fn supply(
        mut self,
        mut see: impl FnMut(&[Request]) -> Result<(), RunError>,
    ) -> Result<PassRequests, RunError> {
        let mut notes = Vec::new();
        let first = self.part(0)?.map_or_else(Vec::new, |built| built.requests);
        let mut at = 0;
        let mut alike = first.first().map(without_prompt);
        while let Some(built) = self.part(at)? {
            see(&built.requests)?;
            alike = alike.filter(|of| built.requests.iter().all(|one| is_like(one, of)));
            built.notes.into_iter().for_each(|note| note.add_to(&mut notes));
            at += u64::from(BATCH);
            if self.count.is_none() {
                break;
            }
        }
        self.prompts.never_stop();
        let error = SourceError::default();
        let mut at = 0;
        let next = move || {
            at += u64::from(BATCH);
            Ok(self.part(at)?.map(|built| built.requests))
        };
        let source = ThreadedSource::on_a_thread(first, next, Arc::clone(&error))?;
        let source = Box::new(source.alike(alike));
        Ok(PassRequests { source, notes, error })
    }

    /// The chunk that begins with the request of this number, if there is one.
    fn part(&self, first: u64) -> Result<Option<RequestBatch>, RunError> {
        let left = self.count.map_or(u64::MAX, |count| u64::from(count).saturating_sub(first));
        let count = left.min(u64::from(BATCH)) as usize;
        let spec = self.prompts.spec();
        let Some(parts) = spec.workload().chunked().filter(|_| count > 0) else { return Ok(None) };
        let mut built = parts
            .chunk(&spec.context, &self.place, first, count)
            .map_err(|error| RunError::prompts(error.to_string()))?;
        self.prompts.forget_counts(&mut built);
        Ok(Some(built))
    }
}

fn without_prompt(request: &Request) -> Request {
    Request { prompt: Prompt::Text(String::new()), ..request.clone() }
}

/// Whether two requests differ only in their prompts.
fn is_like(request: &Request, other: &Request) -> bool {
    request.class == other.class
        && request.input_tokens == other.input_tokens
        && request.output_tokens == other.output_tokens
        && request.counted_tokens == other.counted_tokens
        && request.extra_body == other.extra_body
}
