//! Exports in formats that consist of rows. Rows of requests and events are written while the log is read, so memory
//! does not grow with the run. Rows of cells come from the results of the run.

use std::{borrow::Cow, io::Write, rc::Rc};

use inferometer_analysis::Summary;
use inferometer_formats::export::form::{Csv, Json, JsonLines, Parquet, RowWriter};
use inferometer_formats::export::table::{
    EVENTS, EventRow, PassSource, REQUESTS, RequestRow, RunSource,
};
use inferometer_formats::export::{ExportError, Field, Kind, Presence, Value};
use inferometer_model::{Record, digits::counted};
use inferometer_report::csv::{self as cells_table, Value as CellValue};
use inferometer_run::summarise_log;
use inferometer_store::{PassItem, StoredRun};

use super::job::{ExportedRows, Job};
use super::{Columns, out::Out};
use crate::{stored::plan_of, stored_error::StoredRunError, stored_passes::expect_records};

/// The name and version of the schema for rows of cells.
const CELLS_SCHEMA: &str = "inferometer.cells/1";

type Sink = Box<dyn Write + Send>;
type Opened = Result<Box<dyn RowWriter>, ExportError>;

/// The data that a format needs before its first row: columns, schema, and id of the run.
struct Head<'a> {
    fields: Vec<Field>,
    schema: &'a str,
    run_id: &'a str,
}

/// Writes Parquet.
pub fn parquet(job: &Job<'_>) -> Result<(), StoredRunError> {
    write(job, false, |out, head| {
        let facts = [("inferometer.schema", head.schema), ("inferometer.run_id", head.run_id)];
        Ok(Box::new(Parquet::new(out, head.fields, &facts)?))
    })
}

/// Writes CSV.
pub fn csv(job: &Job<'_>) -> Result<(), StoredRunError> {
    write(job, true, |out, head| Ok(Box::new(Csv::new(out, head.fields)?)))
}

/// Writes JSON Lines.
pub fn json_lines(job: &Job<'_>) -> Result<(), StoredRunError> {
    write(job, true, |out, head| Ok(Box::new(JsonLines::new(out, head.fields))))
}

/// Writes one JSON document.
pub fn json(job: &Job<'_>) -> Result<(), StoredRunError> {
    write(job, true, |out, head| {
        Ok(Box::new(Json::new(out, head.fields, head.schema, head.run_id)?))
    })
}

/// The description and the columns of rows of requests or events. None for rows of cells, whose columns depend on the
/// run.
pub fn columns(what: ExportedRows) -> Option<Columns> {
    match what {
        ExportedRows::Requests => Some((REQUESTS.about(), REQUESTS.fields())),
        ExportedRows::Events => Some((EVENTS.about(), EVENTS.fields())),
        ExportedRows::Cells => None,
    }
}

fn write(
    job: &Job<'_>,
    is_text: bool,
    open: impl FnOnce(Sink, Head<'_>) -> Opened,
) -> Result<(), StoredRunError> {
    let out = Out::new(job.out, is_text)?;
    let sink: Sink = Box::new(out.open()?);
    let run_id = job.run.row.id.as_str();
    let written = rows_into(job, |head| open(sink, head));
    let written =
        out.close(written, job.say, |rows| format!("{} of run {run_id}", counted(*rows, "row")))?;
    if written == Some(0) {
        (job.say)(&format!(
            "warning: run {run_id} has no rows of events, because its streams had none"
        ));
    }
    Ok(())
}

/// Writes the rows of a run to the writer that `open` creates from the columns. Returns the number of rows. `say`
/// receives a message if the log is truncated.
///
/// # Errors
/// If the run has no such rows or cannot be read, or if the writer fails.
pub fn rows(
    run: &StoredRun,
    what: ExportedRows,
    say: &dyn Fn(&str),
    open: impl FnOnce(Vec<Field>) -> Box<dyn RowWriter>,
) -> Result<u64, StoredRunError> {
    let job = Job { run, notes: &[], what, pass: None, out: None, say };
    rows_into(&job, |head| Ok(open(head.fields)))
}

fn rows_into(job: &Job<'_>, open: impl FnOnce(Head<'_>) -> Opened) -> Result<u64, StoredRunError> {
    let cells = cells_of(job)?;
    let run_id = job.run.row.id.as_str();
    let (fields, schema) = match job.what {
        ExportedRows::Requests => (REQUESTS.fields(), REQUESTS.schema),
        ExportedRows::Events => (EVENTS.fields(), EVENTS.schema),
        ExportedRows::Cells => {
            (cells.first().map(|row| fields_of(row)).unwrap_or_default(), CELLS_SCHEMA)
        }
    };
    let mut form = open(Head { fields, schema, run_id })?;
    let rows = match job.what {
        ExportedRows::Requests => requests(job, &mut *form)?,
        ExportedRows::Events => events(job, &mut *form)?,
        ExportedRows::Cells => {
            for row in &cells {
                let values: Vec<Value<'_>> = row.iter().map(|(_, value)| any(value)).collect();
                form.row(&values)?;
            }
            cells.len() as u64
        }
    };
    form.finish()?;
    Ok(rows)
}

