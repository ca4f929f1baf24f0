//! Requests without output tokens: several prompts of a workload become the inputs of one request.

use inferometer_model::CellPlan;
use inferometer_plan::PoolingPlan;

use crate::{RequestBatch, RequestsNeeded, Workload, WorkloadError, random::RandomWords};

/// Makes requests with several inputs each. For a ranking, the documents are prompts of the workload, and the query is
/// random words.
///
/// # Errors
/// The errors of [`Workload::requests`].
pub(crate) fn requests(
    workload: &dyn Workload,
    PoolingPlan { inputs, query_length }: PoolingPlan,
    wanted: &RequestsNeeded<'_>,
) -> Result<RequestBatch, WorkloadError> {
    let RequestsNeeded { context, cell: _, scope, first, count } = *wanted;
    let inputs = inputs as usize;
    let all = scope.clone().after(scope.used_before * inputs as u64);
    let made = workload.requests(&RequestsNeeded {
        scope: &all,
        first: first * inputs as u64,
        count: count * inputs,
        ..*wanted
    })?;
    let mut prompts = made.requests.into_iter();
    let batches = std::iter::from_fn(|| {
        let mut request = prompts.next()?;
        for next in prompts.by_ref().take(inputs - 1) {
            request.input_tokens += next.input_tokens;
            request.counted_tokens =
                request.counted_tokens.zip(next.counted_tokens).map(|(a, b)| a + b);
            request.further.push(next.prompt);
        }
        request.output_tokens = 0;
        Some(request)
    });
    let mut batch = RequestBatch { requests: batches.collect(), notes: made.notes };
    let Some(length) = query_length else { return Ok(batch) };
    let mut place = scope.clone();
    place.pass += ", queries";
    let cell = CellPlan { input_length: length, output_length: 0 };
    let queries =
        RandomWords.requests(&RequestsNeeded { context, cell, scope: &place, first, count })?;
    for (request, query) in batch.requests.iter_mut().zip(queries.requests) {
        let document = std::mem::replace(&mut request.prompt, query.prompt);
        request.further.insert(0, document);
        // Servers count the query once, or once with each document: no number of tokens is requested.
        (request.input_tokens, request.counted_tokens) = (0, None);
    }
    batch.notes.extend(queries.notes);
    Ok(batch)
}
