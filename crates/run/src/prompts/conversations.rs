//! The conversations of a pass. The turns of users are made before the pass, and the hash of the workload covers them.
//! The answers between them come from the server.

use inferometer_model::PassPlan;
use inferometer_model::load::{ConversationsPlan, Share};
use inferometer_plan::Plan;
use inferometer_store::PassBegin;
use inferometer_workload::{JobsNeeded, PassJobs, PromptScope};

use super::workload_hash::{Offsets, WorkloadHash};
use super::{source::PassRequests, workload::Prompts};
use crate::RunError;

/// Makes the conversations of a pass, and adds them to the hash of the workload.
///
/// # Errors
/// When the conversations cannot be made.
pub fn supply(
    prompts: &Prompts,
    plan: &Plan,
    begin: &PassBegin,
    place: &PromptScope,
    hash: &mut WorkloadHash,
) -> Result<PassRequests, RunError> {
    let none = || RunError::prompts("this workload has no conversations");
    let PassPlan::Conversations(ConversationsPlan { script, begin: first, .. }) = &begin.plan
    else {
        return Err(none());
    };
    let (rank, ranks) = prompts.place();
    let spec = prompts.spec();
    let wanted = JobsNeeded {
        context: &spec.context,
        scope: place,
        script,
        share: Share::of(&begin.plan, rank, ranks),
        history: prompts.history(),
        // The tokenizer of another model only sets the size of prompts; its counts are not used.
        counts: prompts.tokenizer().is_models_own,
    };
    let made = spec.workload().jobs(&wanted);
    let made = made.map_err(|error| RunError::prompts(error.to_string()))?;
    let PassJobs { planned, source, error } = made.ok_or_else(none)?;
    let begins = Offsets::of(first, begin.seed(plan.seed));
    hash.conversations(plan, begins, planned.into_iter().zip(script.steps()))?;
    Ok(PassRequests { source, notes: Vec::new(), error })
}
