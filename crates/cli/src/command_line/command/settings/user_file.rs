//! Settings from the user's file, in TOML: keys of a plan file for which `run` has a flag, and other flags of `run`,
//! such as `quiet = true`.

use std::path::{Path, PathBuf};

use clap::Arg;
use inferometer_model::did_you_mean;
use inferometer_plan::spec::known_keys;
use serde_json::Value;

use super::{Settings, parsed, run_command, switched_off};
use crate::command_line::{Failure, variable};
use crate::plan_file;

/// The environment variable that contains the path of the user's file.
const VARIABLE: &str = "INFEROMETER_CONFIG";

/// Adds the settings of the user's file, if the file exists.
pub(super) fn add(settings: &mut Settings) -> Result<(), Failure> {
    let Some(path) = path()? else { return Ok(()) };
    let origin = path.display().to_string();
    let keys = plan_file::read(&path)?;
    let command = run_command();
    let flags: Vec<String> = command
        .get_arguments()
        .filter_map(|flag| flag.get_long())
        .map(|flag| flag.replace('-', "_"))
        .chain(switched_off(&command))
        .collect();
    let known = || flags.iter().map(String::as_str);
    let of_plans = known_keys();
    let mut mistakes = Vec::new();
    for (key, value) in keys {
        if settings.off.contains(&key) {
            continue;
        }
        let is_of_plan = of_plans.contains(&key);
        if !known().any(|name| name == key) {
            let what =
                if is_of_plan { "is allowed only in a plan file" } else { "is not a setting" };
            mistakes.push(format!("{origin}: `{key}` {what}{}", did_you_mean(&key, known())));
        } else if is_of_plan {
            let is_path = command.get_arguments().any(|flag| {
                flag.get_long().is_some_and(|long| long.replace('-', "_") == key)
                    && holds_path(flag)
            });
            let value = match is_path {
                true => match expanded(value, variable("HOME").as_deref()) {
                    Ok(value) => value,
                    Err(why) => {
                        mistakes.push(format!("{origin}: `{key}`: {why}"));
                        continue;
                    }
                },
                false => value,
            };
            match plan_file::wrong_kind(&key, &value) {
                Some(mistake) => mistakes.push(format!("{origin}: {mistake}")),
                None => settings.add(&key, value, &origin),
            }
        } else {
            match switch(&key, &value) {
                Ok(None) => {}
                Ok(Some(word)) => match parsed(&[word]) {
                    Ok(arguments) => settings.switches.push(arguments),
                    Err(why) => mistakes.push(format!("{origin}: `{key}`: {why}")),
                },
                Err(why) => mistakes.push(format!("{origin}: `{key}` {why}")),
            }
        }
    }
    if mistakes.is_empty() { Ok(()) } else { Err(Failure::mistakes(mistakes)) }
}

/// Whether the value of a flag is a path, according to the placeholder in the help.
fn holds_path(flag: &Arg) -> bool {
    let names = flag.get_value_names().unwrap_or_default();
    names.iter().any(|name| ["FILE", "PATH", "DIR"].iter().any(|word| name.contains(word)))
}

/// Replaces `~` at the start of a path by the user's home folder, as a shell does.
fn expanded(value: Value, home: Option<&str>) -> Result<Value, String> {
    let Some(path) = value.as_str().and_then(|text| text.strip_prefix('~')) else {
        return Ok(value);
    };
    match home.filter(|home| !home.is_empty()) {
        Some(home) if path.is_empty() || path.starts_with('/') => {
            Ok(format!("{home}{path}").into())
        }
        Some(_) => Err("`~` with a user name is not supported; write the whole path".to_owned()),
        None => Err("HOME is not set, so `~` is unknown; write the whole path".to_owned()),
    }
}

/// Converts the entry of a flag that is not a key of a plan to a command-line word. None if the value is `false`.
fn switch(key: &str, value: &Value) -> Result<Option<String>, String> {
    let long = key.replace('_', "-");
    match value {
        Value::Bool(true) => Ok(Some(format!("--{long}"))),
        Value::Bool(false) => Ok(None),
        Value::String(text) => Ok(Some(format!("--{long}={text}"))),
        Value::Number(number) => Ok(Some(format!("--{long}={number}"))),
        _ => Err("has a value of the wrong type".to_owned()),
    }
}

/// The path of the user's file; None if there is no such file. A path from the variable is returned even if the file
/// does not exist, so that reading it fails.
fn path() -> Result<Option<PathBuf>, Failure> {
    if let Some(named) = given(VARIABLE) {
        return Ok(Some(PathBuf::from(named)));
    }
    let Some(file) = folder().map(|folder| folder.join("config.toml")) else { return Ok(None) };
    let exists = file.try_exists().map_err(|error| {
        Failure::usage(format!("{}: {error}; {VARIABLE} can name another file", file.display()))
    })?;
    Ok(exists.then_some(file))
}

/// The folder of the user's file, if the variable names no other file.
fn folder() -> Option<PathBuf> {
    let folder = given("XDG_CONFIG_HOME").map(PathBuf::from);
    let folder = folder.or_else(|| Some(PathBuf::from(given("HOME")?).join(".config")));
    folder.map(|folder| folder.join("inferometer"))
}

/// The folder of the user's own profiles: the folder that `INFEROMETER_PROFILES` names. Without this variable, it is
/// the folder `profiles` beside the user's file. None if neither is known.
pub fn profiles_folder() -> Option<PathBuf> {
    let named = named_profiles_folder();
    if named.is_some() {
        return named;
    }
    let beside = match given(VARIABLE) {
        Some(file) => Path::new(&file).parent().map(Path::to_path_buf),
        None => folder(),
    };
    beside.map(|folder| folder.join("profiles"))
}

/// The folder that `INFEROMETER_PROFILES` names.
pub fn named_profiles_folder() -> Option<PathBuf> {
    given("INFEROMETER_PROFILES").map(PathBuf::from)
}

/// The value of a variable, if it is not empty.
fn given(name: &str) -> Option<String> {
    variable(name).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tilde_at_the_beginning_of_a_path_is_expanded_to_the_home_folder() {
        for (given, expected) in [
            ("~/runs.db", Ok("/home/u/runs.db")),
            ("~", Ok("/home/u")),
            ("/data/~/runs.db", Ok("/data/~/runs.db")),
            ("runs.db", Ok("runs.db")),
            ("~other/runs.db", Err("write the whole path")),
        ] {
            match (expanded(given.into(), Some("/home/u")), expected) {
                (Ok(path), Ok(expected)) => assert_eq!(path, expected),
                (Err(why), Err(says)) => assert!(why.contains(says), "{given}: {why}"),
                (found, _) => panic!("{given}: {found:?}"),
            }
        }
        assert!(expanded("~/a".into(), None).is_err_and(|why| why.contains("HOME is not set")));
    }
}
