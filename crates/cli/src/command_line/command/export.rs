//! `export`: writes a stored run in a format that other programs read.

use std::{fmt::Write, path::PathBuf};

use crate::command_line::{Failure, print, tell};
use crate::export::{ExportedRows, FORMATS, Format, Holds, Job, columns, format};
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, ValueEnum};
use inferometer_store::Store;

/// The flags of `export`.
#[derive(Args)]
pub struct ExportArgs {
    /// A run: its name, a part of the name, a tag, or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    run: String,
    /// Output format [default: by the ending of --out: .parquet, .csv, .jsonl, .json]
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    format: Option<String>,
    /// Rows to write: one for each request, for each stream event, or for each pass with all its
    /// metrics [default: requests]
    #[arg(long, value_name = "ROWS")]
    what: Option<ExportedRows>,
    /// Index of the pass to write, for formats that contain one pass. Passes are numbered
    /// consecutively over all cells, from 0 [default: the only pass; or all passes, one file each,
    /// if --out is an existing folder]
    #[arg(long, value_name = "N")]
    pass: Option<u32>,
    /// Output file, or folder if the format needs one [default: standard output; the folder
    /// `mlruns` for `mlflow`]
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// Print the names and meanings of the columns, and write nothing
    #[arg(long)]
    columns: bool,
    /// The database
    #[arg(long, value_name = "FILE", default_value = "inferometer.db")]
    store: PathBuf,
}

fn formats() -> PossibleValuesParser {
    FORMATS.iter().map(|format| PossibleValue::new(format.name).help(format.about)).into()
}

/// Writes a stored run, or prints the columns of the requested rows.
pub fn export(arguments: &ExportArgs) -> Result<(), Failure> {
    if arguments.columns {
        return print(&columns_text(arguments.what.unwrap_or(ExportedRows::Requests)));
    }
    let format = format_of(arguments)?;
    let what = rows(format, arguments)?;
    let store = Store::open_existing(&arguments.store).map_err(Failure::usage)?;
    let run = store.run(&arguments.run).map_err(Failure::usage)?;
    let notes = store.notes(&run.row.id).map_err(Failure::run_failed)?;
    (format.write)(&Job {
        run: &run,
        notes: &notes,
        what,
        pass: arguments.pass,
        out: arguments.out.as_deref(),
        say: &tell,
    })?;
    Ok(())
}

/// The format that --format names. By default, the extension of the output file determines the format.
fn format_of(arguments: &ExportArgs) -> Result<&'static Format, Failure> {
    let ending = || arguments.out.as_ref()?.extension()?.to_str();
    let name = arguments.format.as_deref().or_else(ending);
    name.and_then(format).ok_or_else(|| {
        let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        Failure::usage(format!(
            "--format: give one of {}, or an output file whose ending is one of these names: --out requests.csv",
            names.join(", ")
        ))
    })
}

/// The requested rows. Returns an error if the format does not have these rows, or does not allow --pass or --what.
fn rows(format: &Format, arguments: &ExportArgs) -> Result<ExportedRows, Failure> {
    let name = format.name;
    let refused = |why: String| Err(Failure::usage(why));
    match (&format.holds, arguments.what, arguments.pass) {
        (Holds::Rows(_), _, Some(_)) => {
            refused(format!("--pass: {name} has the rows of all passes; leave out --pass"))
        }
        (Holds::WholeRun, _, Some(_)) => {
            refused(format!("--pass: {name} contains all passes in one file; leave out --pass"))
        }
        (Holds::OnePass | Holds::WholeRun, Some(_), _) => {
            refused(format!("--what: {name} has a fixed format without rows; leave out --what"))
        }
        (Holds::Rows(offered), Some(what), None) if !offered.contains(&what) => {
            let offered: Vec<_> =
                offered.iter().filter_map(ExportedRows::to_possible_value).collect();
            let names: Vec<&str> = offered.iter().map(PossibleValue::get_name).collect();
            refused(format!("--what: {name} has only {}", names.join(", ")))
        }
        (Holds::Rows(offered), chosen, None) => {
            Ok(chosen.or(offered.first().copied()).unwrap_or(ExportedRows::Requests))
        }
        (Holds::OnePass | Holds::WholeRun, None, _) => Ok(ExportedRows::Requests),
    }
}

/// The columns of the rows as text, one per line.
fn columns_text(what: ExportedRows) -> String {
    let Some((about, fields)) = columns(what) else {
        return "One row for each cell and pass, with every figure of `inferometer list metrics`; each \
                column has its unit in its name. The header of `--format csv` names them.\n"
            .to_owned();
    };
    let width = fields.iter().map(|field| field.name.len()).max().unwrap_or(0);
    let mut text = format!("{about}\n\n");
    for field in fields {
        let _ = writeln!(text, "{:width$}  {:<9} {}", field.name, field.kind.name(), field.about);
    }
    text
}
