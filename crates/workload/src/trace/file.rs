//! Reads the file of a trace. The first line determines the format, unless the plan names the format.

use std::io::{self, BufRead};
use std::path::Path;

use inferometer_plan::TraceFormat;

use super::row::{ParsedRow, RowReason, Rows, trimmed};
use super::{csv, json};
use crate::data_set::{self, RowEnd};
use crate::{TraceError, WorkloadError};

/// The rows of a file in order. Each item is a parsed row, or the reason why the row cannot be used.
type ParsedRows<'a> = Box<dyn Iterator<Item = io::Result<Result<ParsedRow, RowReason>>> + 'a>;

impl Rows {
    /// Reads a file. If `format` is `None`, the first line determines the format. Rows with more than
    /// `max_tokens` input and output tokens together are left out.
    ///
    /// # Errors
    /// If the file cannot be read, its format is not known, or it has no usable row.
    pub fn load(
        path: &Path,
        format: Option<TraceFormat>,
        max_tokens: Option<u32>,
    ) -> Result<Self, WorkloadError> {
        Self::read(data_set::open(path, RowEnd::Line)?.reader, path, format, max_tokens)
    }

    /// As [`Rows::load`], but reads from `reader`. `path` is only used in errors.
    ///
    /// # Errors
    /// As [`Rows::load`].
    pub fn read(
        mut reader: impl BufRead,
        path: &Path,
        format: Option<TraceFormat>,
        max_tokens: Option<u32>,
    ) -> Result<Self, WorkloadError> {
        let mut rows = Self::default();
        let mut number = 0;
        for row in parsed_rows(&mut reader, path, format)? {
            number += 1;
            let row = row.map_err(|error| WorkloadError::unreadable(path, error))?;
            if let Err(reason) = row.and_then(|row| rows.add(row, max_tokens)) {
                rows.left_out.add(number, reason);
            }
        }
        if rows.rows.is_empty() {
            let why = match number {
                0 => "the file has no rows".to_owned(),
                _ => rows.left_out.to_string(),
            };
            return Err(WorkloadError::EmptyDataSet { path: path.to_owned(), rows: number, why });
        }
        Ok(rows)
    }
}

fn parsed_rows<'a>(
    reader: &'a mut dyn BufRead,
    path: &Path,
    format: Option<TraceFormat>,
) -> Result<ParsedRows<'a>, WorkloadError> {
    let mut line = String::new();
    let first = loop {
        line.clear();
        if reader.read_line(&mut line).map_err(|error| WorkloadError::unreadable(path, error))? == 0
        {
            return Ok(Box::new(std::iter::empty()));
        }
        let text = trimmed(&line);
        if !text.is_empty() {
            break text.to_owned();
        }
    };
    let rows: Result<ParsedRows<'a>, TraceError> = match first.starts_with('{') {
        true => json::rows(first, reader, format).map(|rows| Box::new(rows) as ParsedRows<'a>),
        false => csv::rows(first, reader, format).map(|rows| Box::new(rows) as ParsedRows<'a>),
    };
    rows.map_err(|reason| WorkloadError::NotATrace { path: path.to_owned(), reason })
}
