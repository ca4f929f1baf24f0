//! `manual`: writes the manual pages, for packages of this program.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man;

use crate::command_line::{Failure, tell};

/// The flags of `manual`.
#[derive(Args)]
pub struct ManualArgs {
    /// Output folder, such as /usr/share/man/man1
    folder: PathBuf,
}

/// Writes a page for the program and one for each command and subcommand.
pub fn manual(arguments: &ManualArgs) -> Result<(), Failure> {
    let mut program = crate::command_line::command().disable_help_subcommand(true);
    program.build();
    let unwritten = |path: &Path, error: std::io::Error| {
        Failure::usage(format!("{}: cannot be written: {error}", path.display()))
    };
    fs::create_dir_all(&arguments.folder).map_err(|error| unwritten(&arguments.folder, error))?;
    let mut pages = Vec::new();
    add_pages("inferometer".to_owned(), &program, &mut pages);
    for (name, command) in &pages {
        let path = arguments.folder.join(format!("{name}.1"));
        let mut page = Vec::new();
        Man::new(command.clone()).render(&mut page).map_err(|error| unwritten(&path, error))?;
        fs::write(&path, page).map_err(|error| unwritten(&path, error))?;
    }
    tell(&format!("{}: {} pages", arguments.folder.display(), pages.len()));
    Ok(())
}

/// Adds the pages of a command and of its subcommands, except hidden subcommands. The pages have the names that `man`
/// expects, such as `inferometer-run`.
fn add_pages(name: String, command: &Command, pages: &mut Vec<(String, Command)>) {
    for below in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        add_pages(format!("{name}-{}", below.get_name()), below, pages);
    }
    pages.push((name.clone(), command.clone().display_name(name)));
}
