//! An open store: its connection, its paths, its transactions. The other files of this folder define the
//! stored values and the queries.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use serde::{Serialize, de::DeserializeOwned};

use super::open::{IfMissing, database, open, open_to_read};
use super::run_id::RunId;
use crate::StoreError;

/// The folder of the logs, next to the database.
pub(super) const LOG_FOLDER: &str = "inferometer.runs";

/// An open store: a connection to the database, and the paths of its files.
#[derive(Debug)]
pub struct Store {
    pub(super) connection: Connection,
    pub(super) path: PathBuf,
    /// The device number and the inode number of the opened file.
    file: Option<(u64, u64)>,
}

/// Returns the device number and the inode number of the file at a path; `None` if there is no such file.
fn file_at(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

impl Store {
    /// Opens the database at a path. Creates the database if there is none, and migrates a database of an
    /// older version.
    ///
    /// # Errors
    /// [`StoreError::NotAStore`], [`StoreError::NewerStore`], [`StoreError::Database`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref().to_owned();
        Ok(Self::of(open(&path, IfMissing::Create)?, path))
    }

    /// As [`Store::open`], but does not create a database.
    ///
    /// # Errors
    /// [`StoreError::NoStore`], and as [`Store::open`].
    pub fn open_existing(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref().to_owned();
        Ok(Self::of(open(&path, IfMissing::Refuse)?, path))
    }

    /// As [`Store::open_existing`], but read-only. A database of an earlier version is refused, because
    /// migrating it would write.
    ///
    /// # Errors
    /// [`StoreError::NoStore`], [`StoreError::OlderStore`], and as [`Store::open`].
    pub fn open_to_read(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref().to_owned();
        Ok(Self::of(open_to_read(&path)?, path))
    }

    fn of(connection: Connection, path: PathBuf) -> Self {
        Self { connection, file: file_at(&path), path }
    }

    /// Checks that the file at the path is still the file that was opened. SQLite continues to write into a
    /// deleted file without an error.
    ///
    /// # Errors
    /// [`StoreError::StoreGone`].
    pub fn check_file(&self, run: &RunId) -> Result<(), StoreError> {
        match self.file == file_at(&self.path) {
            true => Ok(()),
            false => {
                Err(StoreError::StoreGone { path: self.path.clone(), log: self.log_path(run) })
            }
        }
    }

    /// The path of the log of a run. [`Store::begin_run`] creates its folder.
    pub fn log_path(&self, run: &RunId) -> PathBuf {
        self.sibling_path(&log_file(run))
    }

    /// The path of the [`crate::LiveNote`] of a run.
    pub fn live_note(&self, run: &RunId) -> PathBuf {
        self.log_path(run).with_extension("live")
    }

    /// The path of a file next to the database.
    pub(super) fn sibling_path(&self, file: &str) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(file)
    }

    pub(super) fn expect_one(&self, updated: usize, run: &RunId) -> Result<(), StoreError> {
        if updated == 1 { Ok(()) } else { Err(self.no_such_run(run.as_str())) }
    }

    pub(super) fn no_such_run(&self, id: &str) -> StoreError {
        StoreError::NoSuchRun { path: self.path.clone(), id: id.to_owned() }
    }

    /// Runs `write` in one transaction that waits for other writers before it reads anything.
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
}

/// The path of the log of a run, relative to the folder of the database.
pub(super) fn log_file(run: &RunId) -> String {
    format!("{LOG_FOLDER}/{run}.log")
}

/// The JSON text of a document.
pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("invariant: a document can always be written as JSON")
}

/// Parses a document of a run; NULL in the database is the JSON `null`.
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
