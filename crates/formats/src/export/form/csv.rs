//! CSV (RFC 4180): a header line, then one line for each row. Lines end with CRLF. An absent value is an
//! empty field; an empty text is `""`. The crate `csv` cannot write this difference. A text that a
//! spreadsheet would read as a formula gets a leading `'`.

use std::io::Write;

use inferometer_model::visible;

use super::{RowWriter, check};
use crate::export::error::ExportError;
use crate::export::value::{Field, Value};

/// A writer of CSV.
pub struct Csv<W> {
    out: W,
    fields: Vec<Field>,
    rows: u64,
    line: String,
}

impl<W: Write> Csv<W> {
    /// Makes a writer and writes the header line.
    ///
    /// # Errors
    /// If the header cannot be written.
    pub fn new(mut out: W, fields: Vec<Field>) -> Result<Self, ExportError> {
        let mut line = String::new();
        for (at, field) in fields.iter().enumerate() {
            separate(&mut line, at);
            quoted(&mut line, &field.name);
        }
        line += "\r\n";
        out.write_all(line.as_bytes())?;
        Ok(Self { out, fields, rows: 0, line })
    }
}

impl<W: Write> RowWriter for Csv<W> {
    fn row(&mut self, values: &[Value<'_>]) -> Result<(), ExportError> {
        self.rows += 1;
        check(self.rows, &self.fields, values)?;
        self.line.clear();
        for (at, value) in values.iter().enumerate() {
            separate(&mut self.line, at);
            match value {
                Value::Absent => {}
                Value::Text(text) => quoted(&mut self.line, &visible::no_formula(text)),
                Value::Integer(number) => self.line += &number.to_string(),
                Value::Number(number) => self.line += &number.to_string(),
                Value::Flag(flag) => self.line += if *flag { "true" } else { "false" },
            }
        }
        self.line += "\r\n";
        Ok(self.out.write_all(self.line.as_bytes())?)
    }

    fn finish(mut self: Box<Self>) -> Result<(), ExportError> {
        Ok(self.out.flush()?)
    }
}

fn separate(line: &mut String, at: usize) {
    if at > 0 {
        line.push(',');
    }
}

/// Appends a text. It is quoted if it is empty or contains a comma, a quote or a line break.
fn quoted(line: &mut String, text: &str) {
    if text.is_empty() || text.contains([',', '"', '\n', '\r']) {
        line.push('"');
        *line += &text.replace('"', "\"\"");
        line.push('"');
    } else {
        *line += text;
    }
}
