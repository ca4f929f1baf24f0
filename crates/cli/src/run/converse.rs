//! The conversations of a pass: what users say is made ahead and is the identity of the workload;
//! the answers between are the server's.

use inferometer_load::PassPlan;
use inferometer_plan::Plan;
use inferometer_stats::seed::of_repeat;
use inferometer_store::PassBegin;
use inferometer_workload::PromptScope;
use inferometer_workload::conversation::Dialogue;

use super::identity::{Identity, Offsets};
use super::prompts::{Prompts, Supplied, Trouble};
use crate::exit::Failure;

/// Makes the conversations of a pass, and adds them to the identity of the workload.
///
/// # Errors
/// When they cannot be made.
pub fn supply(
    prompts: &Prompts,
    plan: &Plan,
    begin: &PassBegin,
    place: &PromptScope,
    identity: &mut Identity,
) -> Result<Supplied, Failure> {
    let none = || Failure::not_carried_out("this workload has no conversations to begin");
    let PassPlan::Conversations { script, begin: first, .. } = &begin.plan else {
        return Err(none());
    };
    let spec = prompts.spec();
    let talks = spec
        .workload()
        .conversations(&spec.context, place, script.conversations)
        .map_err(|error| Failure::not_carried_out(error.to_string()))?;
    let mut talks = talks.ok_or_else(none)?;
    let begins = Offsets::of(first, of_repeat(plan.seed, begin.repeat));
    identity.conversations(plan, begins, talks.iter().map(Vec::as_slice).zip(script.think()))?;
    if !prompts.shaper().is_models_own {
        // Another model's tokenizer shapes prompts; it counts nothing.
        talks.iter_mut().flatten().for_each(|turn| turn.counted_tokens = None);
    }
    let source = Box::new(Dialogue::new(talks, prompts.history()));
    Ok(Supplied { source, notes: Vec::new(), trouble: Trouble::default() })
}
