//! A class of traffic as a plan file or a flag has it.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::Value;

/// The form of a class, for messages.
pub(super) const FORM: &str = "write it as 'chat; rate=4; input=512; output=128'; more keys are burstiness, body, goodput, alone";

/// A class of traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassSpec {
    /// The name of the class.
    pub name: String,
    /// Its requests per second, as `rate` has them; `30s@0+30s@2` is a window.
    pub rate: Value,
    /// Gamma shape of the gaps between its arrivals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burstiness: Option<Value>,
    /// Its prompt tokens: a number, or a distribution as `input_distribution` has it.
    pub input: Value,
    /// Its output tokens, in the same form.
    pub output: Value,
    /// Fields of its requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Map<String, Json>>,
    /// Objectives on its requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput: Option<String>,
    /// Whether a pass measures the class alone, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone: Option<bool>,
}

impl FromStr for ClassSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        if name.contains(['=', ',']) {
            return Err(format!("its name comes first, and `;` after each part; {FORM}"));
        }
        let mut keys = Map::from_iter([("name".to_owned(), Json::from(name))]);
        for part in parts.filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').unwrap_or((part, "true"));
            let value = match key.trim() {
                "body" => serde_json::from_str(value).map_err(|error| {
                    format!("body: {error} (only a plan file may have a `;` in it)")
                })?,
                "alone" => value
                    .trim()
                    .parse()
                    .map(Json::Bool)
                    .map_err(|_| format!("alone: `{}` is not true or false", value.trim()))?,
                _ => Json::from(value.trim()),
            };
            if keys.insert(key.trim().to_owned(), value).is_some() {
                return Err(format!("it gives {} twice; {FORM}", key.trim()));
            }
        }
        serde_json::from_value(Json::Object(keys)).map_err(|error| format!("{error}; {FORM}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_written_as_a_table_or_as_a_text() {
        let text = "chat; rate=4; input=512; output=lognormal:128,64; body={\"priority\":0}; \
                    goodput=ttft<500ms,tpot<50ms; alone";
        let table = r#"{"name": "chat", "rate": "4", "input": "512", "output": "lognormal:128,64",
            "body": {"priority": 0}, "goodput": "ttft<500ms,tpot<50ms", "alone": true}"#;
        let read: ClassSpec = serde_json::from_str(table).expect("a table");
        assert_eq!(text.parse(), Ok(read));
        for (wrong, told) in [
            ("chat; rate=4; input=512", "missing field `output`"),
            ("rate=4; input=512; output=1", "its name comes first"),
            ("chat, rate=4, input=512", "its name comes first"),
            ("chat; rate=4; input=1; output=1; size=3", "unknown field `size`"),
            ("chat; rate=4; rate=5; input=1; output=1", "gives rate twice"),
            ("chat; rate=4; input=1; output=1; body={", "body: EOF"),
            ("chat; rate=4; input=1; output=1; alone=yes", "`yes` is not true or false"),
        ] {
            let problem = wrong.parse::<ClassSpec>().unwrap_err();
            assert!(problem.contains(told), "{wrong}: {problem}");
        }
    }
}
