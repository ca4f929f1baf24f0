//! Results for programs: the JSON document that `schema/summary.schema.json` describes. It contains no
//! NaN and no infinity, because JSON has no such numbers.

use inferometer_analysis::Summary;
use serde_json::Value;

/// The keys that identify a distribution: an object that has all of them is a distribution.
const DISTRIBUTION_KEYS: [&str; 5] = ["mean", "p50", "p90", "p99", "max"];

/// The summary as indented JSON with a final newline.
///
/// A figure that is not finite is `null`. An absent figure is `null`, or its key is left out. A distribution or
/// an interval with a part that is not finite is `null` as a whole.
pub fn summary(summary: &Summary) -> String {
    let mut value = serde_json::to_value(summary)
        .expect("invariant: a summary has string keys and no type that JSON lacks");
    drop_undefined(&mut value);
    let mut text = serde_json::to_string_pretty(&value)
        .expect("invariant: a JSON value can always be written");
    text.push('\n');
    text
}

/// Replaces a distribution or an array, such as an interval, by `null` if one of its parts is `null`. Numbers
/// that are not finite are `null` already, because serde_json converts them.
fn drop_undefined(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.values_mut().for_each(drop_undefined);
            let is_distribution = DISTRIBUTION_KEYS.iter().all(|&key| map.contains_key(key));
            if is_distribution && DISTRIBUTION_KEYS.iter().any(|&key| map[key].is_null()) {
                *value = Value::Null;
            }
        }
        Value::Array(items) => {
            items.iter_mut().for_each(drop_undefined);
            if items.iter().any(Value::is_null) {
                *value = Value::Null;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
