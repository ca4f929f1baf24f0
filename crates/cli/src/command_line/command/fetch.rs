//! `fetch`: downloads data sets and tokenizers into the caches that runs read. It verifies the checksums of data sets.

use std::cell::Cell;

use clap::Args;
use inferometer_workload::fetch::{self, ChecksumOrigin, DATA_SETS, DataSet, FetchConfig};
use inferometer_workload::tokenizer::hub;

use crate::command_line::{Failure, print, tell};

/// The flags of `fetch`.
#[derive(Args)]
pub struct FetchArgs {
    /// Data sets by name, or Hugging Face ids of models (org/name) for their tokenizers; without a
    /// name, the available data sets are listed
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Do not print progress
    #[arg(long, short)]
    quiet: bool,
}

/// The number of downloaded bytes between two progress lines.
const STEP: u64 = 50_000_000;

/// Downloads the named data sets and tokenizers; without names, lists the available data sets.
pub fn fetch(arguments: &FetchArgs) -> Result<(), Failure> {
    let config = FetchConfig::from_env();
    if arguments.names.is_empty() {
        return print(&list(&config));
    }
    for name in &arguments.names {
        let line = match fetch::data_set(name) {
            Some(data_set) => data_set_line(data_set, &config, arguments.quiet)?,
            None if hub::is_id(name) => {
                let path = hub::fetch(name, &config.hub).map_err(Failure::run_failed)?;
                format!("{name}: {}; use it with --tokenizer {name}\n", path.display())
            }
            None => return Err(unknown(name)),
        };
        print(&line)?;
    }
    Ok(())
}

fn data_set_line(data_set: &DataSet, config: &FetchConfig, quiet: bool) -> Result<String, Failure> {
    let told = Cell::new(0);
    let mut progress = |bytes: u64, total: Option<u64>| {
        if !quiet && bytes / STEP > told.get() {
            told.set(bytes / STEP);
            let of = total.map_or(String::new(), |total| format!(" of {}", total / 1_000_000));
            tell(&format!("{}: {}{of} MB", data_set.name, bytes / 1_000_000));
        }
    };
    let fetched = fetch::fetch(data_set, config, &mut progress).map_err(Failure::run_failed)?;
    let checked = match fetched.checked {
        ChecksumOrigin::Known => "equal to the known checksum",
        ChecksumOrigin::Recorded => "equal to the checksum of the first download",
        ChecksumOrigin::First => {
            "recorded now for comparison with later downloads, because this program knows no checksum"
        }
    };
    let how = if fetched.is_new { "downloaded" } else { "already there" };
    Ok(format!(
        "{0}: {1}, {how}; use it with --dataset {0}\n  sha256 {2}: {checked}\n",
        data_set.name,
        fetched.path.display(),
        fetched.sha256,
    ))
}

/// Two lines for each data set: name, state and description; source, and origin of the checksum. The last line is about
/// tokenizers.
fn list(config: &FetchConfig) -> String {
    let line = |data_set: &DataSet| {
        let state = if config.path(data_set).exists() { "fetched" } else { "-" };
        let sum =
            if data_set.sha256.is_some() { "known" } else { "recorded at the first download" };
        format!(
            "{:<26}{state:<9}{}\n{:<35}{}; checksum {sum}\n",
            data_set.name, data_set.what, "", data_set.origin
        )
    };
    let sets: String = DATA_SETS.iter().map(line).collect();
    format!("{sets}\nand org/name: the tokenizer of a model on Hugging Face\n")
}

fn unknown(name: &str) -> Failure {
    let names: Vec<&str> = DATA_SETS.iter().map(|data_set| data_set.name).collect();
    let near = inferometer_model::suggest::did_you_mean(name, names.iter().copied());
    Failure::usage(format!(
        "`{name}` is not a data set{near}; there are {}, or give the Hugging Face id of a model \
            (org/name)",
        names.join(", ")
    ))
}
