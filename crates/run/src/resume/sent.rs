//! The passes whose prompts the resumed runs have already sent. A run that measures such a pass again sends the same
//! prompts to the same server, which may have them in its prefix cache. Nothing is sent here.

use std::collections::HashSet;

use inferometer_model::CellPlan;
use inferometer_plan::{Plan, TargetPlan};
use inferometer_store::{PassBegin, Store};

use super::completed_passes;
use crate::Context;

/// A pass that a resumed run began and did not complete.
pub(crate) struct SentPass {
    cell: CellPlan,
    prompt_label: String,
    repeat: u32,
    /// The number of requests that were sent.
    pub(crate) requests: usize,
    /// The id of the run.
    pub(crate) run: String,
}

impl SentPass {
    /// Whether a pass has the same prompts.
    pub(crate) fn has_prompts_of(&self, begin: &PassBegin) -> bool {
        (self.cell, self.repeat) == (begin.cell, begin.repeat)
            && self.prompt_label == begin.plan.prompt_label()
    }
}

/// The passes whose prompts earlier runs have sent. This run may resume a run that itself resumes an earlier run. All
/// runs of this chain are read, up to a run that cannot be read. Empty if this run starts its server, because a new
/// process has an empty cache.
pub(crate) fn sent_before(plan: &Plan, context: &Context) -> Vec<SentPass> {
    let mut sent = Vec::new();
    let starts_server = matches!(plan.target, TargetPlan::Embedded { .. }) || plan.launch.is_some();
    let mut next = context.origin.resumes.clone().filter(|_| !starts_server);
    let opened = next.as_ref().map(|_| Store::open_existing(&context.store));
    let Some(Ok(store)) = opened else { return sent };
    let mut known = HashSet::new();
    // A store of unknown origin may contain a run that resumes itself.
    while let Some(run) = next.filter(|run| known.insert(run.clone())) {
        let Ok(stored) = store.run(&run) else { break };
        let Ok(completed) = completed_passes(&stored, plan) else { break };
        let Ok(passes) = stored.passes() else { break };
        for pass in passes.flatten() {
            let requests = pass.records.iter().filter(|it| it.send_start.is_some()).count();
            let PassBegin { cell, repeat, .. } = pass.begin;
            let number = pass.begin.pass;
            let is_complete = completed.iter().any(|known| known.has(number));
            if requests > 0 && !is_complete {
                let (prompt_label, run) = (pass.begin.plan.prompt_label(), run.clone());
                sent.push(SentPass { cell, prompt_label, repeat, requests, run });
            }
        }
        next = stored.target.facts.origin.resumes;
    }
    sent
}
