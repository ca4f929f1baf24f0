//! `bundle`: its flags, and the output after writing the file.

use std::path::PathBuf;

use crate::bundle::{WithData, WrittenBundle, bundle as bundle_runs, default_name};
use crate::command_line::{Failure, files, print, tell};
use crate::{command_line::console::secrets, stored::runs_named};
use clap::Args;
use inferometer_store::{RunKind, RunState, Store, StoredRun};
use serde_json::json;

/// The flags of `bundle`.
#[derive(Args)]
pub struct BundleArgs {
    /// A run: its name, a part of the name, or `latest`. Or several runs, which count as repeats:
    /// RUN,RUN (a list), TAG (all runs with this tag) or GROUP/SERVER (all runs of one server of a
    /// plan with several servers)
    #[arg(value_name = "RUN", default_value = "latest")]
    run: String,
    /// Output file [default: inferometer-RUN.tar.gz, or inferometer-RUN-and-N-more.tar.gz for
    /// several runs]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Include all input files (data set, tokenizer, ...) of any size; by default, files of up to 1
    /// MiB are included. Everyone who has the bundle can read these files
    #[arg(long, conflicts_with = "without_data")]
    with_data: bool,
    /// Include no input files, only their checksums
    #[arg(long)]
    without_data: bool,
    /// The database
    #[arg(long, value_name = "FILE", default_value = "inferometer.db")]
    store: PathBuf,
    /// Print one JSON document on stdout, and nothing else
    #[arg(long)]
    json: bool,
}

/// Writes runs to one file.
pub fn bundle(arguments: &BundleArgs) -> Result<(), Failure> {
    if let Some(out) = &arguments.out {
        files::is_no_stdout("--out", out)?;
    }
    let store = Store::open_existing(&arguments.store).map_err(Failure::usage)?;
    let runs = runs_named(&arguments.run, &store).map_err(Failure::usage)?;
    let with = match (arguments.with_data, arguments.without_data) {
        (true, _) => WithData::All,
        (_, true) => WithData::Nothing,
        _ => WithData::Small,
    };
    let out = arguments.out.clone().unwrap_or_else(|| default_name(&runs).into());
    let made = bundle_runs(&runs, &out, with, secrets())?;
    if arguments.json {
        let WrittenBundle { path, bytes, manifest } = made;
        let document = json!({ "file": path, "bytes": bytes, "manifest": manifest });
        return print(&format!("{document:#}\n"));
    }
    print(&words(&made))?;
    for data in made.manifest.data.iter().filter(|data| data.file.is_none()) {
        tell(&format!(
            "note: {} `{}` is not in the bundle, {}",
            data.key,
            data.named,
            match data.sha256 {
                Some(_) => "which has only its checksum (--with-data includes the file)",
                None => "and its checksum is unknown, because the file is missing",
            }
        ));
    }
    if is_one_repeat(&runs) {
        tell(
            "note: the run has one repeat, so `reproduce` cannot tell how large a difference \
             chance explains; measure with `--repeat 5` before bundling",
        );
    }
    Ok(())
}

/// Whether the bundle has only one repeat of each cell, and can be reproduced. Predictions need no repeats.
fn is_one_repeat(runs: &[StoredRun]) -> bool {
    let [StoredRun { row, summary: Some(summary), .. }] = runs else { return false };
    let is_reproducible = row.kind == RunKind::Measured
        && row.state == RunState::Complete
        && summary.searches.is_empty()
        && summary.sweeps.is_empty();
    let mut passes = summary.cells.iter().flat_map(|cell| &cell.passes);
    is_reproducible && passes.all(|pass| pass.repeat == 1)
}

fn words(WrittenBundle { path, bytes, manifest }: &WrittenBundle) -> String {
    let runs: Vec<&str> = manifest.runs.iter().map(|run| run.run_id.as_str()).collect();
    let data: Vec<String> = manifest
        .data
        .iter()
        .filter(|data| data.file.is_some())
        .map(|data| format!("{} `{}` ({} bytes)", data.key, data.named, data.bytes.unwrap_or(0)))
        .collect();
    let data = if data.is_empty() { String::new() } else { format!("data: {}\n", data.join(", ")) };
    format!("{}  {bytes} bytes\nruns: {}\n{data}", path.display(), runs.join(" "))
}
