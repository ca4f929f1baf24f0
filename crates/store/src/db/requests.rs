//! One row of the database per request, for queries in SQL. The reads and events of a request are only in
//! the run's log.

use std::borrow::Borrow;

use inferometer_metrics::{Timeline, e2e, ttft};
use inferometer_model::outcome::{Outcome, Phase};
use inferometer_model::record::Record;
use inferometer_model::time::Nanos;
use rusqlite::{Statement, Transaction, params};

use super::run_id::RunId;
use crate::log::as_stored;

const INSERT: &str = "INSERT INTO requests (
    run_id, pass, request, outcome, phase, status, detail, finish_reason, asked_input,
    asked_output, prompt_tokens_usage, prompt_tokens_tokenizer, cached_tokens_usage, tokens_usage,
    tokens_tokenizer, tokens_events, due_ns, send_start_ns, first_token_ns, last_token_ns,
    ended_ns, ttft_ms, e2e_ms, class, server, rank
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

/// The maximum number of rows per pass for requests that never began. An interruption may leave millions of
/// such requests, which differ only in their index. The log has all of them.
pub(crate) const NEVER_BEGUN_INDEXED: usize = 10_000;

/// Adds a row for each record; returns false if there is no such run.
pub(super) fn insert(
    transaction: &Transaction<'_>,
    run: &RunId,
    records: impl IntoIterator<Item: Borrow<Record>>,
) -> rusqlite::Result<bool> {
    if !transaction.prepare("SELECT 1 FROM runs WHERE id = ?")?.exists([run.as_str()])? {
        return Ok(false);
    }
    let mut statement = transaction.prepare(INSERT)?;
    for record in records {
        insert_one(&mut statement, run, &as_stored(record.borrow()))?;
    }
    Ok(true)
}

fn insert_one(statement: &mut Statement<'_>, run: &RunId, record: &Record) -> rusqlite::Result<()> {
    let timeline = Timeline::new(record);
    let first_visible = timeline.first_visible().map(|at| timeline.events[at].arrival);
    statement.execute(params![
        run.as_str(),
        record.pass,
        record.index,
        record.outcome.kind().name(),
        phase(record.outcome).map(Phase::name),
        record.status,
        record.detail,
        record.finish_reason,
        record.asked_input,
        record.asked_output,
        record.usage.prompt,
        record.prompt_tokens_tokenizer,
        record.usage.cached,
        record.usage.completion,
        record.tokens_tokenizer,
        record.tokens_events(),
        ns(record.due)?,
        some_ns(record.send_start)?,
        some_ns(first_visible)?,
        some_ns(timeline.events.last().map(|event| event.arrival))?,
        some_ns(record.ended)?,
        ttft::from_sent(&timeline),
        e2e::from_sent(&timeline),
        record.class,
        record.server,
        record.rank,
    ])?;
    Ok(())
}

/// SQLite's integers cover 292 years from the origin; a later instant is an error.
fn ns(at: Nanos) -> rusqlite::Result<i64> {
    i64::try_from(at.0).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

fn some_ns(at: Option<Nanos>) -> rusqlite::Result<Option<i64>> {
    at.map(ns).transpose()
}

fn phase(outcome: Outcome) -> Option<Phase> {
    match outcome {
        Outcome::Connection { phase } | Outcome::TimedOut { phase } => Some(phase),
        _ => None,
    }
}
