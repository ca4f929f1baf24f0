//! `[server]`: the server that a run starts, as the user writes it. A preset has the same keys. This module
//! starts no process.

use std::{collections::BTreeMap, time::Duration};

use inferometer_model::Secrets;
use inferometer_model::json::{form, one_of};
use inferometer_model::secrets::{REDACTED, names_a_secret_argument};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value as Json};

use super::values::{self, Value};
use crate::{LaunchPlan, shell};

/// The keys of `[server]`. Every key is optional, but there must be a command.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerSpec {
    /// A preset for the keys that are absent here: a name or a TOML file.
    pub preset: Option<String>,
    /// A description of the preset, for lists of presets.
    pub description: Option<String>,
    /// Advice on the use of the preset, for lists of presets.
    pub notes: Option<String>,
    /// The program and its arguments, or a shell command line.
    pub command: Option<CommandLine>,
    /// The value of `{model}` in the command.
    pub model: Option<String>,
    /// The address on which the server listens: `{host}` in the command.
    pub host: Option<String>,
    /// The port on which the server listens: `{port}` in the command; absent or 0: a free port.
    pub port: Option<u16>,
    /// Environment variables in addition to those of this program.
    pub environment: Option<Map<String, Json>>,
    /// The working directory of the server.
    pub directory: Option<String>,
    /// Arguments by name. A name in capitals is an environment variable.
    pub arguments: Option<Map<String, Json>>,
    /// The arguments to sweep: a list of values for each name, or a list of tables.
    pub sweep: Option<Json>,
    /// How the lists in `sweep` are combined: `product`, `zip`.
    pub sweep_mode: Option<String>,
    /// An HTTP path that answers with success once the server is ready.
    pub ready_url: Option<String>,
    /// A text. When a line of the server's log contains this text, the server is ready.
    pub ready_line: Option<String>,
    /// The longest time from the start of the server until it is ready.
    pub ready_timeout: Option<Value>,
    /// The time between SIGTERM and SIGKILL when the server is ended.
    pub grace: Option<Value>,
    /// The maximum size of the stored log of the server, in MiB.
    pub log_limit_mib: Option<u32>,
}

/// A command as a list of words, or as a line for `sh -c`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum CommandLine {
    /// A shell command line; named arguments are appended if it has no placeholder for them.
    Shell(String),
    /// The program and its arguments. The program is started without a shell.
    Words(Vec<String>),
}

impl<'de> Deserialize<'de> for CommandLine {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        one_of(from, "a text or a list of texts", |value| match value {
            Json::String(line) => Some(Self::Shell(line)),
            value => form(value).map(Self::Words),
        })
    }
}

/// The placeholder of the named arguments in a command; without it, they are appended.
const ARGUMENTS: &str = "{arguments}";
const MODEL: &str = "{model}";
/// The other placeholders, which are replaced by text.
const PLACES: [&str; 4] = [MODEL, "{host}", "{port}", "{inferometer}"];

impl ServerSpec {
    /// Returns this table, with the values of `preset` for its absent values. Arguments and environment
    /// variables are merged by name. If both tables have the same name, the value of this table is used. The
    /// result has no `description` and no `notes`.
    #[must_use]
    pub fn over(self, preset: &Self) -> Self {
        let join = |ours: Option<Map<String, Json>>, theirs: &Option<Map<String, Json>>| {
            let mut joined = theirs.clone().unwrap_or_default();
            joined.extend(ours.unwrap_or_default());
            Some(joined).filter(|joined| !joined.is_empty())
        };
        Self {
            preset: self.preset,
            description: None,
            notes: None,
            command: self.command.or_else(|| preset.command.clone()),
            model: self.model.or_else(|| preset.model.clone()),
            host: self.host.or_else(|| preset.host.clone()),
            port: self.port.or(preset.port),
            environment: join(self.environment, &preset.environment),
            directory: self.directory.or_else(|| preset.directory.clone()),
            arguments: join(self.arguments, &preset.arguments),
            sweep: self.sweep.or_else(|| preset.sweep.clone()),
            sweep_mode: self.sweep_mode.or_else(|| preset.sweep_mode.clone()),
            ready_url: self.ready_url.or_else(|| preset.ready_url.clone()),
            ready_line: self.ready_line.or_else(|| preset.ready_line.clone()),
            ready_timeout: self.ready_timeout.or_else(|| preset.ready_timeout.clone()),
            grace: self.grace.or_else(|| preset.grace.clone()),
            log_limit_mib: self.log_limit_mib.or(preset.log_limit_mib),
        }
    }

