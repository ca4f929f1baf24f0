//! Writes a run to the database, from its start to its results.

use std::borrow::Borrow;

use inferometer_analysis::Summary;
use inferometer_model::{Record, Severity};
use rusqlite::{ErrorCode, OptionalExtension, Transaction, named_params, params};

use super::requests::{self, RowFigures};
use super::run::{ImportHeader, RunHeader, RunState};
use super::store::{LOG_FOLDER, Store, json, log_file};
use super::{open::database, run_id::RunId};
use crate::{StoreError, as_stored, calendar};

/// Adds a run in the state `running`.
pub(super) const INSERT: &str =
    "INSERT INTO runs (id, state, started_at, started_unix_ns, origin_unix_ns, tool_version,
         predicted, log_file, plan_hash, plan, target, environment)
     VALUES (:id, 'running', :started_at, :started, :origin, :tool, :predicted, :log, :plan_hash,
         :plan, :target, :environment)";

impl Store {
    /// Adds a run in the state `running`, and creates the folder of its log. [`crate::RunRecording`] calls
    /// this function and also creates the log.
    ///
    /// # Errors
    /// [`StoreError::RunExists`] if another run began in the same second and has the same suffix,
    /// [`StoreError::Database`], [`StoreError::Io`].
    pub fn begin_run(&mut self, header: &RunHeader) -> Result<RunId, StoreError> {
        self.create_log_folder()?;
        let id = RunId::new(header.started_unix_ns, header.suffix);
        let inserted = self.connection.execute(
            INSERT,
            named_params! {
                ":id": id.as_str(),
                ":started_at": calendar::rfc3339(header.started_unix_ns),
                ":started": header.started_unix_ns,
                ":origin": header.origin_unix_ns,
                ":tool": header.tool_version,
                ":predicted": header.predicted,
                ":log": log_file(&id),
                ":plan_hash": header.plan.hash(),
                ":plan": json(&header.plan),
                ":target": json(&header.target),
                ":environment": json(&header.environment),
            },
        );
        self.inserted(inserted, id)
    }

    pub(super) fn create_log_folder(&self) -> Result<(), StoreError> {
        let folder = self.sibling_path(LOG_FOLDER);
        std::fs::create_dir_all(&folder).map_err(StoreError::io("create", &folder))
    }

    fn inserted(&self, inserted: rusqlite::Result<usize>, id: RunId) -> Result<RunId, StoreError> {
        match inserted {
            Ok(_) => Ok(id),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
                Err(StoreError::RunExists { path: self.path.clone(), id: id.to_string() })
            }
            Err(error) => Err(database(&self.path)(error)),
        }
    }

    /// Adds imported results as a run in the state `running`, and creates the folder of its log. The stored
    /// plan contains only the fact that answers are streamed.
    ///
    /// # Errors
    /// As [`Store::begin_run`].
    pub fn begin_import(&mut self, header: &ImportHeader) -> Result<RunId, StoreError> {
        self.create_log_folder()?;
        let id = RunId::new(header.imported_unix_ns, header.suffix);
        let inserted = self.connection.execute(
            "INSERT INTO runs (id, state, started_at, started_unix_ns, origin_unix_ns,
                 tool_version, predicted, log_file, plan_hash, plan, target, environment)
             VALUES (:id, 'running', :at, :ns, :ns, :tool, 0, :log, '',
                 '{\"sampling\":{\"stream\":true}}', :target, '{}')",
            named_params! {
                ":id": id.as_str(),
                ":at": calendar::rfc3339(header.imported_unix_ns),
                ":ns": header.imported_unix_ns,
                ":tool": header.tool_version,
                ":log": log_file(&id),
                ":target": json(&header.target),
            },
        );
        self.inserted(inserted, id)
    }

    /// Returns the oldest run into which this section of a file was imported; `None` if there is no such run.
    /// The file is identified by its SHA-256. `section` has the headings above the section, or its name in the
    /// file; it is empty for a file without sections.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn imported_before(
        &self,
        sha256: &str,
        section: &[String],
    ) -> Result<Option<RunId>, StoreError> {
        let query = "SELECT id FROM runs WHERE kind = 'imported'
                     AND summary ->> '$.imported.sha256' = ?
                     AND coalesce(summary ->> '$.imported.section', '[]') = ?
                     ORDER BY started_unix_ns LIMIT 1";
        let section = json(&section);
        let found = self.connection.query_row(query, [sha256, &section], |row| row.get(0));
        Ok(found.optional().map_err(database(&self.path))?.map(RunId::stored))
    }

    /// Adds a row for each request: all rows, or none. The times have the resolution of the log.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; [`StoreError::Database`], also if one of the requests already has a row.
    pub fn index_requests(
        &mut self,
        run: &RunId,
        records: impl IntoIterator<Item: Borrow<Record>>,
    ) -> Result<(), StoreError> {
        let read = |record: &Record| RowFigures::read(as_stored(record));
        self.index_read_requests(run, records.into_iter().map(|record| read(record.borrow())))
    }

    /// As [`Store::index_requests`], with figures that were computed from the whole record.
    pub(crate) fn index_read_requests(
        &mut self,
        run: &RunId,
        rows: impl IntoIterator<Item = (Record, RowFigures)>,
    ) -> Result<(), StoreError> {
        // The database would check for each row that its run exists, which takes a tenth of the time. This
        // check is not necessary, because the same transaction first checks that the run exists.
        self.check_references(false)?;
        let found = self.transact(|transaction| requests::insert(transaction, run, rows));
        self.check_references(true)?;
        self.expect_one(usize::from(found?), run)
    }

    /// Sets whether the database checks that each row refers to a run that exists.
    fn check_references(&self, on: bool) -> Result<(), StoreError> {
        let set = self.connection.pragma_update(None, "foreign_keys", on);
        set.map_err(database(&self.path))
    }

    /// Adds the results of a run that has ended: its state, the summary, and the summary's cells, passes
    /// and findings as rows. Passes are numbered over all cells in the order of the summary. These numbers
    /// are equal to those of [`Record::pass`].
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; [`StoreError::Database`], also if the run already has results.
    pub fn finish_run(
        &mut self,
        run: &RunId,
        summary: &Summary,
        state: RunState,
        finished_unix_ns: i64,
    ) -> Result<(), StoreError> {
        let finished = Some(finished_unix_ns);
        let updated =
            self.transact(|transaction| finish(transaction, run, summary, state, finished))?;
        self.expect_one(updated, run)
    }
}

