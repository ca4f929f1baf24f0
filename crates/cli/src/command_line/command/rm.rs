//! `rm`: removes stored runs after a confirmation, or with `--yes`.

use std::io::{IsTerminal, stderr, stdin};
use std::path::PathBuf;

use clap::Args;
use inferometer_net::wall_clock_ns;
use inferometer_store::{RunRow, RunState, Store};

use super::runs::what;
use crate::command_line::{Failure, print, tell};

/// The flags of `rm`.
#[derive(Args)]
pub struct RmArgs {
    /// Runs, by name or by an unambiguous part of it; `latest` and tags are not accepted
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<String>,
    /// Remove without confirmation
    #[arg(long, short)]
    yes: bool,
    /// The database
    #[arg(long, value_name = "FILE", default_value = "inferometer.db")]
    store: PathBuf,
}

/// Removes runs and their logs from the store. The report files of these runs remain.
pub fn rm(arguments: &RmArgs) -> Result<(), Failure> {
    let mut store = Store::open_existing(&arguments.store).map_err(Failure::usage)?;
    let rows = named(&store, &arguments.runs)?;
    // If one of the runs is in progress, none is removed.
    if let Some(row) = rows.iter().find(|row| row.state == RunState::Running) {
        return Err(Failure::usage(format!(
            "run {} is being written: end the process that measures it, then remove the run; \
             nothing was removed",
            row.id
        )));
    }
    if !arguments.yes {
        ask(&rows)?;
    }
    let now = i64::try_from(wall_clock_ns()).unwrap_or(i64::MAX);
    for row in &rows {
        let bytes = store.remove(row, now).map_err(Failure::run_failed)?;
        print(&format!("{}: removed, with a log of {bytes} bytes\n", row.id))?;
    }
    Ok(())
}

/// The named runs, without duplicates.
fn named(store: &Store, names: &[String]) -> Result<Vec<RunRow>, Failure> {
    let all = store.runs().map_err(Failure::run_failed)?;
    let mut rows: Vec<RunRow> = Vec::new();
    for name in names {
        let id = store.find(name).map_err(Failure::usage)?;
        // Accept only parts of a run id. `latest` and tags may refer to another run later, and a removal cannot be
        // undone.
        if !id.as_str().contains(name.as_str()) {
            return Err(Failure::usage(format!(
                "{name}: to remove a run, give its own name or a part of the name ({name} is now {id}); nothing was \
                 removed"
            )));
        }
        let row = all.iter().find(|row| row.id == id);
        let row = row.ok_or_else(|| Failure::usage(format!("run {id} no longer exists")))?;
        if !rows.contains(row) {
            rows.push(row.clone());
        }
    }
    Ok(rows)
}

fn ask(rows: &[RunRow]) -> Result<(), Failure> {
    if !(stdin().is_terminal() && stderr().is_terminal()) {
        return Err(Failure::usage("without a terminal, --yes is needed; nothing was removed"));
    }
    for row in rows {
        tell(&format!("{}  {}", row.id, what(row)));
    }
    eprint!("remove {} with all records? [y/N] ", if rows.len() == 1 { "it" } else { "them" });
    let mut answer = String::new();
    let read = stdin().read_line(&mut answer);
    if read.is_ok() && agrees(&answer) {
        return Ok(());
    }
    Err(Failure::run_failed("nothing was removed"))
}

/// Whether an answer is an explicit yes. No other answer confirms, because a removal cannot be undone.
fn agrees(answer: &str) -> bool {
    matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_explicit_yes_confirms_a_removal() {
        assert!(["y\n", "Yes\n", " YES \n"].into_iter().all(agrees));
        assert!(["", "\n", "n\n", "yeah\n", "x\n"].into_iter().all(|answer| !agrees(answer)));
    }
}