    /// Fills in the defaults.
    ///
    /// # Errors
    /// All mistakes, each with its key.
    pub fn resolve(&self) -> Result<LaunchPlan, Vec<String>> {
        let mut mistakes = Vec::new();
        let mut span = |key: &str, given: &Option<Value>, default_s: u64| match given {
            None => Duration::from_secs(default_s),
            Some(value) => values::span(value).unwrap_or_else(|problem| {
                mistakes.push(format!("{key}: `{value}` {problem}"));
                Duration::ZERO
            }),
        };
        let ready_timeout = span("ready_timeout", &self.ready_timeout, 600);
        let grace = span("grace", &self.grace, 30);
        let mut environment = self.environment(&mut mistakes);
        let mut flags = Vec::new();
        let mut settings = BTreeMap::new();
        for (name, value) in self.arguments.iter().flatten() {
            if let Some(mistake) = wrong_argument(name, value) {
                mistakes.push(format!("arguments: {mistake}"));
            }
            settings.insert(name.clone(), text_of(value));
            if is_variable(name) {
                environment.insert(name.clone(), text_of(value));
            } else {
                flags.extend(flag(name, value));
            }
        }
        if self.sweep.is_some() {
            mistakes.push("sweep: is not possible for a single run".to_owned());
        }
        if self.ready_url.as_ref().is_some_and(|path| !path.starts_with('/')) {
            mistakes.push("ready_url: must be a path on the server, such as /health".to_owned());
        }
        let command = self.command_line(flags, &mut mistakes);
        if command.iter().chain(environment.values()).any(|text| text.contains(REDACTED)) {
            mistakes.push(format!(
                "command: contains {REDACTED}, which stands for a secret that is not stored; give \
                    the plan file with the secret again"
            ));
        }
        // If no condition for readiness is given, the server is ready when it lists its models.
        let says_nothing = self.ready_url.is_none() && self.ready_line.is_none();
        let plan = LaunchPlan {
            command,
            host: self.host.clone().unwrap_or_else(|| "127.0.0.1".to_owned()),
            port: self.port.filter(|&port| port != 0),
            environment,
            directory: self.directory.clone(),
            ready_url: self.ready_url.clone().or(says_nothing.then(|| "/v1/models".to_owned())),
            ready_line: self.ready_line.clone(),
            ready_timeout,
            grace,
            log_limit_bytes: u64::from(self.log_limit_mib.unwrap_or(64).max(1)) << 20,
            settings,
            with_secrets: None,
        };
        if mistakes.is_empty() { Ok(plan) } else { Err(mistakes) }
    }

    /// This table with `***` for each secret.
    pub(crate) fn redacted(self, secrets: &Secrets) -> Self {
        let mut table = serde_json::to_value(&self).unwrap_or_default();
        secrets.redact_json(&mut table);
        serde_json::from_value(table).unwrap_or(self)
    }

    /// Whether the command has the placeholder `{model}`.
    pub fn has_place_for_model(&self) -> bool {
        match &self.command {
            None => false,
            Some(CommandLine::Shell(line)) => line.contains(MODEL),
            Some(CommandLine::Words(words)) => words.iter().any(|word| word.contains(MODEL)),
        }
    }

    fn environment(&self, mistakes: &mut Vec<String>) -> BTreeMap<String, String> {
        let mut environment = BTreeMap::new();
        for (name, value) in self.environment.iter().flatten() {
            if name.is_empty() || name.contains(['=', '\0']) {
                mistakes.push(format!("environment: `{name}` is not the name of a variable"));
            }
            if let Some(mistake) = wrong_argument(name, value) {
                mistakes.push(format!("environment: {mistake}"));
            }
            environment.insert(name.clone(), text_of(value));
        }
        environment
    }