/// Adds the results of a run, if the run exists. Returns the number of runs with this id.
pub(super) fn finish(
    transaction: &Transaction<'_>,
    run: &RunId,
    summary: &Summary,
    state: RunState,
    finished_unix_ns: Option<i64>,
) -> rusqlite::Result<usize> {
    let updated = transaction.execute(
        "UPDATE runs SET state = :state, finished_at = :finished_at, finished_unix_ns = :finished,
             workload_hash = :workload_hash, body_hash = :body_hash, target = :target,
             environment = :environment, verdict = :verdict, summary = :summary, cells = :cells
         WHERE id = :id",
        named_params! {
            ":id": run.as_str(),
            ":state": state.name(),
            ":finished_at": finished_unix_ns.map(calendar::rfc3339),
            ":finished": finished_unix_ns,
            ":workload_hash": summary.workload_hash.as_deref().unwrap_or_default(),
            ":body_hash": summary.body_hash.as_deref().unwrap_or_default(),
            ":target": json(&summary.target),
            ":environment": json(&summary.environment),
            ":verdict": json(&summary.verdict),
            ":summary": json(summary),
            ":cells": i64::try_from(summary.cells.len()).unwrap_or(i64::MAX),
        },
    )?;
    if updated == 1 {
        insert_results(transaction, run, summary)?;
    }
    Ok(updated)
}

fn insert_results(
    transaction: &Transaction<'_>,
    run: &RunId,
    summary: &Summary,
) -> rusqlite::Result<()> {
    let run = run.as_str();
    let mut insert_cell =
        transaction.prepare("INSERT INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?)")?;
    let mut insert_pass = transaction
        .prepare("INSERT INTO passes (run_id, pass, cell, summary) VALUES (?, ?, ?, ?)")?;
    let mut insert_finding =
        transaction.prepare("INSERT INTO findings VALUES (?, ?, ?, ?, ?, ?, ?)")?;
    let mut passes = 0_u32..;
    for (index, cell) in (0_u32..).zip(&summary.cells) {
        insert_cell.execute(params![
            run,
            index,
            cell.input_length,
            cell.output_length,
            cell.requests_per_s,
            cell.output_tokens_per_s,
            cell.latency_per_token_ms,
            cell.latency_per_output_token_ms,
        ])?;
        for (pass, number) in cell.passes.iter().zip(&mut passes) {
            insert_pass.execute(params![run, number, index, json(pass)])?;
        }
    }
    for (index, finding) in (0_u32..).zip(&summary.findings) {
        let severity = match finding.severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
        };
        insert_finding.execute(params![
            run, index, finding.code, severity, finding.place, finding.message, finding.advice,
        ])?;
    }
    Ok(())
}
