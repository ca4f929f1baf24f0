//! The origins of a plan's values, for `--dry-run`.

use std::path::Path;

use serde_json::{Map, Value, json};

/// The origins of the values that are not defaults, and the settings that were ignored.
#[derive(Default)]
pub struct Origins {
    /// Keys with their origins, in the order in which they are printed.
    used: Vec<(String, String)>,
    /// Settings that do not apply to the run: key, origin and reason.
    unused: Vec<(String, String, &'static str)>,
}

impl Origins {
    /// The origins of the keys in a plan file, and in flags that override it.
    pub(super) fn of(
        plan: Option<&Path>,
        of_file: &Map<String, Value>,
        flags: &Map<String, Value>,
    ) -> Self {
        let flag = |key: &String| (key.clone(), flag_of(key, flags));
        let used: Vec<_> = flags.keys().map(flag).collect();
        let mut origins = Self { used, unused: Vec::new() };
        if let Some(plan) = plan {
            let plan = plan.display().to_string();
            let kept = of_file.keys().filter(|key| !flags.contains_key(*key));
            origins.used.extend(kept.map(|key| (key.clone(), plan.clone())));
        }
        origins
    }

    /// Adds a setting that is used.
    pub(super) fn add(&mut self, key: &str, origin: &str) {
        self.used.push((key.to_owned(), origin.to_owned()));
    }

    /// Adds a setting that is not used.
    pub(super) fn unused(&mut self, key: &str, origin: &str, why: &'static str) {
        self.unused.push((key.to_owned(), origin.to_owned(), why));
    }

    /// Adds the origins to a printed plan: as comments after a plan file, or as keys of a JSON document.
    pub fn shown_with(&self, plan: String) -> String {
        if let Ok(Value::Object(mut document)) = serde_json::from_str(&plan) {
            let used = self.used.iter().map(|(key, origin)| (key.clone(), json!(origin)));
            document.insert("origins".to_owned(), used.collect::<Map<_, _>>().into());
            if !self.unused.is_empty() {
                let unused = self
                    .unused
                    .iter()
                    .map(|(key, origin, why)| (key.clone(), json!({"origin": origin, "why": why})));
                document.insert("unused".to_owned(), unused.collect::<Map<_, _>>().into());
            }
            return format!("{:#}\n", Value::Object(document));
        }
        let mut text = plan;
        for (key, origin) in &self.used {
            text += &format!("# {key}: from {origin}\n");
        }
        for (key, origin, why) in &self.unused {
            text += &format!("# {key}: not from {origin}, because {why}\n");
        }
        text += match self.used.is_empty() {
            true => "# all values are defaults\n",
            false => "# all other values are defaults\n",
        };
        text
    }
}

/// The flag that sets a key: `--KEY`, or `--no-KEY` if the value is false.
fn flag_of(key: &str, flags: &Map<String, Value>) -> String {
    let is_off = flags.get(key) == Some(&Value::Bool(false));
    let no = if is_off { "no-" } else { "" };
    format!("--{no}{}", key.replace('_', "-"))
}
