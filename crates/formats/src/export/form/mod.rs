//! Writers of rows, a file for each form.

mod csv;
mod json;
mod parquet;

use crate::export::error::ExportError;
use crate::export::value::{Field, Value};

pub use csv::Csv;
pub use json::{Json, JsonLines};
pub use parquet::Parquet;

/// Writes one row after another.
pub trait Form {
    /// Writes a row: as many values as there are fields, in their order.
    ///
    /// # Errors
    /// When it does not fit its fields, or cannot be written.
    fn row(&mut self, values: &[Value<'_>]) -> Result<(), ExportError>;

    /// Writes the end of the file, which is incomplete without it.
    ///
    /// # Errors
    /// When it cannot be written.
    fn finish(self: Box<Self>) -> Result<(), ExportError>;
}

/// Checks that a row has the fields of its table.
fn check(row: u64, fields: &[Field], values: &[Value<'_>]) -> Result<(), ExportError> {
    let wrong = |what: String| Err(ExportError::Row { row, what });
    if fields.len() != values.len() {
        return wrong(format!("{} values for {} columns", values.len(), fields.len()));
    }
    match fields.iter().zip(values).find(|(field, value)| !value.fits(field)) {
        Some((field, value)) => wrong(format!("{value:?} in column {}", field.name)),
        None => Ok(()),
    }
}
