//! Writes the plan of a run as a plan file, so that the run can be repeated. The file contains only the keys
//! that were set, and the seed and the salt.

use inferometer_plan::{Plan, spec::Spec};

/// The user's plan as a plan file in TOML, without the output folder. The seed is always included, and so is the
/// salt if it is known, because repeating the run needs them.
pub fn plan_toml(plan: &Plan, salt: Option<&str>) -> String {
    let asked = Spec {
        seed: Some(plan.seed),
        salt: salt.map(str::to_owned).or_else(|| plan.spec.salt.clone()),
        // A repeated run with the same output folder would overwrite the report of this run.
        out: None,
        ..(*plan.spec).clone()
    };
    spec_toml(&asked)
}

/// A spec as a plan file in TOML.
pub fn spec_toml(spec: &Spec) -> String {
    // TOML has no null: absent values are left out.
    let mut value = spec.keys().into();
    drop_nulls(&mut value);
    toml::to_string_pretty(&value).unwrap_or_else(|_| format!("{value:#}"))
}

fn drop_nulls(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}
