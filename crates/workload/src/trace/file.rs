//! Reads the file of a trace. The first line determines the format, unless the plan names the format.

use std::{io::BufRead, path::Path};

use inferometer_plan::{TraceFormat, TracePlan};

use super::row::{ParsedRows, Rows, trimmed};
use super::unstated::{self, Times};
use super::{csv, json};
use crate::WorkloadError;
use crate::data_set::{self, RowEnd};

impl Rows {
    /// Reads a file as the plan describes it. If the plan has no format, the first line determines the format,
    /// and the rows determine the unit of times. Rows with more tokens than the plan allows are left out.
    ///
    /// # Errors
    /// If the file cannot be read, its format is not known, its hashes do not fit its lengths, or it has no
    /// usable row.
    pub fn load(path: &Path, plan: &TracePlan) -> Result<Self, WorkloadError> {
        Self::read(data_set::open(path, RowEnd::Line)?.reader, path, plan)
    }

    /// As [`Rows::load`], but reads from `reader`. `path` is only used in errors.
    ///
    /// # Errors
    /// As [`Rows::load`].
    pub fn read(
        mut reader: impl BufRead,
        path: &Path,
        plan: &TracePlan,
    ) -> Result<Self, WorkloadError> {
        let mut rows = Self::default();
        let (mut number, mut numbers, mut times) = (0, Vec::new(), Times::default());
        let (format, parsed) = parsed_rows(&mut reader, path, plan.format)?;
        for row in parsed {
            number += 1;
            let row = row.map_err(|error| WorkloadError::unreadable(path, error))?;
            if let Ok(row) = &row {
                times.add(row.at_ns);
            }
            match row.and_then(|row| rows.add(row, plan.max_tokens)) {
                Ok(()) => numbers.push(number),
                Err(reason) => rows.left_out.add_row(reason, number),
            }
        }
        if plan.format.is_none() && format == TraceFormat::Mooncake {
            times.settle(&mut rows);
        }
        unstated::settle_blocks(&mut rows, &numbers, plan.block_tokens, format)
            .map_err(|reason| WorkloadError::NotATrace { path: path.to_owned(), reason })?;
        if rows.rows.is_empty() {
            let none = "the file has no rows";
            return Err(WorkloadError::empty(path, number, none, &rows.left_out));
        }
        Ok(rows)
    }
}

fn parsed_rows<'a>(
    reader: &'a mut dyn BufRead,
    path: &Path,
    format: Option<TraceFormat>,
) -> Result<(TraceFormat, ParsedRows<'a>), WorkloadError> {
    let mut line = String::new();
    let first = loop {
        line.clear();
        if reader.read_line(&mut line).map_err(|error| WorkloadError::unreadable(path, error))? == 0
        {
            return Ok((TraceFormat::Plain, Box::new(std::iter::empty())));
        }
        let text = trimmed(&line);
        if !text.is_empty() {
            break text.to_owned();
        }
    };
    if format.is_none() && json::is_of_jobs(&first) {
        return Err(WorkloadError::OfJobs(path.to_owned()));
    }
    let rows = match first.starts_with('{') {
        true => json::rows(first, reader, format),
        false => csv::rows(first, reader, format),
    };
    rows.map_err(|reason| WorkloadError::NotATrace { path: path.to_owned(), reason })
}
