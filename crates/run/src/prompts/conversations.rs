//! The conversations of a pass. The turns of users are made before the pass, and the hash of the workload covers them.
//! The answers between them come from the server.

use inferometer_model::PassPlan;
use inferometer_model::load::{ConversationsPlan, Share};
use inferometer_plan::Plan;
use inferometer_store::PassBegin;
use inferometer_workload::PromptScope;
use inferometer_workload::conversation::Dialogue;

use super::source::{PassRequests, SourceError};
use super::workload::Prompts;
use super::workload_hash::{Offsets, WorkloadHash};
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
    let spec = prompts.spec();
    let talks = spec
        .workload()
        .conversations(&spec.context, place, script.conversations)
        .map_err(|error| RunError::prompts(error.to_string()))?;
    let mut talks = talks.ok_or_else(none)?;
    let begins = Offsets::of(first, begin.seed(plan.seed));
    hash.conversations(plan, begins, talks.iter().map(Vec::as_slice).zip(script.think()))?;
    if !prompts.tokenizer().is_models_own {
        // The tokenizer of another model only sets the size of prompts; its counts are not used.
        talks.iter_mut().flatten().for_each(|turn| turn.counted_tokens = None);
    }
    let (rank, ranks) = prompts.place();
    let own = Share::of(&begin.plan, rank, ranks).only(talks).collect();
    let source = Box::new(Dialogue::new(own, prompts.history()));
    Ok(PassRequests { source, notes: Vec::new(), error: SourceError::default() })
}
