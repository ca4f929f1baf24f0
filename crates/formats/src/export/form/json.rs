//! JSON: one document with all rows, or JSON Lines with one line for each row. Every row has every field; an
//! absent value is `null`. [`crate::export::table::Table::json_schema`] describes both.

use std::io::Write;

use serde_json::{Map, Value as Any};

use super::{RowWriter, check};
use crate::export::error::ExportError;
use crate::export::value::{Field, Value};

/// A writer of JSON Lines: one object on one line for each row.
pub struct JsonLines<W> {
    rows: Rows<W>,
}

impl<W: Write> JsonLines<W> {
    /// Makes a writer. Nothing is written before the first row.
    pub fn new(out: W, fields: Vec<Field>) -> Self {
        Self { rows: Rows { out, fields, count: 0 } }
    }
}

impl<W: Write> RowWriter for JsonLines<W> {
    fn row(&mut self, values: &[Value<'_>]) -> Result<(), ExportError> {
        let row = self.rows.object(values)?;
        Ok(writeln!(self.rows.out, "{row}")?)
    }

    fn finish(mut self: Box<Self>) -> Result<(), ExportError> {
        Ok(self.rows.out.flush()?)
    }
}

/// A writer of one JSON document with the keys `schema`, `run_id` and `rows`; `rows` has one object for each
/// row.
pub struct Json<W> {
    rows: Rows<W>,
}

impl<W: Write> Json<W> {
    /// Makes a writer and writes the beginning of the document.
    ///
    /// # Errors
    /// If the beginning cannot be written.
    pub fn new(
        mut out: W,
        fields: Vec<Field>,
        schema: &str,
        run_id: &str,
    ) -> Result<Self, ExportError> {
        let (schema, run_id) = (Any::from(schema), Any::from(run_id));
        write!(out, "{{\"schema\":{schema},\"run_id\":{run_id},\"rows\":[")?;
        Ok(Self { rows: Rows { out, fields, count: 0 } })
    }
}

impl<W: Write> RowWriter for Json<W> {
    fn row(&mut self, values: &[Value<'_>]) -> Result<(), ExportError> {
        let row = self.rows.object(values)?;
        let before = if self.rows.count > 1 { "," } else { "" };
        Ok(write!(self.rows.out, "{before}\n{row}")?)
    }

    fn finish(mut self: Box<Self>) -> Result<(), ExportError> {
        writeln!(self.rows.out, "\n]}}")?;
        Ok(self.rows.out.flush()?)
    }
}

struct Rows<W> {
    out: W,
    fields: Vec<Field>,
    count: u64,
}

impl<W> Rows<W> {
    fn object(&mut self, values: &[Value<'_>]) -> Result<Any, ExportError> {
        self.count += 1;
        check(self.count, &self.fields, values)?;
        let any = |value: &Value<'_>| match *value {
            Value::Absent => Any::Null,
            Value::Text(text) => text.into(),
            Value::Integer(number) => number.into(),
            Value::Number(number) => number.into(),
            Value::Flag(flag) => flag.into(),
        };
        let pairs = self.fields.iter().zip(values);
        let object: Map<String, Any> =
            pairs.map(|(field, value)| (field.name.to_string(), any(value))).collect();
        Ok(Any::Object(object))
    }
}
