//! Resolves the limit of requests that have been sent and have no token yet.

use inferometer_model::PassPlan;

use super::{Plan, conversations::beginning};
use crate::spec::limits::MAX_IN_FLIGHT;
use crate::spec::{Mistakes, Spec};

const KEY: &str = "max_in_prefill";

/// The limit; `None` if there is none.
pub(super) fn limit(spec: &Spec, passes: &[PassPlan], mistakes: &mut Mistakes) -> Option<u32> {
    let most = spec.max_in_prefill?;
    if most == 0 {
        mistakes.add(KEY, "is 0; give at least 1");
    }
    if most > MAX_IN_FLIGHT {
        mistakes.add(KEY, format!("is too high; give at most {MAX_IN_FLIGHT}"));
    }
    if spec.over_limit.as_deref() == Some("drop") {
        mistakes.add(KEY, "makes requests wait, so it cannot be combined with --over-limit drop");
    }
    // A search or a sweep chooses its loads.
    let chooses = spec.search.is_some() || spec.sweep.is_some();
    if !chooses && !passes.is_empty() && !passes.iter().any(|pass| may_exceed(pass, most)) {
        let problem = "has no effect on any pass; give a number below that of requests in flight";
        mistakes.add(KEY, problem);
    }
    Some(most)
}

/// Whether a pass may have more requests in flight than `most`. A job may have several calls at the same time.
fn may_exceed(pass: &PassPlan, most: u32) -> bool {
    matches!(pass, PassPlan::Conversations(_))
        || beginning(pass).most_in_flight().is_none_or(|it| it > most)
}

impl Plan {
    /// Whether requests of a pass may wait at the limit of requests that have no token yet.
    pub fn limits_prefill(&self, pass: &PassPlan) -> bool {
        self.max_in_prefill.is_some_and(|most| may_exceed(pass, most))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::spec::{Known, Spec};

    fn told(keys: Value) -> Result<Option<u32>, String> {
        let spec: Spec = serde_json::from_value(keys).expect("a spec");
        let known = Known { dialects: &[], models: &["m"], model_of_hub_id: |_| None };
        let plan = spec
            .resolve(&known)
            .map_err(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
        let text = serde_json::to_string(&plan).expect("JSON");
        let is_in_plan = text.matches("max_in_prefill").count() > 0;
        assert_eq!(is_in_plan, plan.max_in_prefill.is_some(), "absent in plans without the limit");
        Ok(plan.max_in_prefill)
    }

    #[test]
    fn a_limit_without_effect_or_with_dropped_requests_is_refused() {
        let with = |keys: Value| {
            let mut all = json!({ "model": "m", "max_in_prefill": 4 });
            all.as_object_mut().expect("keys").extend(keys.as_object().expect("keys").clone());
            told(all)
        };
        assert_eq!(told(json!({ "model": "m", "rate": [2] })), Ok(None));
        for keys in [
            json!({ "rate": [2] }),
            json!({ "concurrency": [2, 8] }),
            json!({ "passes": ["saturated"] }),
            json!({ "rate": [2], "max_in_flight": 8 }),
            json!({ "search": {}, "goodput": "ttft<1s" }),
            json!({ "workload": "conversation", "conversations": 2, "concurrency": [2] }),
        ] {
            assert_eq!(with(keys.clone()), Ok(Some(4)), "{keys}");
        }
        for (keys, expected) in [
            (json!({ "concurrency": [2, 4] }), "has no effect on any pass"),
            (json!({ "passes": ["one_by_one"] }), "has no effect on any pass"),
            (json!({ "rate": [2], "max_in_flight": 4 }), "has no effect on any pass"),
            (json!({ "rate": [2], "max_in_prefill": 0 }), "is 0; give at least 1"),
            (json!({ "rate": [2], "max_in_prefill": 99_999 }), "give at most 65536"),
            (
                json!({ "rate": [2], "max_in_flight": 8, "over_limit": "drop" }),
                "cannot be combined with --over-limit drop",
            ),
        ] {
            let told = with(keys.clone()).expect_err("a mistake");
            assert!(
                told.contains("max_in_prefill (--max-in-prefill): ") && told.contains(expected),
                "{keys}: {told}"
            );
        }
    }
}
