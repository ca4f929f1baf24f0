//! One row of the database per request, for queries in SQL, apart from those that [`RowLimits`] leaves out. The reads and
//! events of a request are only in the run's log.

use inferometer_model::metrics::{e2e, ttft};
use inferometer_model::{Nanos, Outcome, Phase, Record, Timeline};
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{CachedStatement, Transaction};

use super::run_id::RunId;

/// The columns of a row, in the order of [`row`].
const COLUMNS: [&str; 26] = [
    "run_id", "pass", "request", "outcome", "phase", "status", "detail", "finish_reason",
    "asked_input", "asked_output", "prompt_tokens_usage", "prompt_tokens_tokenizer",
    "cached_tokens_usage", "tokens_usage", "tokens_tokenizer", "tokens_events", "due_ns",
    "send_start_ns", "first_token_ns", "last_token_ns", "ended_ns", "ttft_ms", "e2e_ms", "class",
    "server", "rank",
];
const WIDTH: usize = COLUMNS.len();
/// The number of rows that one statement inserts. Several rows per statement are faster: SQLite searches for
/// the position of the first row only, and puts each further row after the previous row. With more rows, a run of few
/// requests takes longer, because the statement must be parsed.
const ROWS: usize = 8;

/// The maximum number of rows per pass for requests that never began. An interruption may leave millions of
/// such requests, which differ only in their index. The log has all of them.
const NEVER_BEGUN_INDEXED: usize = 10_000;
/// The maximum number of rows per pass of a prediction. To insert a million rows would take longer than the prediction. The
/// log has all requests.
const PREDICTED_INDEXED: usize = 100_000;

/// Decides which requests of a pass have rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowLimits {
    /// How many requests may still have rows, and how many of those that never began.
    requests: usize,
    never_begun: usize,
}

impl RowLimits {
    /// The limits of a pass.
    pub(crate) fn of_pass(is_predicted: bool) -> Self {
        let requests = if is_predicted { PREDICTED_INDEXED } else { usize::MAX };
        Self { requests, never_begun: NEVER_BEGUN_INDEXED }
    }

    /// Whether the next request has a row.
    pub(crate) fn admits(&mut self, record: &Record) -> bool {
        let never_began = record.outcome == Outcome::Skipped;
        let has_row = self.requests > 0 && (!never_began || self.never_begun > 0);
        self.requests -= usize::from(has_row);
        self.never_begun -= usize::from(has_row && never_began);
        has_row
    }
}

/// The figures of a request in its row. Unlike the other values of the row, they come from the reads and events of its
/// record. The default is that of a request that never began.
#[derive(Clone, Copy, Debug, Default)]
pub struct RowFigures {
    tokens_events: u32,
    first_token: Option<Nanos>,
    last_token: Option<Nanos>,
    ttft_ms: Option<f64>,
    e2e_ms: Option<f64>,
}

impl RowFigures {
    /// The figures of a record in its stored form.
    pub fn of(timeline: &Timeline<'_>) -> Self {
        Self {
            tokens_events: timeline.record.tokens_events(),
            first_token: timeline.first_visible().map(|at| timeline.events[at].arrival),
            last_token: timeline.events.last().map(|event| event.arrival),
            ttft_ms: ttft::from_sent(timeline),
            e2e_ms: e2e::from_sent(timeline),
        }
    }

    /// A record in its stored form, with its figures.
    pub(crate) fn read(record: Record) -> (Record, Self) {
        let figures = Self::of(&Timeline::new(&record));
        (record, figures)
    }
}

/// Adds a row for each record in its stored form; returns false if there is no such run.
pub(super) fn insert(
    transaction: &Transaction<'_>,
    run: &RunId,
    rows: impl IntoIterator<Item = (Record, RowFigures)>,
) -> rusqlite::Result<bool> {
    if !transaction.prepare("SELECT 1 FROM runs WHERE id = ?")?.exists([run.as_str()])? {
        return Ok(false);
    }
    let mut insert = Insert::of_rows(transaction, ROWS)?;
    for (record, figures) in rows {
        insert.add(row(run, &record, &figures)?)?;
    }
    insert.finish(transaction)?;
    Ok(true)
}

/// A statement that inserts several rows.
struct Insert<'t> {
    statement: CachedStatement<'t>,
    /// The values that are bound to the parameters of the statement now, row by row.
    bound: Vec<Value>,
    /// The number of rows that were added since the last execution of the statement.
    filled: usize,
}

