//! Findings on how the prompts of a run differ from the plan's requirements.

use inferometer_model::{Finding, code};
use inferometer_plan::Plan;
use inferometer_workload::Note;

use crate::prompts::BATCH;

/// The finding on how the prompts of a pass differ from the plan's requirements. `is_upper_bound`: an earlier
/// pass had no number of requests, so only an upper bound is known for the number of prompts used before this
/// pass.
pub(crate) fn of_note(note: &Note, is_upper_bound: bool) -> Finding {
    let mut message = note.to_string();
    if is_upper_bound && note.depends_on_earlier() {
        message += "; this is an upper bound: an earlier pass was limited by time, not by a \
            request count";
    }
    Finding::of(code::PROMPTS_NOT_AS_ASKED, message)
}

/// The finding that the hash of the workload does not cover all requests.
pub(crate) fn hash_covers_a_part(plan: &Plan) -> Option<Finding> {
    let passes = plan.cells.iter().flat_map(|&cell| plan.passes_of(cell));
    let uncounted = passes.filter(|pass| pass.requests().is_none()).count();
    let message = format!(
        "passes without a number of requests: {uncounted}. Their prompts are made during the pass, \
            and workload_hash covers the first {BATCH} of each; the others follow from seed, salt \
            and plan"
    );
    (uncounted > 0).then(|| Finding::of(code::WORKLOAD_HASH_COVERS_A_PART, message))
}
