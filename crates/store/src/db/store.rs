//! The store: begins, fills, ends and finds runs. One value for each process and file.

use std::borrow::Borrow;
use std::path::{Path, PathBuf};

use inferometer_analysis::summary::Summary;
use inferometer_model::finding::Severity;
use inferometer_model::record::Record;
use inferometer_model::target::{Environment, Target};
use rusqlite::{Connection, ErrorCode, OptionalExtension, Row, Transaction, TransactionBehavior};
use rusqlite::{named_params, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::list::ROW_COLUMNS;
use super::open::{Missing, database, open, open_to_read};
use super::requests;
use super::run::{ImportHeader, RunHeader, RunState, StoredRun};
use super::run_id::RunId;
use crate::error::StoreError;
use crate::utc;

/// The folder of the logs, beside the database.
const LOG_FOLDER: &str = "inferometer.runs";

/// An open store.
#[derive(Debug)]
pub struct Store {
    pub(super) connection: Connection,
    pub(super) path: PathBuf,
}

impl Store {
    /// Opens the database at a path; makes it when there is none, and brings an older one up to
    /// date.
    ///
    /// # Errors
    /// [`StoreError::NotAStore`], [`StoreError::NewerStore`], [`StoreError::Database`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref().to_owned();
        Ok(Self { connection: open(&path, Missing::Create)?, path })
    }

    /// As [`Store::open`], for those who only read: makes no database where there is none.
    ///
    /// # Errors
    /// [`StoreError::NoStore`], and as [`Store::open`].
    pub fn open_existing(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref().to_owned();
        Ok(Self { connection: open(&path, Missing::Refuse)?, path })
    }

    /// As [`Store::open_existing`], without the right to write: a file of an earlier version is
    /// refused, since it cannot be brought up to date.
    ///
    /// # Errors
    /// [`StoreError::NoStore`], [`StoreError::OlderStore`], and as [`Store::open`].
    pub fn open_to_read(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref().to_owned();
        Ok(Self { connection: open_to_read(&path)?, path })
    }

    /// Where the log of a run is or belongs. [`Store::begin_run`] makes its folder.
    #[must_use]
    pub fn log_path(&self, run: &RunId) -> PathBuf {
        self.beside(&log_file(run))
    }

    /// Where a run says what is under way while it goes on: [`crate::LiveNote`].
    #[must_use]
    pub fn live_note(&self, run: &RunId) -> PathBuf {
        self.log_path(run).with_extension("live")
    }

    pub(super) fn beside(&self, file: &str) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(file)
    }

    /// Enters a run as running, and makes the folder of its log.
    ///
    /// # Errors
    /// [`StoreError::RunExists`] when another run has its second and suffix,
    /// [`StoreError::Database`], [`StoreError::Io`].
    pub fn begin_run(&mut self, header: &RunHeader) -> Result<RunId, StoreError> {
        let id = RunId::new(header.started_unix_ns, header.suffix);
        let log = log_file(&id);
        let folder = self.beside(LOG_FOLDER);
        std::fs::create_dir_all(&folder).map_err(StoreError::io("create", &folder))?;
        let inserted = self.connection.execute(
            "INSERT INTO runs (id, state, started_at, started_unix_ns, origin_unix_ns,
                 tool_version, predicted, log_file, plan_hash, workload_hash, body_hash,
                 plan, target, environment)
             VALUES (:id, 'running', :started_at, :started, :origin, :tool, :predicted, :log,
                 :plan_hash, :workload_hash, :body_hash, :plan, :target, :environment)",
            named_params! {
                ":id": id.as_str(),
                ":started_at": utc::rfc3339(header.started_unix_ns),
                ":started": header.started_unix_ns,
                ":origin": header.origin_unix_ns,
                ":tool": header.tool_version,
                ":predicted": header.predicted,
                ":log": log,
                ":plan_hash": header.plan.hash(),
                ":workload_hash": header.workload_hash,
                ":body_hash": header.body_hash,
                ":plan": json(&header.plan),
                ":target": json(&header.target),
                ":environment": json(&header.environment),
            },
        );
        self.entered(inserted, id)
    }

    fn entered(&self, inserted: rusqlite::Result<usize>, id: RunId) -> Result<RunId, StoreError> {
        match inserted {
            Ok(_) => Ok(id),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
                Err(StoreError::RunExists { path: self.path.clone(), id: id.to_string() })
            }
            Err(error) => Err(database(&self.path)(error)),
        }
    }

    /// Enters results of others as a run that goes on, and makes the folder of its log. Its plan
    /// says no more than whether answers were streamed.
    ///
    /// # Errors
    /// As [`Store::begin_run`].
    pub fn begin_import(&mut self, header: &ImportHeader) -> Result<RunId, StoreError> {
        let id = RunId::new(header.imported_unix_ns, header.suffix);
        let folder = self.beside(LOG_FOLDER);
        std::fs::create_dir_all(&folder).map_err(StoreError::io("create", &folder))?;
        let inserted = self.connection.execute(
            "INSERT INTO runs (id, state, started_at, started_unix_ns, origin_unix_ns,
                 tool_version, predicted, log_file, plan_hash, plan, target, environment)
             VALUES (:id, 'running', :at, :ns, :ns, :tool, 0, :log, '',
                 '{\"sampling\":{\"stream\":true}}', :target, '{}')",
            named_params! {
                ":id": id.as_str(),
                ":at": utc::rfc3339(header.imported_unix_ns),
                ":ns": header.imported_unix_ns,
                ":tool": header.tool_version,
                ":log": log_file(&id),
                ":target": json(&header.target),
            },
        );
        self.entered(inserted, id)
    }

    /// The run into which a part of a file was imported before: by the file's SHA-256 and the
    /// names of the part.
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

    /// Enters the requests of a pass, all or none of them, with figures as they follow from the
    /// stored records.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::Database`], also when a request was entered
    /// before.
    pub fn index_requests(
        &mut self,
        run: &RunId,
        records: impl IntoIterator<Item: Borrow<Record>>,
    ) -> Result<(), StoreError> {
        let found = self.transact(|transaction| requests::insert(transaction, run, records))?;
        self.expect_one(usize::from(found), run)
    }

    /// Enters the results of a run that ended: its state, the summary, and what the summary says
    /// of cells, passes and findings. Passes are numbered through all cells in the summary's
    /// order, which is that of [`Record::pass`].
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::Database`], also when it has results already.
    pub fn finish_run(
        &mut self,
        run: &RunId,
        summary: &Summary,
        state: RunState,
        finished_unix_ns: i64,
    ) -> Result<(), StoreError> {
        let updated = self.transact(|transaction| {
            let updated = transaction.execute(
                "UPDATE runs SET state = :state, finished_at = :finished_at,
                     finished_unix_ns = :finished, workload_hash = :workload_hash,
                     body_hash = :body_hash, target = :target, environment = :environment,
                     verdict = :verdict, summary = :summary, cells = :cells
                 WHERE id = :id",
                named_params! {
                    ":id": run.as_str(),
                    ":state": state.name(),
                    ":finished_at": utc::rfc3339(finished_unix_ns),
                    ":finished": finished_unix_ns,
                    ":workload_hash": summary.workload_hash,
                    ":body_hash": summary.body_hash,
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
        })?;
        self.expect_one(updated, run)
    }

    /// Enters that a run ended without results.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::Database`].
    pub fn fail_run(&mut self, run: &RunId, finished_unix_ns: i64) -> Result<(), StoreError> {
        let updated = self.connection.execute(
            "UPDATE runs SET state = 'failed', finished_at = ?, finished_unix_ns = ? WHERE id = ?",
            params![utc::rfc3339(finished_unix_ns), finished_unix_ns, run.as_str()],
        );
        self.expect_one(updated.map_err(database(&self.path))?, run)
    }

    pub(super) fn expect_one(&self, updated: usize, run: &RunId) -> Result<(), StoreError> {
        if updated == 1 { Ok(()) } else { Err(self.no_such_run(run.as_str())) }
    }

    pub(super) fn no_such_run(&self, id: &str) -> StoreError {
        StoreError::NoSuchRun { path: self.path.clone(), id: id.to_owned() }
    }

    /// Writes in one transaction that waits for other writers before it reads anything.
    pub(super) fn transact<T>(
        &mut self,
        write: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .and_then(|transaction| {
                let written = write(&transaction)?;
                transaction.commit()?;
                Ok(written)
            })
            .map_err(database(&self.path))
    }

    /// One run, by any name that [`Store::find`] knows.
    ///
    /// # Errors
    /// As [`Store::find`], and [`StoreError::Document`] when a program of another version wrote
    /// what this one cannot read.
    pub fn run(&self, id: &str) -> Result<StoredRun, StoreError> {
        let id = self.find(id)?;
        let id = id.as_str();
        let query = format!(
            "SELECT {ROW_COLUMNS}, started_unix_ns, finished_unix_ns, origin_unix_ns, tool_version,
                 plan_hash, plan, target, environment, summary
             FROM runs WHERE id = ?"
        );
        let read = self.connection.query_row(&query, [id], |row| self.stored_run(row));
        read.map_err(database(&self.path))?
    }

    /// A run with its documents, which may be those of a program of another version.
    fn stored_run(&self, row: &Row<'_>) -> rusqlite::Result<Result<StoredRun, StoreError>> {
        let listed = match self.run_row(row)? {
            Ok(listed) => listed,
            Err(error) => return Ok(Err(error)),
        };
        let id = listed.id.to_string();
        let log_file: String = row.get("log_file")?;
        let mut stored = StoredRun {
            row: listed,
            started_unix_ns: row.get("started_unix_ns")?,
            finished_unix_ns: row.get("finished_unix_ns")?,
            origin_unix_ns: row.get("origin_unix_ns")?,
            tool_version: row.get("tool_version")?,
            plan_hash: row.get("plan_hash")?,
            plan_json: row.get("plan")?,
            target: Target::default(),
            environment: Environment::default(),
            summary: None,
            log: self.beside(&log_file),
        };
        let text = |column| row.get::<_, Option<String>>(column);
        let [target, environment] = [text("target")?, text("environment")?];
        let summary = text("summary")?;
        let read = || {
            stored.target = document(&id, "target", target)?;
            stored.environment = document(&id, "environment", environment)?;
            stored.summary = document(&id, "summary", summary)?;
            Ok(())
        };
        Ok(read().map(|()| stored))
    }
}

/// The log of a run, relative to the folder of the database.
fn log_file(run: &RunId) -> String {
    format!("{LOG_FOLDER}/{run}.log")
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("invariant: documents are plain data")
}

pub(super) fn document<T: DeserializeOwned>(
    run: &str,
    what: &'static str,
    text: Option<String>,
) -> Result<T, StoreError> {
    serde_json::from_str(text.as_deref().unwrap_or("null")).map_err(|source| StoreError::Document {
        run: run.to_owned(),
        what,
        source,
    })
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
            run,
            index,
            finding.code,
            severity,
            finding.place,
            finding.message,
            finding.advice,
        ])?;
    }
    Ok(())
}