impl<'t> Insert<'t> {
    fn of_rows(transaction: &'t Transaction<'_>, rows: usize) -> rusqlite::Result<Self> {
        let row = format!("({})", ["?"; WIDTH].join(", "));
        let (columns, rows) = (COLUMNS.join(", "), vec![row; rows]);
        let values = rows.join(", ");
        let sql = format!("INSERT INTO requests ({columns}) VALUES {values}");
        let bound = vec![Value::Null; rows.len() * WIDTH];
        Ok(Self { statement: transaction.prepare_cached(&sql)?, bound, filled: 0 })
    }

    /// Adds a row. The statement is executed when all its rows are filled.
    fn add(&mut self, row: [ValueRef<'_>; WIDTH]) -> rusqlite::Result<()> {
        let first = self.filled * WIDTH;
        for (at, (value, bound)) in (first..).zip(row.into_iter().zip(&mut self.bound[first..])) {
            // The statement keeps its values between two executions. Most values are equal in all rows of a
            // pass, so only changed values are bound.
            if value != ValueRef::from(&*bound) {
                self.statement.raw_bind_parameter(at + 1, ToSqlOutput::Borrowed(value))?;
                *bound = Value::try_from(value)?;
            }
        }
        self.filled += 1;
        if self.filled * WIDTH == self.bound.len() {
            self.statement.raw_execute()?;
            self.filled = 0;
        }
        Ok(())
    }

    /// Inserts the remaining rows, which do not fill the statement.
    fn finish(self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        if self.filled == 0 {
            return Ok(());
        }
        let mut left = Insert::of_rows(transaction, self.filled)?;
        for (at, value) in self.bound.iter().take(self.filled * WIDTH).enumerate() {
            left.statement.raw_bind_parameter(at + 1, value)?;
        }
        left.statement.raw_execute()?;
        Ok(())
    }
}

/// The values of a row, in the order of [`COLUMNS`].
fn row<'a>(
    run: &'a RunId,
    record: &'a Record,
    figures: &RowFigures,
) -> rusqlite::Result<[ValueRef<'a>; WIDTH]> {
    Ok([
        ValueRef::from(run.as_str()),
        int(Some(record.pass)),
        int(Some(record.index)),
        ValueRef::from(record.outcome.kind().name()),
        text(record.outcome.phase().map(Phase::name)),
        int(record.status),
        text(record.detail_text()),
        text(record.finish_reason.as_deref()),
        int(Some(record.asked_input)),
        int(Some(record.asked_output)),
        int(record.usage.prompt),
        int(record.prompt_tokens_tokenizer),
        int(record.usage.cached),
        int(record.usage.completion),
        int(record.tokens_tokenizer),
        int(Some(figures.tokens_events)),
        int(Some(ns(record.due)?)),
        int(some_ns(record.send_start)?),
        int(some_ns(figures.first_token)?),
        int(some_ns(figures.last_token)?),
        int(some_ns(record.ended)?),
        real(figures.ttft_ms),
        real(figures.e2e_ms),
        text(record.class.as_deref()),
        int(record.server),
        int(record.rank),
    ])
}

fn int(value: Option<impl Into<i64>>) -> ValueRef<'static> {
    value.map_or(ValueRef::Null, |value| ValueRef::Integer(value.into()))
}

fn real(value: Option<f64>) -> ValueRef<'static> {
    value.map_or(ValueRef::Null, ValueRef::Real)
}

fn text(value: Option<&str>) -> ValueRef<'_> {
    value.map_or(ValueRef::Null, ValueRef::from)
}

/// SQLite's integers cover 292 years from the origin; a later instant is an error.
fn ns(at: Nanos) -> rusqlite::Result<i64> {
    i64::try_from(at.0).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

fn some_ns(at: Option<Nanos>) -> rusqlite::Result<Option<i64>> {
    at.map(ns).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_of_predicted_requests_and_of_those_that_never_began_are_limited() {
        let ended = Record { outcome: Outcome::Complete, ..Record::planned(0, 0, Nanos(0)) };
        let never_begun = Record { outcome: Outcome::Skipped, ..ended.clone() };
        for (is_predicted, rows) in [(false, 210_000), (true, 100_000)] {
            let mut limits = RowLimits::of_pass(is_predicted);
            let mut rows_of = |record: &Record, count: usize| {
                (0..count).filter(|_| limits.admits(record)).count()
            };
            let found = rows_of(&never_begun, 20_000) + rows_of(&ended, 200_000);
            assert_eq!(found, rows, "{is_predicted}");
        }
    }
}
