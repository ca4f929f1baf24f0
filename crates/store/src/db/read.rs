//! Reads one run with its documents. Changes nothing.

use inferometer_model::{Environment, Target};
use rusqlite::Row;

use super::store::{Store, document};
use super::{list::ROW_COLUMNS, open::database, run::StoredRun};
use crate::StoreError;

impl Store {
    /// Reads one run, by any name that [`Store::find`] accepts.
    ///
    /// # Errors
    /// As [`Store::find`], and [`StoreError::Document`] if another version of this program wrote a document
    /// that this version cannot read.
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

    /// Reads a run with its documents. The inner error means that a document cannot be parsed: another
    /// version of this program may have written the document.
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
            log: self.sibling_path(&log_file),
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
