//! Copies a run from another store without changes: its id, its documents and its records. The copy is
//! atomic: either everything is copied, or nothing.

use std::fs;
use std::path::{Path, PathBuf};

use inferometer_analysis::Summary;
use inferometer_model::Record;
use rusqlite::{Transaction, TransactionBehavior, named_params};

use super::lifecycle::{INSERT, finish};
use super::requests::{self, RowFigures, RowLimits};
use super::store::{Store, json, log_file};
use super::{open::database, run::RunState, run_id::RunId};
use crate::{LogReader, PassItem, Passes, StoreError, calendar};

/// The number of records whose rows are added in one batch. It limits the memory.
const BATCH: usize = 1_024;

/// A run of another store that is copied into this store. Its log is passed to [`Store::restore_run`] as a
/// file in the log folder of this store.
#[derive(Clone, Debug)]
pub struct RestoredRun {
    /// The id of the run.
    pub id: RunId,
    /// The final state of the run.
    pub state: RunState,
    /// The wall time at which the run began, in nanoseconds since the Unix epoch.
    pub started_unix_ns: i64,
    /// The wall time at which the run ended, in nanoseconds since the Unix epoch; `None` if it was not
    /// recorded.
    pub finished_unix_ns: Option<i64>,
    /// The wall time at the origin of the run's clock, in nanoseconds since the Unix epoch.
    pub origin_unix_ns: i64,
    /// Version of the program that made the run.
    pub tool_version: String,
    /// The resolved plan as JSON. Another version of this program may have written it.
    pub plan_json: String,
    /// The hash of the plan.
    pub plan_hash: String,
    /// The results of the run, with its target and its environment.
    pub summary: Summary,
}

impl Store {
    /// Returns a path in the log folder for the log of a run that will be restored. Creates the folder.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn path_to_restore(&self, run: &RunId) -> Result<PathBuf, StoreError> {
        self.create_log_folder()?;
        Ok(self.log_path(run).with_extension(format!("{}.restored", std::process::id())))
    }

    /// Adds a run with all of its records, and moves its log to its final path.
    ///
    /// # Errors
    /// [`StoreError::RunExists`]; [`StoreError::LogExists`]; the errors of [`LogReader`] for a damaged or
    /// cut log; [`StoreError::OtherRun`] if the log belongs to another run; [`StoreError::Io`];
    /// [`StoreError::Database`].
    pub fn restore_run(&mut self, run: &RestoredRun, log: &Path) -> Result<(), StoreError> {
        let reader = LogReader::open(log)?;
        if reader.header().run_id != run.id.as_str() {
            let (log, of) = (log.to_owned(), reader.header().run_id.clone());
            return Err(StoreError::OtherRun { log, of, run: run.id.to_string() });
        }
        let streamed = super::run::streamed(&run.plan_json);
        let mut passes = Passes::from(reader.streamed(streamed));
        let place = self.log_path(&run.id);
        if self.has_run(&run.id)? {
            return Err(StoreError::RunExists { path: self.path.clone(), id: run.id.to_string() });
        }
        if place.exists() {
            return Err(StoreError::LogExists { path: place });
        }
        let refused = database(&self.path);
        // The transaction is rolled back unless it is committed.
        let begun = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let entered = begun.and_then(|transaction| {
            insert(&transaction, run)?;
            Ok(transaction)
        });
        let transaction = entered.map_err(&refused)?;
        index(&transaction, run, &mut passes, &refused)?;
        fs::rename(log, &place).map_err(StoreError::io("create", &place))?;
        transaction.commit().map_err(|error| {
            // A log without rows in the database would prevent another attempt.
            let _ = fs::remove_file(&place);
            refused(error)
        })
    }

    /// Whether the store has a run with exactly this id.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn has_run(&self, run: &RunId) -> Result<bool, StoreError> {
        let query = "SELECT 1 FROM runs WHERE id = ?";
        let found = self.connection.prepare(query).and_then(|mut it| it.exists([run.as_str()]));
        found.map_err(database(&self.path))
    }
}

fn insert(transaction: &Transaction<'_>, run: &RestoredRun) -> rusqlite::Result<()> {
    let summary = &run.summary;
    transaction.execute(
        INSERT,
        named_params! {
            ":id": run.id.as_str(),
            ":started_at": calendar::rfc3339(run.started_unix_ns),
            ":started": run.started_unix_ns,
            ":origin": run.origin_unix_ns,
            ":tool": run.tool_version,
            ":predicted": summary.predicted,
            ":log": log_file(&run.id),
            ":plan_hash": run.plan_hash,
            ":plan": run.plan_json,
            ":target": json(&summary.target),
            ":environment": json(&summary.environment),
        },
    )?;
    finish(transaction, &run.id, summary, run.state, run.finished_unix_ns).map(drop)
}

/// Adds the rows of the log's requests. A run that is recorded has the same rows.
fn index(
    transaction: &Transaction<'_>,
    run: &RestoredRun,
    passes: &mut Passes,
    refused: impl Fn(rusqlite::Error) -> StoreError,
) -> Result<(), StoreError> {
    let enter = |records: &mut Vec<Record>| {
        requests::insert(transaction, &run.id, records.drain(..).map(RowFigures::read))
            .map(|_| ())
            .map_err(&refused)
    };
    let mut records = Vec::new();
    while let Some(pass) = passes.next_pass() {
        let mut limits = RowLimits::of_pass(run.summary.predicted);
        for item in pass? {
            let PassItem::Record(record) = item? else { continue };
            if limits.admits(&record) {
                records.push(*record);
            }
            if records.len() >= BATCH {
                enter(&mut records)?;
            }
        }
    }
    enter(&mut records)?;
    // The log of a completely recorded run always has an end mark, so a log without an end mark is an error.
    passes.cut.take().map_or(Ok(()), Err)
}
