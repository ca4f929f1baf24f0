//! Settings: values from environment variables and from the user's file. They apply to keys that are given neither by a
//! flag nor by the plan file. The precedence is: flag, plan file, variable `INFEROMETER_NAME` of a flag `--name`,
//! user's file, and `OPENAI_BASE_URL` for the target. Other keys have their defaults.

mod fitting;
mod origins;
mod user_file;
mod variables;

use std::path::Path;

use clap::{Arg, Args, Command, FromArgMatches};
use inferometer_plan::spec::PlanCommand;
use inferometer_run::PlanError;
use serde_json::{Map, Value};

use super::run_flags::RunArgs;
use crate::command_line::{Failure, tell, variable};
use crate::plan_file;

pub use origins::Origins;
pub use user_file::{named_profiles_folder, profiles_folder};

/// The environment variable from which other programs read the address of an OpenAI-compatible service.
pub const OPENAI_BASE_URL: &str = "OPENAI_BASE_URL";

/// The value of `target` that selects the embedded engine, even if the settings contain a server.
const EMBEDDED: &str = "embedded";

/// The settings that apply to a resumed run: where results are stored, and how to connect to the server. Everything
/// else is in the plan of the resumed run.
const OF_RESUMED: [&str; 5] = ["store", "out", "header", "proxy", "api_key_env"];

/// A key of a plan with its value, and the origin of the value.
struct Setting {
    key: String,
    value: Value,
    origin: String,
}

/// All settings. If several sources have the same key, the first source has precedence.
#[derive(Default)]
pub struct Settings {
    keys: Vec<Setting>,
    /// The parsed flags of each setting. They are used only for flags that are not keys of a plan. The first entry has
    /// precedence.
    switches: Vec<RunArgs>,
    /// Flags that a variable switches off, by their names with underscores.
    off: Vec<String>,
    /// Warnings about variables that do not match a flag.
    warnings: Vec<String>,
}

/// The keys of a run after applying the settings.
pub struct Applied {
    /// The keys, which override those of the plan file.
    pub keys: Map<String, Value>,
    /// The origin of each key that is not a default.
    pub origins: Origins,
}

impl Settings {
    /// Reads the settings.
    ///
    /// # Errors
    /// If the user's file cannot be read or has an unknown key, or if a value is invalid for its flag.
    pub fn read() -> Result<Self, Failure> {
        let mut settings = Self::default();
        variables::add(&mut settings)?;
        user_file::add(&mut settings)?;
        if let Some(url) = variable(OPENAI_BASE_URL).filter(|url| !url.trim().is_empty()) {
            settings.add("target", Value::String(url), OPENAI_BASE_URL);
        }
        Ok(settings)
    }

    fn add(&mut self, key: &str, value: Value, origin: &str) {
        if self.value(key).is_none() {
            let (key, origin) = (key.to_owned(), origin.to_owned());
            self.keys.push(Setting { key, value, origin });
        }
    }

