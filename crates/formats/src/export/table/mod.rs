//! Tables: the columns of a row, and how each column is computed from a record.
//!
//! To add a column, add an entry to the table, or set the field `exported` of a metric. Every file format then includes
//! the new column. Its meaning stands in the JSON schema of the table, and nowhere else. Never rename a column or change
//! its meaning.

mod events;
mod requests;
mod source;

use inferometer_model::metrics::registry;
use serde_json::Value as Json;

use crate::export::value::{Field, Kind, Presence, Value};

pub use events::{EVENTS, EventRow};
pub use requests::{REQUESTS, RequestRow};
pub use source::{PassSource, RunSource};

/// A column of a table with rows of type `R`.
pub struct Column<R: 'static> {
    name: &'static str,
    kind: Kind,
    presence: Presence,
    get: fn(&R) -> Value<'_>,
}

impl<R> Column<R> {
    /// A column with a value in every row.
    const fn always(name: &'static str, kind: Kind, get: fn(&R) -> Value<'_>) -> Self {
        Self { name, kind, presence: Presence::Always, get }
    }

    /// A column that has no value in some rows.
    const fn sometimes(name: &'static str, kind: Kind, get: fn(&R) -> Value<'_>) -> Self {
        Self { name, kind, presence: Presence::Sometimes, get }
    }
}

/// Returns the values of the exported metrics of a row, in the order of [`registry::exported`].
type FiguresOf<R> = fn(&R) -> &[Option<f64>];

/// A table: its name and version, and its columns in order.
pub struct Table<R: 'static> {
    /// The name and the version of the table, as exported files state them: `inferometer.requests/1`.
    pub schema: &'static str,
    /// The JSON schema of the document with all rows. Its descriptions are the meanings of the table and its columns.
    pub json_schema: &'static str,
    columns: &'static [Column<R>],
    /// The function that returns the exported metrics of a row; `None` if the table has no metrics. The
    /// columns of metrics follow all other columns.
    of_metrics: Option<FiguresOf<R>>,
}

impl<R> Table<R> {
    /// Returns the names, types and meanings of all columns, in order.
    pub fn fields(&self) -> Vec<Field> {
        let schema = self.described();
        let field = |(name, kind, presence): (&'static str, Kind, Presence)| Field {
            name: name.into(),
            kind,
            presence,
            about: description(&schema["$defs"]["row"]["properties"][name]).into(),
        };
        let metrics = self.of_metrics.map_or_else(Vec::new, |_| registry::exported());
        let metrics = metrics.iter().map(|it| (it.result_key, Kind::Number, Presence::Sometimes));
        let columns = self.columns.iter().map(|it| (it.name, it.kind, it.presence));
        columns.chain(metrics).map(field).collect()
    }

    /// Returns what a row is, in one sentence.
    pub fn about(&self) -> String {
        description(&self.described())
    }

    fn described(&self) -> Json {
        serde_json::from_str(self.json_schema).expect("invariant: a test parses the schema")
    }

    /// Returns the values of a row, in the order of the columns.
    pub fn values<'r>(&self, row: &'r R) -> Vec<Value<'r>> {
        let figures = self.of_metrics.map_or(&[][..], |of| of(row));
        let columns = self.columns.iter().map(|column| (column.get)(row));
        columns.chain(figures.iter().map(|figure| Value::number(*figure))).collect()
    }
}

/// The description of a part of a schema; empty if it has none.
fn description(part: &Json) -> String {
    part["description"].as_str().unwrap_or_default().to_owned()
}
