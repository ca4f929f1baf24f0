//! Parses traces in CSV: the formats of Azure and BurstGPT, and the plain format. Columns are found by
//! their names, or by their order if a plain trace has no header. Quotes around a field are removed. A
//! field never contains a comma or a line break.

use std::io::{self, BufRead, Read};

use csv::{ErrorKind, ReaderBuilder, StringRecord, Terminator};
use inferometer_plan::TraceFormat;

use super::row::{ParsedRow, ParsedRows, RowReason, trimmed};
use crate::TraceError;
use inferometer_model::calendar::seconds_or_date;

/// The names of the columns in each format: the arrival time, the input tokens and the output tokens.
const NAMES: [(TraceFormat, [&str; 3]); 3] = [
    (TraceFormat::Azure, ["TIMESTAMP", "ContextTokens", "GeneratedTokens"]),
    (TraceFormat::Burstgpt, ["Timestamp", "Request tokens", "Response tokens"]),
    (TraceFormat::Plain, ["timestamp", "input_tokens", "output_tokens"]),
];

/// Parses the rows of a file. `first` is the first line of the file, and `rest` reads the lines after it.
/// If `format` is `None`, the names of the columns determine the format. Also returns the format.
///
/// # Errors
/// If the first line is neither a header of a known format nor a row of a plain trace. If
/// `format` is given, only this format is accepted.
pub fn rows<'a>(
    first: String,
    rest: impl BufRead + 'a,
    format: Option<TraceFormat>,
) -> Result<(TraceFormat, ParsedRows<'a>), TraceError> {
    let (mut columns, is_header) = Columns::of(&first, format)?;
    let format = columns.format;
    let first_row = if is_header { Vec::new() } else { (first + "\n").into_bytes() };
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .quoting(false)
        .terminator(Terminator::Any(b'\n'))
        .buffer_capacity(1 << 16)
        .from_reader(io::Cursor::new(first_row).chain(rest));
    let mut record = StringRecord::new();
    let rows = std::iter::from_fn(move || {
        loop {
            match reader.read_record(&mut record) {
                Ok(false) => return None,
                Ok(true) if record.len() == 1 && trimmed(&record[0]).is_empty() => {}
                Ok(true) => return Some(Ok(columns.row(&record))),
                Err(error) => return Some(Err(as_io(error))),
            }
        }
    });
    Ok((format, Box::new(rows)))
}

/// The error for a line that cannot be read. Its message is the same as that of [`BufRead::read_line`].
fn as_io(error: csv::Error) -> io::Error {
    match error.into_kind() {
        ErrorKind::Io(error) => error,
        _ => io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8"),
    }
}

/// The columns with the arrival time, the input tokens and the output tokens.
#[derive(Debug)]
struct Columns {
    format: TraceFormat,
    names: [&'static str; 3],
    indices: [usize; 3],
    /// The number of columns.
    width: usize,
    /// The names of the other columns, until a row has told them.
    unused: Vec<String>,
}

impl Columns {
    /// Finds the columns from the first line. Also returns whether this line is a header, because a plain
    /// trace may have no header.
    fn of(first: &str, format: Option<TraceFormat>) -> Result<(Self, bool), TraceError> {
        let fields: Vec<&str> = first.split(',').map(bare).collect();
        let index = |name: &str| fields.iter().position(|field| field.eq_ignore_ascii_case(name));
        let wanted = |known: TraceFormat| format.is_none_or(|format| format == known);
        for (known, names) in NAMES {
            if let ([Some(at), Some(input), Some(output)], true) = (names.map(index), wanted(known))
            {
                let indices = [at, input, output];
                let others = fields.iter().enumerate().filter(|(at, _)| !indices.contains(at));
                let unused = others.map(|(_, name)| (*name).to_owned()).collect();
                let width = fields.len();
                return Ok((Self { format: known, names, indices, width, unused }, true));
            }
        }
        let (format_of_rows, names) = NAMES[2];
        let is_row = fields.len() == 3 && seconds_or_date(fields[0]).is_some();
        if is_row && wanted(TraceFormat::Plain) {
            let (indices, unused) = ([0, 1, 2], Vec::new());
            let columns = Self { format: format_of_rows, names, indices, width: 3, unused };
            return Ok((columns, false));
        }
        let expected: Vec<String> = NAMES
            .iter()
            .filter(|(known, _)| wanted(*known))
            .map(|(known, names)| format!("{known} has {}", names.join(", ")))
            .collect();
        let expected = match expected.is_empty() {
            true => "each line of a Mooncake or Bailian trace is a JSON object".to_owned(),
            false => expected.join("; "),
        };
        Err(TraceError::Columns { found: first.chars().take(80).collect(), expected })
    }

    fn row(&mut self, record: &StringRecord) -> Result<ParsedRow, RowReason> {
        if record.len() != self.width {
            return Err(RowReason::Fields);
        }
        let field = |index| if index == 0 { trimmed(&record[0]) } else { &record[index] };
        let [at, input, output] = self.indices.map(|index| bare(field(index)));
        let at_ns = seconds_or_date(at).ok_or(RowReason::NotAnInstant(self.names[0]))?;
        let tokens = |text: &str, name| tokens(text).ok_or(RowReason::NotTokens(name));
        let (input, output) = (tokens(input, self.names[1])?, tokens(output, self.names[2])?);
        let unused = std::mem::take(&mut self.unused);
        Ok(ParsedRow { at_ns, input, output, blocks: Vec::new(), unused })
    }
}

/// A field without spaces and quotes around it.
fn bare(field: &str) -> &str {
    field.trim().trim_matches('"').trim()
}

/// Parses a number of tokens. `472.0` is accepted too, because some programs write integers in this form
/// when they save a table.
fn tokens(text: &str) -> Option<u32> {
    text.strip_suffix(".0").unwrap_or(text).parse().ok()
}
