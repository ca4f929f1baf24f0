//! The context length that requests to Ollama ask for.

use inferometer_model::{CellPlan, request::OLLAMA};

use crate::{Grid, Plan};

/// The most tokens of a chat template, and the step of context lengths.
const TEMPLATE_TOKENS: u64 = 256;
const STEP: u64 = 1_024;

/// Has all requests ask for one context, because another one would load the model again: that of the longest cell with
/// its template. The length of data sets and pictures is not known, so their requests ask for none.
pub(super) fn set(plan: &mut Plan) {
    let tokens = |one: &CellPlan| u64::from(one.input_length) + u64::from(one.output_length);
    let longest = plan.cells.iter().map(tokens).max().filter(|&tokens| tokens > 0);
    let is_known = plan.workload.grid() == Grid::Tokens && plan.media.is_none();
    if let (Some(tokens), true, Some(OLLAMA)) = (longest, is_known, plan.spec.dialect.as_deref()) {
        plan.sampling.set_num_ctx((tokens + TEMPLATE_TOKENS).next_multiple_of(STEP));
    }
}
