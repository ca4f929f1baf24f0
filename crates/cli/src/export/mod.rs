//! The export formats of a stored run. Each format has an entry in [`FORMATS`]. `rows.rs` writes the formats that
//! consist of rows; other files write the other formats.

mod job;

mod out;

mod mlflow;
mod rows;
mod vllm_bench;

pub use inferometer_formats::export::form::RowWriter;
pub use inferometer_formats::export::{ExportError, Field, Kind, Value};

use crate::stored_error::StoredRunError;
pub use job::{ExportedRows, Job};
pub use rows::{columns, rows};

/// An export format.
pub struct Format {
    /// The name of the format for `--format`.
    pub name: &'static str,
    /// A short description.
    pub about: &'static str,
    /// How much of a run one file contains.
    pub holds: Holds,
    /// Writes a run in this format.
    pub write: fn(&Job<'_>) -> Result<(), StoredRunError>,
}

/// How much of a run a file contains.
pub enum Holds {
    /// The rows of all passes, of one of these kinds. The first kind is the default.
    Rows(&'static [ExportedRows]),
    /// One pass, in the format's own structure.
    OnePass,
    /// All passes together, in the format's own structure.
    WholeRun,
}

const ROWS: Holds =
    Holds::Rows(&[ExportedRows::Requests, ExportedRows::Events, ExportedRows::Cells]);

/// Every format.
pub const FORMATS: &[Format] = &inferometer_model::table! { Format { name, about, holds, write }
    ("parquet", "columns for pandas, DuckDB, ...", ROWS, rows::parquet)
    ("csv", "a table for spreadsheets", ROWS, rows::csv)
    ("jsonl", "one JSON object per line, one line for each row", ROWS, rows::json_lines)
    ("json", "one document with all rows", ROWS, rows::json)
    ("vllm-bench", "a pass as the result file of vllm bench serve", Holds::OnePass, vllm_bench::write)
    ("table", "the table with throughput and average latencies (as in table.md)", Holds::WholeRun,
     vllm_bench::write_table)
    ("mlflow", "a run in MLflow's file store; --out is its folder [default: mlruns]", Holds::WholeRun, mlflow::write)
};

/// The format with this name, if there is one.
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// The description of one kind of rows, and its columns.
pub type Columns = (String, Vec<Field>);
