//! `list presets`: the server presets that a plan can start by name.

use std::fmt::Write;

use inferometer_plan::spec::{CommandLine, ServerSpec};
use inferometer_servers::launch::preset;

use super::named;
use crate::command_line::Failure;

/// The presets as text; with names, the contents of their TOML files.
pub fn presets(names: &[String]) -> Result<String, Failure> {
    let all = named("presets", preset::presets(), |(name, _)| name, names)?;
    if !names.is_empty() {
        return Ok(all.into_iter().map(|(_, file)| file).collect());
    }
    let mut text = String::new();
    for (name, _) in all {
        let ServerSpec { description, notes, command, ready_url, .. } =
            preset::preset(name).map_err(Failure::run_failed)?;
        let command = match command {
            Some(CommandLine::Words(words)) => words.join(" "),
            Some(CommandLine::Shell(line)) => line,
            None => String::new(),
        };
        let _ = writeln!(
            text,
            "{name}\n    {}\n    {command}\n    ready: {}\n    {}\n",
            description.unwrap_or_default(),
            ready_url.unwrap_or_default(),
            notes.unwrap_or_default(),
        );
    }
    Ok(text)
}
