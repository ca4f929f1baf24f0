//! The runs of a group that have results, and whether they had the same requests.

use std::collections::BTreeMap;

use inferometer_analysis::{Summary, effect::SweptRun};
use inferometer_model::{PassPlan, code};
use inferometer_plan::Plan;

/// A run of the group that has results.
pub(super) struct Done {
    pub variant: String,
    pub settings: BTreeMap<String, String>,
    pub round: u32,
    pub summary: Summary,
}

impl Done {
    pub fn tried(&self) -> SweptRun<'_> {
        SweptRun { settings: &self.settings, round: self.round, cells: &self.summary.cells }
    }
}

/// A remark if the servers got different requests although the plan fixes the number of requests. If a time
/// limit ends a load, the number of requests depends on the server, so there is no remark.
pub(super) fn different_requests(plan: &Plan, done: &[Done]) -> Option<String> {
    let is_counted = |pass: &PassPlan| match pass {
        PassPlan::Replay(_) | PassPlan::Conversations(_) => false,
        counted => counted.bound().duration.is_none(),
    };
    // The number of requests is not fixed in a search or a sweep, or if the plan may end a pass early.
    let is_fixed = plan.passes.iter().all(is_counted)
        && plan.repeat.at_least == plan.repeat.at_most
        && !plan.procedure.chooses_loads()
        && plan.stop.is_never();
    // A run that lacks passes also lacks their requests, so its requests are not compared.
    let is_whole = |summary: &Summary| {
        let codes = [code::RUN_INCOMPLETE, code::SERVER_DIED];
        !summary.findings.iter().any(|finding| finding.is_one_of(&codes))
    };
    let whole: Vec<&Done> = done.iter().filter(|done| is_whole(&done.summary)).collect();
    let differ = |one: &Done, other: &Done| {
        one.round == other.round && one.summary.workload_hash != other.summary.workload_hash
    };
    let (first, other) = whole.iter().find_map(|first| {
        let other = whole.iter().find(|other| differ(first, other))?;
        Some((first, other))
    })?;
    is_fixed.then(|| {
        format!(
            "{} and {} did not get the same requests: they count tokens differently, or differ in \
                `extra_body`; give one `tokenizer` for all, or do not compare them",
            first.variant, other.variant
        )
    })
}