/// Returns the rows of cells, if they are requested. For the other kinds of rows, only checks that the run has records,
/// and returns an empty list.
///
/// # Errors
/// If the run has no passes, or no records for the requested rows.
fn cells_of(job: &Job<'_>) -> Result<Vec<Vec<cells_table::Field>>, StoredRunError> {
    if job.what != ExportedRows::Cells {
        return expect_records(job.run).map(|()| Vec::new());
    }
    match cells_table::rows(&summary_of(job.run, job.say)?) {
        rows if rows.is_empty() => Err(StoredRunError::refused(format!(
            "run {} has no passes, and so no rows; --format table writes its figures",
            job.run.row.id
        ))),
        rows => Ok(rows),
    }
}

fn requests(job: &Job<'_>, form: &mut dyn RowWriter) -> Result<u64, StoredRunError> {
    let mut rows = 0;
    records(job, |pass, record| {
        let row = RequestRow::new(Rc::clone(pass), record);
        rows += 1;
        Ok(form.row(&REQUESTS.values(&row))?)
    })?;
    Ok(rows)
}

fn events(job: &Job<'_>, form: &mut dyn RowWriter) -> Result<u64, StoredRunError> {
    let mut rows = 0;
    records(job, |pass, record| {
        for row in EventRow::of(RequestRow::new(Rc::clone(pass), record)) {
            rows += 1;
            form.row(&EVENTS.values(&row))?;
        }
        Ok(())
    })?;
    Ok(rows)
}

/// Calls `take` for each record of a run, with the pass of the record. If the log is truncated, uses the existing
/// records and reports the truncation.
fn records(
    job: &Job<'_>,
    mut take: impl FnMut(&Rc<PassSource>, Record) -> Result<(), StoredRunError>,
) -> Result<(), StoredRunError> {
    let run = job.run;
    let mut passes = run.passes()?;
    let source = Rc::new(RunSource {
        run_id: run.row.id.to_string(),
        target: run.target.clone(),
        predicted: run.row.predicted,
        origin_unix_ns: passes.header().origin_unix_ns,
    });
    while let Some(pass) = passes.next_pass() {
        let pass = pass?;
        let begin = pass.begin();
        let source = PassSource::new(Rc::clone(&source), begin.cell, begin.repeat, &begin.plan);
        let source = Rc::new(source);
        for item in pass {
            if let PassItem::Record(record) = item? {
                take(&source, *record)?;
            }
        }
    }
    passes.cut.iter().for_each(|error| (job.say)(&format!("warning: {error}")));
    Ok(())
}

/// The results of a run. If the run has no stored results, they are computed from its records.
pub(super) fn summary_of(run: &StoredRun, say: &dyn Fn(&str)) -> Result<Summary, StoredRunError> {
    if let Some(summary) = &run.summary {
        return Ok(summary.clone());
    }
    let made = summarise_log(run, &plan_of(run)?)?;
    made.cut.iter().for_each(|error| say(&format!("warning: {error}")));
    Ok(made.summary)
}

/// The columns of a row of cells. They have no descriptions, because their names and the definitions of metrics state
/// what they mean.
fn fields_of(row: &[cells_table::Field]) -> Vec<Field> {
    let field = |(name, value): &cells_table::Field| Field {
        name: Cow::Owned(name.clone()),
        kind: match value {
            CellValue::Text(_) => Kind::Text,
            CellValue::Integer(_) => Kind::Integer,
            CellValue::Number(_) => Kind::Number,
            CellValue::Flag(_) => Kind::Flag,
        },
        presence: Presence::Sometimes,
        about: Cow::Borrowed(""),
    };
    row.iter().map(field).collect()
}

fn any(value: &CellValue) -> Value<'_> {
    match value {
        CellValue::Text(text) => Value::text(text.as_deref()),
        CellValue::Integer(number) => {
            Value::integer(number.and_then(|number| i64::try_from(number).ok()))
        }
        CellValue::Number(number) => Value::number(*number),
        CellValue::Flag(flag) => flag.map_or(Value::Absent, Value::Flag),
    }
}
