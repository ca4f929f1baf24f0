//! The context length that requests to Ollama ask for.

use inferometer_model::{CellPlan, request::OLLAMA};

use crate::{DrawnPlan, Grid, Lengths, Plan, WorkloadPlan};

/// The most tokens of a chat template, and the step of context lengths.
const TEMPLATE_TOKENS: u64 = 256;
const STEP: u64 = 1_024;

/// Has all requests ask for one context, because another one would load the model again: that of the longest request with
/// its template. If lengths are not those of cells, as with data sets, pictures and distributions, requests ask for none.
pub(super) fn set(plan: &mut Plan) {
    let most = |length: u32, of: fn(&DrawnPlan) -> &Lengths| {
        let ratio = match &plan.workload {
            WorkloadPlan::Drawn(drawn) => match of(drawn) {
                Lengths::Around { ratio } => *ratio,
                _ => return None,
            },
            _ => 0.0,
        };
        (length > 0).then(|| (f64::from(length) * (1.0 + ratio)).ceil() as u64)
    };
    let tokens = |one: &CellPlan| {
        let output = most(one.output_length, |drawn| &drawn.output)?;
        Some(most(one.input_length, |drawn| &drawn.input)? + output)
    };
    let all: Option<Vec<u64>> = plan.cells.iter().map(tokens).collect();
    let longest = all.and_then(|all| all.into_iter().max());
    let is_known = plan.workload.grid() == Grid::Tokens && plan.media.is_none();
    if let (Some(tokens), true, Some(OLLAMA)) = (longest, is_known, plan.spec.dialect.as_deref()) {
        plan.sampling.set_num_ctx((tokens + TEMPLATE_TOKENS).next_multiple_of(STEP));
    }
}
