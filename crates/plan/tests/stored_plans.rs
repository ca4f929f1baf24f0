//! Plans that an earlier version wrote: they open, are written again with the same keys, and keep their hash.

use inferometer_plan::{Plan, Procedure};
use serde_json::Value;

/// Plans with their hashes, from `--dry-run --json` of a search, a sweep, a comparison and two runs.
const STORED: &str = include_str!("stored_plans.json");

fn stored() -> Vec<(Value, String)> {
    let all: Vec<Value> = serde_json::from_str(STORED).expect("JSON");
    all.into_iter()
        .map(|one| (one["plan"].clone(), one["plan_hash"].as_str().expect("a hash").to_owned()))
        .collect()
}

#[test]
fn a_stored_plan_opens_and_keeps_its_keys_and_its_hash() {
    let mut names = Vec::new();
    for (plan, hash) in stored() {
        let opened = Plan::from_json(&plan.to_string()).unwrap();
        assert_eq!(serde_json::to_value(&opened).unwrap(), plan);
        assert_eq!(opened.hash(), hash, "{plan}");
        names.push(match opened.procedure {
            Procedure::Passes => "passes",
            Procedure::Search(_) => "search",
            Procedure::Sweep(_) => "sweep",
            Procedure::Ab(_) => "ab",
        });
    }
    for name in ["passes", "search", "sweep", "ab"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
}

#[test]
fn a_stored_plan_with_two_procedures_or_a_wrong_one_does_not_open() {
    let stored = stored();
    let (search, sweep) = (&stored[0].0, &stored[1].0);
    let mut both = search.clone();
    both["sweep"] = sweep["sweep"].clone();
    let told = Plan::from_json(&both.to_string()).unwrap_err().to_string();
    assert!(told.contains("at most one of `search`, `sweep` and `ab`"), "{told}");
    let mut wrong = search.clone();
    wrong["search"]["criteria"] = "fast".into();
    assert!(Plan::from_json(&wrong.to_string()).is_err());
}
