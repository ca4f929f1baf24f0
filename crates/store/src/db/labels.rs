//! Tags and notes on runs. They never change a figure.

use rusqlite::{OptionalExtension, params};

use super::{open::database, run_id::RunId, store::Store};
use crate::{StoreError, calendar};

/// A note on a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// When the note was written: RFC 3339, UTC.
    pub at: String,
    /// The text of the note.
    pub text: String,
}

impl Store {
    /// Adds the tags `add` to a run, and removes the tags `remove` from it. If there is an error, no tag is
    /// changed. Adding a tag that the run already has changes nothing. Returns all tags of the run, sorted.
    ///
    /// # Errors
    /// [`StoreError::InvalidTag`] for an invalid tag, [`StoreError::NoSuchTag`] if the run does not have a
    /// tag to remove, [`StoreError::NoSuchRun`], [`StoreError::Database`].
    pub fn tag(
        &mut self,
        run: &RunId,
        add: &[String],
        remove: &[String],
    ) -> Result<Vec<String>, StoreError> {
        let bad = |tag: &&String| {
            let is_bad = |c: char| c.is_whitespace() || c.is_control() || c == ',';
            tag.is_empty() || tag.starts_with(['+', '-']) || tag.contains(is_bad)
        };
        if let Some(tag) = add.iter().chain(remove).find(bad) {
            return Err(StoreError::InvalidTag { tag: tag.clone() });
        }
        self.expect_run(run)?;
        let missing = self.transact(|transaction| {
            let has = "SELECT 1 FROM tags WHERE run_id = ? AND tag = ?";
            for tag in remove {
                // All tags to remove are checked before the first change, because the transaction is
                // committed even if a tag is missing.
                if !transaction.prepare(has)?.exists(params![run.as_str(), tag])? {
                    return Ok(Err(tag.clone()));
                }
            }
            for tag in remove {
                let remove = "DELETE FROM tags WHERE run_id = ? AND tag = ?";
                transaction.execute(remove, params![run.as_str(), tag])?;
            }
            for tag in add {
                let add = "INSERT OR IGNORE INTO tags (run_id, tag) VALUES (?, ?)";
                transaction.execute(add, params![run.as_str(), tag])?;
            }
            Ok(Ok(()))
        })?;
        match missing {
            Ok(()) => self.tags_of(run),
            Err(tag) => Err(StoreError::NoSuchTag { run: run.to_string(), tag }),
        }
    }

    fn tags_of(&self, run: &RunId) -> Result<Vec<String>, StoreError> {
        let query = "SELECT tag FROM tags WHERE run_id = ? ORDER BY tag";
        let tags = self.connection.prepare(query).and_then(|mut statement| {
            let tags = statement.query_map([run.as_str()], |row| row.get(0))?;
            tags.collect::<rusqlite::Result<Vec<String>>>()
        });
        tags.map_err(database(&self.path))
    }

    /// Adds a note to a run. `at_unix_ns` is the time of the note, in nanoseconds since the Unix epoch.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::Database`].
    pub fn note(&mut self, run: &RunId, text: &str, at_unix_ns: i64) -> Result<(), StoreError> {
        self.expect_run(run)?;
        self.transact(|transaction| {
            transaction.execute(
                "INSERT INTO notes (run_id, note, at, at_unix_ns, text)
                 SELECT ?1, coalesce(max(note) + 1, 0), ?2, ?3, ?4 FROM notes WHERE run_id = ?1",
                params![run.as_str(), calendar::rfc3339(at_unix_ns), at_unix_ns, text],
            )
        })?;
        Ok(())
    }

    /// The notes on a run, the oldest first.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn notes(&self, run: &RunId) -> Result<Vec<Note>, StoreError> {
        let query = "SELECT at, text FROM notes WHERE run_id = ? ORDER BY note";
        let notes = self.connection.prepare(query).and_then(|mut statement| {
            let notes = statement.query_map([run.as_str()], |row| {
                Ok(Note { at: row.get("at")?, text: row.get("text")? })
            })?;
            notes.collect::<rusqlite::Result<Vec<Note>>>()
        });
        notes.map_err(database(&self.path))
    }

    fn expect_run(&self, run: &RunId) -> Result<(), StoreError> {
        let query = "SELECT 1 FROM runs WHERE id = ?";
        let found = self.connection.query_row(query, [run.as_str()], |_| Ok(())).optional();
        found.map_err(database(&self.path))?.ok_or_else(|| self.no_such_run(run.as_str()))
    }
}
