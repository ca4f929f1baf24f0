//! Resolves the loads of conversations. In such a load, another load, such as a closed loop, begins the
//! conversations.

use crate::spec::{Mistakes, Spec};
use crate::{Answers, WorkloadPlan};
use inferometer_model::load::{ConversationsPlan, CountOf, Script};
use inferometer_model::{ClosedPlan, PassPlan};

/// Wraps each load in a load of conversations. The wrapped load begins the conversations. It counts
/// conversations, or requests of conversations.
pub(super) fn begun_by(
    spec: &Spec,
    workload: &WorkloadPlan,
    loads: Vec<PassPlan>,
    count: u32,
    mistakes: &mut Mistakes,
) -> Vec<PassPlan> {
    let of = spec.workload.conversation.count_of(mistakes);
    let is_live = match workload {
        WorkloadPlan::Agents(plan) => plan.answers != Answers::Recorded,
        _ => true,
    };
    if spec.requests.is_some() {
        let (what, flag) = match workload {
            WorkloadPlan::Agents(_) => ("jobs", "--jobs"),
            _ => ("conversations", "--conversations"),
        };
        mistakes
            .add("requests", format!("is not used: a pass has a number of {what}; give {flag}"));
    }
    if spec.token_ids == Some(true) && is_live {
        mistakes.add(
            "token_ids",
            "cannot be used if prompts contain the server's answers, which are text",
        );
    }
    let script = match workload {
        WorkloadPlan::Agents(_) => Script::of_jobs,
        _ => Script::of,
    };
    let wrap = |mut begin: PassPlan| {
        let mut conversations = begin.bound().requests.unwrap_or(count);
        match (&mut begin, of) {
            (PassPlan::Closed(ClosedPlan { bound, .. }), CountOf::Requests) => {
                conversations = bound.requests.take().unwrap_or(count);
            }
            (_, CountOf::Requests) => {
                let problem =
                    format!("applies only to a closed loop (--concurrency), not to {begin}");
                mistakes.add("concurrency_of", problem);
            }
            _ => {}
        }
        PassPlan::Conversations(ConversationsPlan {
            script: script(conversations),
            begin: Box::new(begin),
            of,
        })
    };
    loads.into_iter().map(wrap).collect()
}

/// The load to which options apply. For conversations, this is the load that begins them.
pub(super) fn beginning(pass: &PassPlan) -> &PassPlan {
    match pass {
        PassPlan::Conversations(ConversationsPlan { begin, .. }) => begin,
        other => other,
    }
}
