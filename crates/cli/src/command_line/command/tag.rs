//! `tag` and `note`: users' tags and notes for runs.

use std::path::PathBuf;

use clap::Args;
use inferometer_net::wall_clock_ns;
use inferometer_store::Store;

use crate::command_line::{Failure, print};

/// The flags of `tag`.
#[derive(Args)]
pub struct TagArgs {
    /// The database
    #[arg(long, value_name = "FILE", default_value = "inferometer.db")]
    store: PathBuf,
    /// A run: its name, a part of the name, a tag, or `latest`
    #[arg(value_name = "RUN")]
    run: String,
    /// Tags to add (+a, or a) and to remove (-b); without tags, the tags of the run are printed
    #[arg(value_name = "+TAG|-TAG", allow_hyphen_values = true, trailing_var_arg = true)]
    tags: Vec<String>,
}

/// Adds and removes tags of a run, and prints all its tags.
pub fn tag(arguments: &TagArgs) -> Result<(), Failure> {
    let mut store = Store::open_existing(&arguments.store).map_err(Failure::usage)?;
    let run = store.find(&arguments.run).map_err(Failure::usage)?;
    let (mut add, mut remove) = (Vec::new(), Vec::new());
    for tag in &arguments.tags {
        if tag.starts_with("--") {
            return Err(Failure::usage(format!("{tag}: write flags of `tag` before the run")));
        }
        match (tag.strip_prefix('+'), tag.strip_prefix('-')) {
            (Some(name), _) => add.push(name.to_owned()),
            (_, Some(name)) => remove.push(name.to_owned()),
            (None, None) => add.push(tag.clone()),
        }
    }
    let tags = store.tag(&run, &add, &remove).map_err(Failure::usage)?;
    print(&format!(
        "{run}: {}\n",
        if tags.is_empty() { "no tags".to_owned() } else { tags.join(" ") }
    ))
}

/// The flags of `note`.
#[derive(Args)]
pub struct NoteArgs {
    /// A run: its name, a part of the name, a tag, or `latest`
    #[arg(value_name = "RUN")]
    run: String,
    /// Text of the note; without a text, the notes of the run are printed
    #[arg(value_name = "TEXT")]
    text: Option<String>,
    /// The database
    #[arg(long, value_name = "FILE", default_value = "inferometer.db")]
    store: PathBuf,
}

/// Adds a note to a run, or prints its notes.
pub fn note(arguments: &NoteArgs) -> Result<(), Failure> {
    let mut store = Store::open_existing(&arguments.store).map_err(Failure::usage)?;
    let run = store.find(&arguments.run).map_err(Failure::usage)?;
    let Some(text) = arguments.text.as_deref().map(str::trim) else {
        let notes = store.notes(&run).map_err(Failure::run_failed)?;
        if notes.is_empty() {
            return print(&format!("{run}: no notes\n"));
        }
        let lines = notes.iter().map(|note| format!("{}  {}\n", note.at, note.text));
        return print(&lines.collect::<String>());
    };
    if text.is_empty() {
        return Err(Failure::usage("TEXT: is empty"));
    }
    let now = i64::try_from(wall_clock_ns()).unwrap_or(i64::MAX);
    store.note(&run, text, now).map_err(Failure::run_failed)?;
    let notes = store.notes(&run).map_err(Failure::run_failed)?.len();
    print(&format!("{run}: {notes} {}\n", if notes == 1 { "note" } else { "notes" }))
}
