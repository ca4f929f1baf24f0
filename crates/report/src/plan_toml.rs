//! The plan of a run as a file that measures it again. It has only the keys that were set.

use inferometer_plan::Plan;
use inferometer_plan::spec::Spec;

/// The requested plan as a file, with the seed and the salt that were chosen for the user: repeating the
/// run needs them.
pub fn plan_toml(plan: &Plan, salt: Option<&str>) -> String {
    let asked = Spec {
        seed: Some(plan.seed),
        salt: salt.map(str::to_owned).or_else(|| plan.asked.salt.clone()),
        // Another run in this folder would replace the report of this one.
        out: None,
        ..(*plan.asked).clone()
    };
    spec_toml(&asked)
}

/// A spec as a plan file.
pub fn spec_toml(spec: &Spec) -> String {
    // TOML has no null: absent values are left out.
    let mut value = serde_json::to_value(spec).unwrap_or_default();
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
