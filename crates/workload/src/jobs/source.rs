//! Reads the rows of a file one by one as JSON values: lines of JSON, the elements of a JSON document, or lines of CSV.
//! Files that are compressed with gzip are read as well. What a row means is not known here.

use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use serde_json::Value;

use super::error::{JobsError, Problem};
use super::values::nanos;
use crate::{WorkloadError, data_set, trace::RowReason};

/// The largest size of a line, or of a file that is one JSON document, in bytes (64 MiB).
const MOST_BYTES: usize = 64 << 20;

const MARK: &[u8] = b"\xef\xbb\xbf";

/// Gets each row, or why it is none, and its line.
pub type Visit<'a> = dyn FnMut(Result<&Value, RowReason>, u64) -> Result<(), JobsError> + 'a;

/// Calls `visit` for each row of a file. `path` is only used in errors.
///
/// # Errors
/// If the file cannot be read, or ends inside a value; and the errors of `visit`.
pub fn rows(
    mut reader: Box<dyn BufRead + '_>,
    path: &Path,
    visit: &mut Visit<'_>,
) -> Result<(), JobsError> {
    let (mut line, mut number) = (Vec::new(), 0);
    let (mut names, mut is_first): (Option<Vec<String>>, bool) = (None, true);
    let (mut is_read, mut size) = (false, 0);
    while next(&mut *reader, path, &mut line, b'\n')? {
        number += 1;
        size += line.len();
        limit(path, "lines", size, data_set::MAX_FILE_BYTES as usize)?;
        let text = line.strip_prefix(MARK).unwrap_or(&line).trim_ascii();
        if text.is_empty() {
            continue;
        }
        if std::mem::take(&mut is_first) && !matches!(text[0], b'{' | b'[') {
            let columns = fields(text);
            let is_header = nanos(&Value::from(columns[0].as_str()), 1).is_none();
            names = Some(if is_header {
                columns
            } else {
                (0..columns.len()).map(|at| at.to_string()).collect()
            });
            if is_header {
                continue;
            }
        }
        let parsed = match &names {
            Some(names) => csv_row(names, text).ok_or(RowReason::Fields),
            None => serde_json::from_slice(text).map_err(|_| RowReason::NotAnObject),
        };
        match parsed {
            Ok(row) => each(&row, number, visit)?,
            Err(_) if names.is_none() && !is_read => {
                let mut whole = std::mem::take(&mut line);
                next(&mut *reader, path, &mut line, 0)?;
                whole.extend_from_slice(&line);
                return each(&document(path, &whole, number)?, 1, visit);
            }
            Err(_) if line.last() != Some(&b'\n') => {
                return Err(JobsError::Row {
                    path: path.to_owned(),
                    line: number,
                    problem: Problem::Cut,
                });
            }
            Err(reason) => visit(Err(reason), number)?,
        }
        is_read = true;
    }
    Ok(())
}

/// Calls `visit` for a row, or for each element of a list.
fn each(row: &Value, line: u64, visit: &mut Visit<'_>) -> Result<(), JobsError> {
    match row {
        Value::Array(rows) if rows.is_empty() => visit(Err(RowReason::NotAnObject), line),
        Value::Array(rows) => (line..).zip(rows).try_for_each(|(line, row)| visit(Ok(row), line)),
        row => visit(Ok(row), line),
    }
}

/// Parses a document that begins in the line `first`.
fn document(path: &Path, text: &[u8], first: u64) -> Result<Value, JobsError> {
    let text = text.strip_prefix(MARK).unwrap_or(text);
    serde_json::from_slice(text).map_err(|error| JobsError::Row {
        path: path.to_owned(),
        line: first + error.line().saturating_sub(1) as u64,
        problem: if error.is_eof() { Problem::Cut } else { Problem::NotJson(error.to_string()) },
    })
}

/// Opens a file, which may be compressed with gzip.
///
/// # Errors
/// If it is not a regular file, is too large or cannot be opened.
pub fn open(path: &Path) -> Result<Box<dyn BufRead>, WorkloadError> {
    let unreadable = |error| WorkloadError::unreadable(path, error);
    let mut file = data_set::open_file(path)?;
    let mut start = Vec::new();
    (&mut file).take(2).read_to_end(&mut start).map_err(unreadable)?;
    let is_gzip = start == [0x1f, 0x8b];
    let reader = BufReader::with_capacity(1 << 16, Cursor::new(start).chain(file));
    Ok(match is_gzip {
        true => Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(reader))),
        false => Box::new(reader),
    })
}

/// Reads up to `end` or the end of the file into `line`. False at the end of the file.
fn next(
    reader: &mut dyn BufRead,
    path: &Path,
    line: &mut Vec<u8>,
    end: u8,
) -> Result<bool, WorkloadError> {
    line.clear();
    let read = reader.take(MOST_BYTES as u64 + 1).read_until(end, line);
    let count = read.map_err(|error| WorkloadError::unreadable(path, error))?;
    limit(path, "a line or a JSON document", count, MOST_BYTES)?;
    Ok(count > 0)
}

fn limit(path: &Path, what: &str, size: usize, most: usize) -> Result<(), WorkloadError> {
    if size <= most {
        return Ok(());
    }
    let reason = format!("{what} of more than {} MiB, which is the limit", most >> 20);
    Err(WorkloadError::unreadable(path, reason))
}

/// The fields of a line of CSV without spaces and quotes around them. A field never contains a comma.
fn fields(line: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(line);
    text.split(',').map(|field| field.trim().trim_matches('"').trim().to_owned()).collect()
}

fn csv_row(names: &[String], line: &[u8]) -> Option<Value> {
    let fields = fields(line);
    let is_whole = fields.len() == names.len();
    let row = names.iter().cloned().zip(fields.into_iter().map(Value::String));
    is_whole.then(|| Value::Object(row.collect()))
}
