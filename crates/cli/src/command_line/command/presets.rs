//! `presets`: the servers that a plan can start by name.

use std::fmt::Write;

use clap::Args;
use inferometer_launch::preset;
use inferometer_plan::spec::{CommandLine, ServerSpec};

use crate::command_line::exit::{Failure, print};

/// The flags of `presets`.
#[derive(Args)]
pub struct PresetsArgs {
    /// Print the TOML file of this one, as a beginning for one of your own
    name: Option<String>,
}

/// Lists the presets, or prints one.
pub fn presets(arguments: &PresetsArgs) -> Result<(), Failure> {
    if let Some(name) = &arguments.name {
        // A name that there is not is told with those that there are.
        preset::preset(name).map_err(Failure::usage)?;
        let text = preset::presets().find(|(known, _)| known == name).map(|(_, text)| text);
        return print(text.ok_or_else(|| Failure::usage(format!("{name}: is a file already")))?);
    }
    let mut text = String::new();
    for (name, _) in preset::presets() {
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
    print(&text)
}
