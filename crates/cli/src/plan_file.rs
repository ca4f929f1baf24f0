//! A plan file and the flags beside it, as one spec. Both have the same keys; flags win.

use std::fs;
use std::path::Path;

use inferometer_core::spec::Spec;
use inferometer_core::suggest::did_you_mean;
use serde_json::{Map, Value};

use crate::exit::Failure;

/// Reads the plan file, if there is one, and lays the flags over it.
///
/// # Errors
/// When the file cannot be read, is no TOML, or holds a key or a value that a plan cannot have.
pub fn merge(file: Option<&Path>, flags: Map<String, Value>) -> Result<Spec, Failure> {
    let (mut keys, origin) = match file {
        Some(path) => (read(path)?, path.display().to_string()),
        None => (Map::new(), "the flags".to_owned()),
    };
    keys.extend(flags);
    let known = known_keys();
    let mut mistakes = Vec::new();
    for (key, value) in &keys {
        if !known.contains(key) {
            let suggestion = did_you_mean(key, known.iter().map(String::as_str));
            mistakes.push(format!("{origin}: `{key}` is not a key of a plan{suggestion}"));
        } else if let Some(mistake) = wrong_kind(key, value) {
            mistakes.push(format!("{origin}: {mistake}"));
        }
    }
    if !mistakes.is_empty() {
        return Err(Failure::Usage(mistakes));
    }
    serde_json::from_value(Value::Object(keys))
        .map_err(|error| Failure::usage(format!("{origin}: {error}")))
}

/// What is wrong with the kind of a value, if it is: each key is tried alone, so that every
/// mistake is told. Values of headers are not repeated, for they may be secrets.
fn wrong_kind(key: &str, value: &Value) -> Option<String> {
    let alone = Value::Object(Map::from_iter([(key.to_owned(), value.clone())]));
    let error = serde_path_to_error::deserialize::<_, Spec>(&alone).err()?;
    if key == "header" {
        return Some("`header` is not a list of texts such as 'Name: value'".to_owned());
    }
    // Where keys are gathered into groups the path is not known, the key is.
    let path = error.path().to_string();
    let path = if path.starts_with(key) { path } else { key.to_owned() };
    Some(format!("`{path}` has a value of the wrong kind: {}", error.inner()))
}

fn read(path: &Path) -> Result<Map<String, Value>, Failure> {
    let problem = |what: String| Failure::usage(format!("{}: {what}", path.display()));
    let text =
        fs::read_to_string(path).map_err(|error| problem(format!("cannot be read: {error}")))?;
    let table: toml::Table =
        toml::from_str(&text).map_err(|error| problem(format!("is not TOML: {error}")))?;
    match serde_json::to_value(table) {
        Ok(Value::Object(keys)) => Ok(keys),
        Ok(_) | Err(_) => Err(problem("holds a value that a plan cannot have".to_owned())),
    }
}

/// The keys of a plan, from the spec itself.
fn known_keys() -> Vec<String> {
    match serde_json::to_value(Spec::default()) {
        Ok(Value::Object(keys)) => keys.keys().cloned().collect(),
        _ => Vec::new(),
    }
}
