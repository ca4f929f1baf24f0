//! Removes a run: its rows, its log and its live note. Never removes a run that is being written.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;

use rusqlite::OptionalExtension;

use super::run::{RunRow, RunState};
use super::{open::database, store::Store};
use crate::StoreError;

/// A new run creates its log within this time after its start, in nanoseconds.
const BEGINNING_NS: i64 = 60_000_000_000;

impl Store {
    /// Removes a run and its log. Returns the size of the log in bytes; 0 if there was no log. Files that
    /// were made from the run, such as reports, are not removed.
    ///
    /// # Errors
    /// [`StoreError::BeingWritten`] if a process writes the run, or may write it;
    /// [`StoreError::NoSuchRun`]; [`StoreError::Database`]; [`StoreError::Io`] if the log cannot be opened,
    /// or if the log or the live note cannot be removed. If a file cannot be removed, the rows of the run are
    /// already removed.
    pub fn remove(&mut self, row: &RunRow, now_unix_ns: i64) -> Result<u64, StoreError> {
        let being_written = || StoreError::BeingWritten { run: row.id.to_string() };
        // On a file system without locks, only the stored state shows whether a process writes the run.
        if row.state == RunState::Running {
            return Err(being_written());
        }
        let path = self.log_path(&row.id);
        let log = match File::open(&path) {
            Ok(log) => Some(log),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if row.state == RunState::Killed && self.began_after(row, now_unix_ns)? {
                    return Err(being_written());
                }
                None
            }
            Err(error) => return Err(StoreError::io("open", &path)(error)),
        };
        // The lock is held until the file is removed.
        match log.as_ref().map(File::try_lock) {
            Some(Err(TryLockError::WouldBlock)) => return Err(being_written()),
            Some(Ok(()) | Err(TryLockError::Error(_))) | None => {}
        }
        // The rows are removed first. A log without rows only takes space, but rows without a log would be
        // wrong.
        let removed = self.transact(|transaction| {
            transaction.execute("DELETE FROM runs WHERE id = ?", [row.id.as_str()])
        })?;
        self.expect_one(removed, &row.id)?;
        // A run that was killed leaves its live note behind.
        let note = self.live_note(&row.id);
        for note in [note.with_extension("live.new"), note] {
            match fs::remove_file(&note) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(StoreError::io("remove", &note)(error));
                }
                _ => {}
            }
        }
        let Some(log) = log else { return Ok(0) };
        let bytes = log.metadata().map_or(0, |metadata| metadata.len());
        fs::remove_file(&path).map_err(StoreError::io("remove", &path))?;
        Ok(bytes)
    }

    /// Whether a run began less than [`BEGINNING_NS`] before now.
    fn began_after(&self, row: &RunRow, now_unix_ns: i64) -> Result<bool, StoreError> {
        let query = "SELECT started_unix_ns FROM runs WHERE id = ?";
        let started: Option<i64> = self
            .connection
            .query_row(query, [row.id.as_str()], |row| row.get(0))
            .optional()
            .map_err(database(&self.path))?;
        Ok(started.is_some_and(|started| now_unix_ns.saturating_sub(started) < BEGINNING_NS))
    }
}