    /// The value of a key; None if no setting has this key.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.keys.iter().find(|setting| setting.key == key).map(|setting| &setting.value)
    }

    /// The settings that may contain secrets, as words of a command line. The values must not be printed.
    pub fn secret_words(&self) -> Vec<String> {
        let words = |flag: &str, key: &str| -> Vec<String> {
            let texts: Vec<String> = match self.value(key) {
                Some(Value::Array(all)) => {
                    all.iter().filter_map(Value::as_str).map(str::to_owned).collect()
                }
                Some(Value::String(one)) => vec![one.clone()],
                _ => Vec::new(),
            };
            texts.into_iter().flat_map(|text| [flag.to_owned(), text]).collect()
        };
        [words("--header", "header"), words("--api-key-env", "api_key_env")].concat()
    }

    /// The address of the server, and the origin of this setting. None if no setting has a target, or if the target is
    /// the embedded engine.
    pub fn target(&self) -> Option<(&str, &str)> {
        let setting = self.keys.iter().find(|setting| setting.key == "target")?;
        let url = setting.value.as_str().filter(|url| *url != EMBEDDED)?;
        Some((url, &setting.origin))
    }

    /// The path of the store, if it is set.
    pub fn store(&self) -> Option<&str> {
        self.value("store")?.as_str()
    }

    /// Adds the store to the keys, if neither the keys nor the plan file have one.
    ///
    /// # Errors
    /// If the plan file cannot be read.
    pub fn add_store(
        &self,
        plan: Option<&Path>,
        keys: &mut Map<String, Value>,
    ) -> Result<(), PlanError> {
        let of_file = plan.map_or_else(|| Ok(Map::new()), plan_file::read)?;
        if let (Some(store), false) = (self.value("store"), of_file.contains_key("store")) {
            keys.entry("store").or_insert_with(|| store.clone());
        }
        Ok(())
    }

    /// Fills in the flags that are not keys of a plan from the settings, if the command takes them.
    pub fn switched(&self, mut arguments: RunArgs, command: PlanCommand) -> RunArgs {
        self.switches.iter().for_each(|lower| arguments.fill_from(lower));
        arguments.clear_left_out(command);
        arguments
    }

    /// Adds each setting that applies to the run, if neither a flag nor the plan file has its key. For a resumed run,
    /// adds only those of `OF_RESUMED`. Without `--quiet`, prints which settings are used and which are ignored.
    /// `earlier` has the plan keys of the run to resume.
    ///
    /// # Errors
    /// If the plan file cannot be read.
    pub fn apply(
        &self,
        plan: Option<&Path>,
        mut keys: Map<String, Value>,
        arguments: &RunArgs,
        earlier: Option<&Map<String, Value>>,
    ) -> Result<Applied, PlanError> {
        let of_file = plan.map_or_else(|| Ok(Map::new()), plan_file::read)?;
        let mut origins = Origins::of(plan, &of_file, &keys);
        let is_embedded = |keys: &Map<String, Value>| {
            keys.get("target").and_then(Value::as_str) == Some(EMBEDDED)
        };
        let wants_embedded =
            is_embedded(&keys) || !keys.contains_key("target") && is_embedded(&of_file);
        let is_given = |key: &str, keys: &Map<String, Value>| {
            keys.contains_key(key) || of_file.contains_key(key)
        };
        let (mut told, resumes) = (Vec::new(), arguments.resume.is_some());
        let mut left_out = Vec::new();
        // A client certificate and its key belong together, so the key from the settings must not be used with another
        // certificate.
        let has_certificate = is_given("client_cert", &keys);
        // The target comes first, because it determines which other settings apply.
        let (targets, others): (Vec<_>, Vec<_>) =
            self.keys.iter().partition(|setting| setting.key == "target");
        for Setting { key, value, origin } in targets.into_iter().chain(others) {
            if is_given(key, &keys) || resumes && !OF_RESUMED.contains(&key.as_str()) {
                continue;
            }
            let of_earlier = |name: &str| earlier.and_then(|keys| keys.get(name));
            let all = |name: &str| {
                keys.get(name).or_else(|| of_file.get(name)).or_else(|| of_earlier(name))
            };
            let misfit = match has_certificate && key == "client_key" {
                true => Some("it may belong to another certificate"),
                false => fitting::misfit(key, &all),
            };
            if let Some(why) = misfit {
                origins.unused(key, origin, why);
                left_out.push(format!("setting ignored: {key}, from {origin}: {why}"));
                continue;
            }
            told.push((key, value, origin));
            origins.add(key, origin);
            keys.insert(key.clone(), value.clone());
        }
        if wants_embedded || is_embedded(&keys) {
            // Without a target, the embedded engine is measured.
            keys.insert("target".to_owned(), Value::Null);
        }
        if !arguments.quiet {
            self.warnings.iter().for_each(|warning| tell(warning));
            tell_of(&told);
            // A dry run prints the ignored settings after the plan.
            let lines = left_out.iter().filter(|_| !arguments.dry_run);
            lines.for_each(|line| tell(line));
        }
        Ok(Applied { keys, origins })
    }
}

/// Prints the target and the other settings that are used.
fn tell_of(settings: &[(&String, &Value, &String)]) {
    let mut by_origin: Vec<(&str, Vec<&str>)> = Vec::new();
    for (key, value, origin) in settings {
        if let (true, Some(url)) = (*key == "target", value.as_str()) {
            let url = inferometer_model::url::shown_address(url);
            tell(&format!("target: {url}, from {origin} (--target embedded ignores it)"));
            continue;
        }
        match by_origin.iter_mut().find(|(known, _)| known == origin) {
            Some((_, keys)) => keys.push(key),
            None => by_origin.push((origin, vec![key])),
        }
    }
    for (origin, keys) in by_origin {
        if origin.starts_with(variables::PREFIX) {
            tell(&format!("setting: {origin}"));
        } else {
            tell(&format!("settings of {origin}: {}", keys.join(", ")));
        }
    }
}

/// Parses `words` as flags of `run`. The error does not contain the values.
fn parsed(words: &[String]) -> Result<RunArgs, String> {
    let command = run_command();
    let argv = std::iter::once("run".to_owned()).chain(words.iter().cloned());
    let matches = command.try_get_matches_from(argv);
    matches.and_then(|matches| RunArgs::from_arg_matches(&matches)).map_err(|error| {
        // clap repeats the value in quotation marks. The value may be a secret, so only the text after it is used.
        let text = error.to_string();
        let line = text.lines().next().unwrap_or_default();
        let why = line.rsplit("': ").next().filter(|why| *why != line);
        why.map_or_else(
            || "is not a valid value of its flag".to_owned(),
            crate::command_line::number_words,
        )
    })
}

/// Keys of plans that a flag `--no-KEY` switches off.
fn switched_off(command: &Command) -> Vec<String> {
    let is_off = |flag: &&Arg| {
        flag.get_long() == Some(&format!("no-{}", flag.get_id().as_str().replace('_', "-")))
    };
    command.get_arguments().filter(is_off).map(|flag| flag.get_id().to_string()).collect()
}

fn run_command() -> Command {
    RunArgs::augment_args(Command::new("run").no_binary_name(false))
}
