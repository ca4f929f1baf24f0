//! Passes whose prompts are made while the pass runs, because all of them would take too much memory, or because the
//! pass has no number of requests. For the hash of the workload, all prompts are also made once before the pass. If the
//! pass has no number of requests, only the first chunk is made before it.

use std::sync::Arc;

use inferometer_model::{CellPlan, Prompt, Request, source::Prepared};
use inferometer_workload::{PromptForm, PromptScope, RequestBatch};

use super::source::{BATCH, PassRequests, SourceError, ThreadedSource};
use super::workload::Prompts;
use crate::RunError;

/// If the prompts of a pass have more bytes than this, they are made again while the pass runs.
pub const MAX_BYTES_IN_MEMORY: usize = 16 << 20;
/// The number of requests that are made together before a pass.
const MADE_BEFORE: u32 = 256;

/// A pass whose requests can be made from any index on.
pub struct ChunkedSource {
    prompts: Prompts,
    cell: CellPlan,
    place: PromptScope,
    count: Option<u32>,
}

/// The requests of a pass in chunks; `None` if the workload does not support them. They are also not possible with a
/// tokenizer that sends requests to the server, because the server must not get these requests while it is measured.
/// Exception: prompts of token ids need no tokenizer.
pub fn of(
    prompts: &Prompts,
    cell: CellPlan,
    place: &PromptScope,
    count: Option<u32>,
) -> Option<ChunkedSource> {
    let spec = prompts.spec();
    let asks = prompts.tokenizer().asks_the_server && spec.context.form == PromptForm::Text;
    let (prompts, place) = (prompts.clone(), place.clone());
    let is_possible = !asks && spec.workload().can_begin_anywhere();
    is_possible.then_some(ChunkedSource { prompts, cell, place, count })
}

impl ChunkedSource {
    /// Calls `see` with all requests, chunk by chunk, and then returns the requests of the pass: these requests, or if
    /// they have more than `most_bytes`, others that are made like them. If the pass has no number of requests, calls
    /// `see` only with the first chunk.
    ///
    /// # Errors
    /// When the requests cannot be made, when the system refuses a thread, or the error of `see`.
    pub fn supply(
        mut self,
        most_bytes: usize,
        mut see: impl FnMut(&[Request]) -> Result<(), RunError>,
    ) -> Result<PassRequests, RunError> {
        let together = if self.count.is_some() { MADE_BEFORE } else { BATCH };
        let (mut kept, mut bytes): (Vec<Request>, usize) = (Vec::new(), 0);
        let (mut notes, mut at) = (Vec::new(), 0);
        let mut alike: Option<Request> = None;
        while let Some(built) = self.part(at, together)? {
            see(&built.requests)?;
            alike = match at {
                0 => built.requests.first().map(without_prompt),
                _ => alike,
            };
            alike = alike.filter(|of| built.requests.iter().all(|one| is_like(one, of)));
            built.notes.into_iter().for_each(|note| note.add_to(&mut notes));
            bytes += built.requests.iter().map(size).sum::<usize>();
            match at == 0 || bytes <= most_bytes {
                true => kept.extend(built.requests),
                false => kept.truncate(BATCH as usize),
            }
            at += u64::from(together);
            if self.count.is_none() {
                break;
            }
        }
        let error = SourceError::default();
        if self.count.is_some() && bytes <= most_bytes {
            return Ok(PassRequests { source: Box::new(Prepared::new(kept)), notes, error });
        }
        kept.shrink_to_fit();
        self.prompts.never_stop();
        let mut at = kept.len() as u64;
        let next = move || {
            let made = self.part(at, BATCH)?.map(|built| built.requests);
            at += u64::from(BATCH);
            Ok(made)
        };
        let source = ThreadedSource::on_a_thread(kept, next, Arc::clone(&error))?;
        let source = Box::new(source.alike(alike));
        Ok(PassRequests { source, notes, error })
    }

    /// At most `most` requests from the index `first` on; `None` if there are none.
    fn part(&self, first: u64, most: u32) -> Result<Option<RequestBatch>, RunError> {
        let left = self.count.map_or(u64::MAX, |count| u64::from(count).saturating_sub(first));
        let count = left.min(u64::from(most)) as u32;
        let made = (count > 0)
            .then(|| self.prompts.build_from(self.cell, &self.place, first, count))
            .transpose()?;
        // A load in windows ends by itself.
        Ok(made.filter(|made| !made.requests.is_empty()))
    }
}

/// About how many bytes a request takes in memory.
fn size(request: &Request) -> usize {
    let of_prompt = |prompt: &Prompt| match prompt {
        Prompt::Text(text) => text.len(),
        Prompt::TokenIds(ids) => size_of_val(ids.as_slice()),
        Prompt::Messages(messages) => messages
            .iter()
            .flat_map(|message| message.values())
            .map(|value| value.as_str().map_or(0, str::len))
            .sum(),
    };
    let inputs = [&request.prompt].into_iter().chain(&request.further);
    size_of::<Request>() + inputs.map(of_prompt).sum::<usize>()
}

fn without_prompt(request: &Request) -> Request {
    let (further, media) = (Vec::new(), Vec::new());
    Request { prompt: Prompt::Text(String::new()), further, media, ..request.clone() }
}

/// Whether two requests differ only in their prompts.
fn is_like(request: &Request, other: &Request) -> bool {
    request.class == other.class
        && request.input_tokens == other.input_tokens
        && request.output_tokens == other.output_tokens
        && request.counted_tokens == other.counted_tokens
        && request.extra_body == other.extra_body
}

#[cfg(test)]
mod tests {
    use inferometer_model::Source;
    use inferometer_model::source::Supply;
    use inferometer_plan::spec::{Known, Spec};

    use super::*;
    use crate::prompts::named_tokenizer;

    fn all(source: &mut dyn Source) -> Vec<Request> {
        let mut all = Vec::new();
        loop {
            match source.next() {
                Supply::Request(request) => all.push(*request),
                Supply::Wait => std::thread::yield_now(),
                Supply::Exhausted => return all,
            }
        }
    }

    #[test]
    fn requests_that_are_not_kept_are_made_again() {
        let spec: Spec = serde_json::from_value(serde_json::json!({"range_ratio": 0.5})).unwrap();
        let known = Known { dialects: &[], models: &["chatglm3-6b"], model_of_hub_id: |_| None };
        let plan = spec.resolve(&known).unwrap();
        let tokenizer = named_tokenizer(&plan).unwrap().unwrap();
        let prompts = Prompts::open(&plan, tokenizer, "salt").unwrap();
        let (cell, place) = (plan.cells[0], PromptScope::new("cell", "pass", 0));
        let expected = prompts.build(cell, &place, 700).unwrap();
        for most_bytes in [0, 100_000, usize::MAX] {
            let mut seen = Vec::new();
            let source = of(&prompts, cell, &place, Some(700)).unwrap();
            let see = |requests: &[Request]| {
                seen.extend_from_slice(requests);
                Ok(())
            };
            let mut made = source.supply(most_bytes, see).unwrap();
            assert!(seen == expected.requests && all(made.source.as_mut()) == expected.requests);
            assert_eq!((made.notes, made.error.get()), (expected.notes.clone(), None));
        }
    }
}
