//! Tables: the columns of a row, and how each column is computed from a record.
//!
//! To add a column, add an entry to the table, or set the field `exported` of a metric. Every file format,
//! the JSON schema and the documentation of columns then include the new column. Never rename a column or
//! change its meaning.

mod events;
mod requests;
mod source;

use inferometer_model::Definition;
use inferometer_model::metrics::{Exported, registry};

use crate::export::value::{Field, Kind, Presence, Value};

pub use events::{EVENTS, EventRow};
pub use requests::{REQUESTS, RequestRow};
pub use source::{PassSource, RunSource};

/// A column of a table with rows of type `R`.
pub struct Column<R: 'static> {
    name: &'static str,
    kind: Kind,
    presence: Presence,
    about: &'static str,
    get: fn(&R) -> Value<'_>,
}

impl<R> Column<R> {
    /// A column with a value in every row.
    const fn always(
        name: &'static str,
        kind: Kind,
        about: &'static str,
        get: fn(&R) -> Value<'_>,
    ) -> Self {
        Self { name, kind, presence: Presence::Always, about, get }
    }

    /// A column that has no value in some rows.
    const fn sometimes(
        name: &'static str,
        kind: Kind,
        about: &'static str,
        get: fn(&R) -> Value<'_>,
    ) -> Self {
        Self { name, kind, presence: Presence::Sometimes, about, get }
    }
}

/// Returns the values of the exported metrics of a row, in the order of [`registry::exported`].
type FiguresOf<R> = fn(&R) -> &[Option<f64>];

/// A table: its name and version, and its columns in order.
pub struct Table<R: 'static> {
    /// The name and the version of the table, as exported files state them: `inferometer.requests/1`.
    pub schema: &'static str,
    /// What a row is, in one sentence.
    pub about: &'static str,
    columns: &'static [Column<R>],
    /// The function that returns the exported metrics of a row; `None` if the table has no metrics. The
    /// columns of metrics follow all other columns.
    of_metrics: Option<FiguresOf<R>>,
}

impl<R> Table<R> {
    /// Returns the names, types and meanings of all columns, in order.
    pub fn fields(&self) -> Vec<Field> {
        let field = |column: &Column<R>| Field {
            name: column.name.into(),
            kind: column.kind,
            presence: column.presence,
            about: column.about.into(),
        };
        let of_metric = |(metric, column): (&'static Definition, &'static Exported)| Field {
            name: metric.result_key.into(),
            kind: Kind::Number,
            presence: Presence::Sometimes,
            about: column.about.into(),
        };
        let metrics = self.of_metrics.map_or_else(Vec::new, |_| registry::exported());
        self.columns.iter().map(field).chain(metrics.into_iter().map(of_metric)).collect()
    }

    /// Returns the values of a row, in the order of the columns.
    pub fn values<'r>(&self, row: &'r R) -> Vec<Value<'r>> {
        let figures = self.of_metrics.map_or(&[][..], |of| of(row));
        let columns = self.columns.iter().map(|column| (column.get)(row));
        columns.chain(figures.iter().map(|figure| Value::number(*figure))).collect()
    }
}
