//! Writers of rows, one module for each file format.

mod csv;
mod json;
mod parquet;

use crate::export::error::ExportError;
use crate::export::value::{Field, Value};

pub use csv::Csv;
pub use json::{Json, JsonLines};
pub use parquet::Parquet;

/// A writer of rows in one file format.
pub trait RowWriter {
    /// Writes a row. It has one value for each field, in the order of the fields.
    ///
    /// # Errors
    /// [`ExportError::Row`] if the values do not match the fields; another error if the row cannot be written.
    fn row(&mut self, values: &[Value<'_>]) -> Result<(), ExportError>;

    /// Writes the end of the file. Without this call the file is incomplete.
    ///
    /// # Errors
    /// If the end cannot be written.
    fn finish(self: Box<Self>) -> Result<(), ExportError>;
}

/// Checks that the values of a row match the fields of its table. `row` is the number of the row, from 1.
fn check(row: u64, fields: &[Field], values: &[Value<'_>]) -> Result<(), ExportError> {
    let wrong = |what: String| Err(ExportError::Row { row, what });
    if fields.len() != values.len() {
        return wrong(format!("{} values for {} columns", values.len(), fields.len()));
    }
    match fields.iter().zip(values).find(|(field, value)| !value.fits(field)) {
        Some((field, value)) => wrong(format!("{value:?} does not fit column {}", field.name)),
        None => Ok(()),
    }
}