    fn command_line(&self, flags: Vec<String>, mistakes: &mut Vec<String>) -> Vec<String> {
        let words = match &self.command {
            None => {
                mistakes.push(
                    "command: is missing; give the command that starts the server, or a preset \
                        (`inferometer list presets`)"
                        .to_owned(),
                );
                return Vec::new();
            }
            Some(CommandLine::Words(words)) => words.clone(),
            Some(CommandLine::Shell(line)) => {
                // The shell passes the arguments on unchanged, even if they contain special characters.
                let line = with_arguments(line, "\"$@\"", flags.is_empty(), mistakes);
                ["sh", "-c", &line, "sh"].map(str::to_owned).to_vec()
            }
        };
        if words.first().is_none_or(|program| program.trim().is_empty()) {
            mistakes.push("command: is empty".to_owned());
        }
        match (self.has_place_for_model(), &self.model) {
            (true, None) => mistakes.push(
                "model: is missing, but the command needs it; give a path or a hub id".to_owned(),
            ),
            (false, Some(model)) => mistakes.push(format!(
                "model: the server would not get `{model}`, because the command has no {MODEL}; put \
                    {MODEL} into the command, or leave out this key and name the model in requests \
                    with the plan's own `model`"
            )),
            _ => {}
        }
        // A shell command line is a single word here.
        for name in words.iter().flat_map(|word| word.split_whitespace()).map(flag_name) {
            if names_a_secret_argument(name) {
                mistakes.push(format!("command: {}", secret_told(name)));
            }
        }
        let model = self.model.as_deref().unwrap_or_default();
        let mut is_placed = words.iter().any(|word| word == ARGUMENTS);
        let in_line = flags.iter().map(|flag| shell::word(flag)).collect::<Vec<_>>().join(" ");
        let mut command: Vec<String> = Vec::new();
        for (at, word) in words.iter().enumerate() {
            match word.as_str() {
                ARGUMENTS => command.extend(flags.clone()),
                line if shell::is_line(&words, at) => {
                    for place in PLACES.iter().filter(|place| shell::is_in_backticks(line, place)) {
                        mistakes.push(format!("command: {place} {}", shell::IN_BACKTICKS));
                    }
                    let filled = shell::insert(line, MODEL, model);
                    // The words after a line are its parameters (`$@`). The line may pass them on.
                    let hands_on = at + 1 < words.len() && line.contains("$@");
                    let is_own = matches!(self.command, Some(CommandLine::Words(_)));
                    let goes_in = !(flags.is_empty() || is_placed || hands_on);
                    if is_own && (goes_in || line.contains(ARGUMENTS)) {
                        command.push(with_arguments(&filled, &in_line, false, mistakes));
                        is_placed = true;
                    } else {
                        command.push(filled);
                    }
                }
                word => command.push(word.replace(MODEL, model)),
            }
        }
        if !is_placed {
            command.extend(flags);
        }
        command
    }
}

/// Inserts `text`, the named arguments, into a shell command line. `none`: there are no arguments.
fn with_arguments(line: &str, text: &str, none: bool, mistakes: &mut Vec<String>) -> String {
    shell::fill_or_append(line, ARGUMENTS, text).unwrap_or_else(|problem| {
        // Without arguments, a line does not need a placeholder for them.
        if !none || line.contains(ARGUMENTS) {
            mistakes.push(format!("command: {ARGUMENTS} {problem}"));
        }
        line.to_owned()
    })
}

/// `max-num-seqs` and 32 give `--max-num-seqs 32`; `c` and 4 give `-c 4`. A name that begins with `-` stays
/// unchanged. `true` gives the flag without a value; `false` gives nothing; a list gives several values.
fn flag(name: &str, value: &Json) -> Vec<String> {
    let flag = match name {
        name if name.starts_with('-') => name.to_owned(),
        name if name.chars().count() == 1 => format!("-{name}"),
        name => format!("--{name}"),
    };
    match value {
        Json::Bool(true) => vec![flag],
        Json::Bool(false) => Vec::new(),
        Json::Array(values) => std::iter::once(flag).chain(values.iter().map(text_of)).collect(),
        value => vec![flag, text_of(value)],
    }
}

/// A value as text of a command line.
fn text_of(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Array(values) => values.iter().map(text_of).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

/// Whether an argument is an environment variable: its name has at least two characters, and only capitals,
/// digits and `_`.
fn is_variable(name: &str) -> bool {
    let is_capital = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    name.len() > 1 && name.chars().all(is_capital)
}

fn wrong_argument(name: &str, value: &Json) -> Option<String> {
    if names_a_secret_argument(name) {
        return Some(secret_told(name));
    }
    match value {
        Json::Null => Some(format!("`{name}` has no value; give a value, or leave it out")),
        Json::Object(_) => {
            Some(format!("`{name}` is a table; write it as the text that the server expects"))
        }
        _ => None,
    }
}

fn secret_told(name: &str) -> String {
    format!(
        "`{name}` looks like a secret, which would be stored in results; set it in the environment \
            of this command, which the server inherits"
    )
}

/// The name of the flag or environment variable that a word of a command line sets; empty if it sets none.
fn flag_name(word: &str) -> &str {
    match (word.strip_prefix("--"), word.split_once('=')) {
        (Some(flag), _) => flag.split('=').next().unwrap_or(flag),
        (None, Some((variable, _))) if is_variable(variable) => variable,
        _ => "",
    }
}

#[cfg(test)]
mod tests;
