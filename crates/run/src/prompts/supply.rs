//! Makes the requests of one pass, before the pass or while it runs, and adds them to the hash of the workload.

use std::sync::Arc;

use inferometer_model::{CellPlan, PassPlan, Request, Source, source::Prepared};
use inferometer_plan::{Grid, Plan};
use inferometer_store::PassBegin;
use inferometer_workload::{PromptScope, RequestBatch};

use super::chunked_source::{self, MAX_BYTES_IN_MEMORY};
use super::source::{BATCH, PassRequests, Shuffled, SourceError, ThreadedSource};
use super::{conversations, workload::Prompts, workload_hash::WorkloadHash};
use crate::RunError;

/// Makes the requests of a pass and adds them to the hash of the workload. If a pass is limited only by time, its first
/// batch of requests is made before it, the others are made while it runs, and the hash covers only the first batch.
/// Of some workloads, only as many requests are kept as take little memory: see `chunked_source.rs`.
///
/// # Errors
/// When the requests cannot be made.
pub fn supply(
    prompts: &Prompts,
    plan: &Plan,
    begin: &PassBegin,
    place: &PromptScope,
    hash: &mut WorkloadHash,
) -> Result<PassRequests, RunError> {
    let PassBegin { cell, plan: ref pass, .. } = *begin;
    if matches!(pass, PassPlan::Conversations(_)) {
        return conversations::supply(prompts, plan, begin, place, hash);
    }
    if pass.requests().is_none()
        && prompts.tokenizer().asks_the_server
        && plan.workload.grid() != Grid::Tokens
    {
        return Err(RunError::prompts(format!(
            "{cell}: a pass without a number of requests makes prompts while it runs, and the \
                measured server would have to count their tokens; give --requests, or the model's \
                tokenizer with --tokenizer"
        )));
    }
    let mut hash = hash.begin(plan, begin);
    let count = pass.requests();
    if let Some(chunks) = chunked_source::of(prompts, cell, place, count) {
        return chunks.supply(MAX_BYTES_IN_MEMORY, |requests| hash.add(requests));
    }
    let RequestBatch { requests, notes } = prompts.build(cell, place, count.unwrap_or(BATCH))?;
    hash.add(&requests)?;
    let error = SourceError::default();
    let source: Box<dyn Source> = match count {
        Some(_) => Box::new(Prepared::new(requests)),
        None if prompts.tokenizer().asks_the_server => {
            Box::new(Shuffled::new(requests, prompts.seed_and_salt(), place))
        }
        None => Box::new(batches(prompts.clone(), cell, place.clone(), requests, &error)?),
    };
    Ok(PassRequests { source, notes, error })
}

/// The requests of a pass that is limited only by time, in batches. The batch `first` is already made.
fn batches(
    mut prompts: Prompts,
    cell: CellPlan,
    place: PromptScope,
    first: Vec<Request>,
    error: &SourceError,
) -> Result<ThreadedSource, RunError> {
    prompts.never_stop();
    let mut numbers = 1_u64..;
    let batch = move || {
        let number = numbers.next().unwrap_or(u64::MAX);
        let mut place = place.clone();
        place.pass = format!("{} batch {number}", place.pass);
        place.used_before += number * u64::from(BATCH);
        Ok(Some(prompts.build(cell, &place, BATCH)?.requests))
    };
    ThreadedSource::on_a_thread(first, batch, Arc::clone(error))
}
