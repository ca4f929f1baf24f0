//! The forms in which a stored run leaves this program: one line of [`FORMATS`] for each, and a
//! file beside this one where it takes more than a writer of rows.

mod mlflow;
mod out;
pub mod passes;
mod rows;
mod vllm_bench;

use std::path::Path;

use clap::ValueEnum;
use inferometer_formats::export::Field;
use inferometer_store::{Note, StoredRun};

use crate::exit::Failure;

pub use rows::columns;

/// Which rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum What {
    /// One for each planned request
    Requests,
    /// One for each event of each stream
    Events,
    /// One for each cell and pass, with all its figures
    Cells,
}

/// What is to be written where.
pub struct Job<'a> {
    /// The run.
    pub run: &'a StoredRun,
    /// The notes on it.
    pub notes: &'a [Note],
    /// Its rows, for a format that has rows.
    pub what: What,
    /// The pass, for a format that holds one; all of them if none is named.
    pub pass: Option<u32>,
    /// The file, or folder; if none is named, standard output, or what the format says.
    pub out: Option<&'a Path>,
}

/// A form in which a run can be written.
pub struct Format {
    /// What users call it.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// How much of a run a file of it has.
    pub holds: Holds,
    /// Writes it.
    pub write: fn(&Job<'_>) -> Result<(), Failure>,
}

/// How much of a run a file has.
pub enum Holds {
    /// The rows of all passes, of one of these kinds, the default first.
    Rows(&'static [What]),
    /// One pass, in a form of its own.
    OnePass,
    /// All passes in one, in a form of its own.
    WholeRun,
}

const ROWS: Holds = Holds::Rows(&[What::Requests, What::Events, What::Cells]);

/// Every format.
pub const FORMATS: &[Format] = &[
    Format {
        name: "parquet",
        about: "columns for pandas, DuckDB, ...",
        holds: ROWS,
        write: rows::parquet,
    },
    Format { name: "csv", about: "a table for spreadsheets", holds: ROWS, write: rows::csv },
    Format {
        name: "jsonl",
        about: "an object for each row, a line each",
        holds: ROWS,
        write: rows::json_lines,
    },
    Format { name: "json", about: "one document with all rows", holds: ROWS, write: rows::json },
    Format {
        name: "vllm-bench",
        about: "a pass as the result file of vllm bench serve",
        holds: Holds::OnePass,
        write: vllm_bench::write,
    },
    Format {
        name: "table",
        about: "the table in the form in which such tables are published",
        holds: Holds::WholeRun,
        write: vllm_bench::write_table,
    },
    Format {
        name: "mlflow",
        about: "a run in MLflow's file store; --out names its folder, mlruns if none is named",
        holds: Holds::WholeRun,
        write: mlflow::write,
    },
];

/// A format by its name.
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// What stands in the rows: a sentence, and the columns.
pub type Columns = (&'static str, Vec<Field>);
