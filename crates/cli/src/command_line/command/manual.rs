//! `manual`: the manual pages, for packages.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use clap_mangen::Man;

use crate::command_line::console::tell;
use crate::command_line::exit::Failure;

/// The flags of `manual`.
#[derive(Args)]
pub struct ManualArgs {
    /// The folder to write them into, such as /usr/share/man/man1
    folder: PathBuf,
}

/// Writes a page for the program and one for each command.
pub fn manual(arguments: &ManualArgs) -> Result<(), Failure> {
    let mut program = crate::command_line::command().disable_help_subcommand(true);
    program.build();
    let unwritten = |path: &Path, error: std::io::Error| {
        Failure::usage(format!("{}: cannot be written: {error}", path.display()))
    };
    fs::create_dir_all(&arguments.folder).map_err(|error| unwritten(&arguments.folder, error))?;
    let shown = program.get_subcommands().filter(|command| !command.is_hide_set());
    let pages = shown.cloned().map(|command| {
        let name = format!("inferometer-{}", command.get_name());
        // The page of a command has the name that `man` finds it by.
        (name.clone(), command.display_name(name))
    });
    let pages: Vec<_> = pages.chain([("inferometer".to_owned(), program.clone())]).collect();
    for (name, command) in &pages {
        let path = arguments.folder.join(format!("{name}.1"));
        let mut page = Vec::new();
        Man::new(command.clone()).render(&mut page).map_err(|error| unwritten(&path, error))?;
        fs::write(&path, page).map_err(|error| unwritten(&path, error))?;
    }
    tell(&format!("{}: {} pages", arguments.folder.display(), pages.len()));
    Ok(())
}
