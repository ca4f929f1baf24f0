//! Lists runs, and finds a run by its name. The list is read from an index, and from rows of other tables that
//! SQLite finds by their keys. A stored document is read only if it belongs to an imported run, or to a pass
//! of a run with failed requests. This module changes nothing.

use std::path::Path;

use rusqlite::{OptionalExtension, Row};

use super::run::{GridRow, LoadsRow, RunKind, RunRow, RunState};
use super::store::{Store, document};
use super::{filter::RunFilter, open::database, run_id::RunId};
use crate::{StoreError, log::is_being_written};

/// The names of the latest run of each kind.
const LATEST: [(&str, RunKind); 3] = [
    ("latest", RunKind::Measured),
    ("latest-predicted", RunKind::Predicted),
    ("latest-imported", RunKind::Imported),
];

pub(super) const ROW_COLUMNS: &str = "id, started_at, finished_at, state, kind, engine,
    engine_version, model, card, simulated, predicted, imported_from, validity, cells, log_file,
    (SELECT message FROM findings WHERE findings.run_id = runs.id AND code = 'cells_not_measured')
        AS missing,
    CASE WHEN EXISTS (SELECT 1 FROM findings WHERE findings.run_id = runs.id
            AND code IN ('requests_failed', 'nothing_completed'))
        THEN (SELECT json_array(max(0, sum(planned - complete
            - coalesce(summary ->> '$.outcomes.abandoned', 0) - CASE
                WHEN summary ->> '$.trial' IS NOT NULL OR summary ->> '$.stopped' IS NOT NULL
                    OR summary ->> '$.interrupted' OR summary ->> '$.outcomes.cancelled' > 0
                THEN (summary ->> '$.outcomes.cancelled') + (summary ->> '$.outcomes.skipped')
                ELSE 0 END)), sum(planned))
            FROM passes WHERE passes.run_id = runs.id) END AS failed,
    (SELECT json_group_array(tag) FROM tags WHERE tags.run_id = runs.id) AS tags,
    (SELECT json_array(min(input_length), max(input_length), min(output_length),
        max(output_length), max(requests_per_s) FILTER (WHERE requests_per_s < 1e300),
        max(output_tokens_per_s) FILTER (WHERE output_tokens_per_s < 1e300))
        FROM cells WHERE cells.run_id = runs.id) AS grid,
    (SELECT json_array(max(kind = 'saturated'), json_array(
            min(CASE kind WHEN 'one_by_one' THEN 1 WHEN 'closed' THEN concurrency END),
            max(CASE kind WHEN 'one_by_one' THEN 1 WHEN 'closed' THEN concurrency END)),
        json_array(min(rate), max(rate)), json_array(min(ttft_p50_ms), max(ttft_p50_ms)),
        json_array(min(tpot_p50_ms), max(tpot_p50_ms)))
        FROM passes WHERE passes.run_id = runs.id) AS loads,
    CASE WHEN imported_from IS NOT NULL THEN summary -> '$.imported.section' END
        AS imported_section";

/// The values in the column `grid`; all are null if the run has no cell.
type Grid = (Option<u32>, Option<u32>, Option<u32>, Option<u32>, Option<f64>, Option<f64>);

/// The values in the column `loads`: whether a pass sent all its requests at the same time, and four ranges.
/// All are null if the run has no pass.
type Loads = (Option<u8>, [Option<u32>; 2], [Option<f64>; 2], [Option<f64>; 2], [Option<f64>; 2]);

impl Store {
    /// All runs, the oldest first.
    ///
    /// # Errors
    /// [`StoreError::Database`], [`StoreError::Document`].
    pub fn runs(&self) -> Result<Vec<RunRow>, StoreError> {
        self.runs_that_fit(&RunFilter::default())
    }

    /// The runs that match a filter, the oldest first. If the filter has a limit, only the latest of these
    /// runs.
    ///
    /// # Errors
    /// [`StoreError::Database`], [`StoreError::Document`].
    pub fn runs_that_fit(&self, filter: &RunFilter) -> Result<Vec<RunRow>, StoreError> {
        self.list(filter).map_err(database(&self.path))?
    }

    fn list(&self, filter: &RunFilter) -> rusqlite::Result<Result<Vec<RunRow>, StoreError>> {
        let mut statement = self.connection.prepare(&listing())?;
        let mut rows = statement.query([])?;
        let mut found = Vec::new();
        while found.len() < filter.limit.unwrap_or(usize::MAX) {
            let Some(row) = rows.next()? else { break };
            match self.run_row(row)? {
                Ok(row) if filter.fits(&row) => found.push(row),
                Ok(_) => {}
                Err(error) => return Ok(Err(error)),
            }
        }
        found.reverse();
        Ok(Ok(found))
    }

    /// Reads a row of the list. The inner error means that a document in the row cannot be parsed: another
    /// version of this program may have written the document.
    pub(super) fn run_row(&self, row: &Row<'_>) -> rusqlite::Result<Result<RunRow, StoreError>> {
        let state: String = row.get("state")?;
        let state = RunState::named(&state).expect("invariant: the schema allows no other state");
        let log: String = row.get("log_file")?;
        let kind: String = row.get("kind")?;
        let kind = RunKind::named(&kind);
        let id: String = row.get("id")?;
        let text = |column: &str| row.get::<_, Option<String>>(column);
        let grid = document::<Grid>(&id, "grid", text("grid")?);
        let loads = document::<Loads>(&id, "loads", text("loads")?);
        let tags = document(&id, "list of tags", text("tags")?);
        let section = document::<Option<_>>(&id, "imported section", text("imported_section")?);
        let failed = document::<Option<[Option<u64>; 2]>>(&id, "failures", text("failed")?);
        let (grid, loads, tags, section, failed) = match (grid, loads, tags, section, failed) {
            (Ok(grid), Ok(loads), Ok(tags), Ok(section), Ok(failed)) => {
                (grid, loads, tags, section, failed)
            }
            (Err(error), ..)
            | (_, Err(error), ..)
            | (_, _, Err(error), ..)
            | (.., Err(error), _)
            | (.., Err(error)) => return Ok(Err(error)),
        };
        Ok(Ok(RunRow {
            id: RunId::stored(id),
            started_at: row.get("started_at")?,
            finished_at: row.get("finished_at")?,
            state: actual_state(state, &self.sibling_path(&log)),
            kind: kind.expect("invariant: the schema computes only known kinds"),
            engine: row.get("engine")?,
            engine_version: row.get("engine_version")?,
            model: row.get("model")?,
            card: row.get("card")?,
            simulated: row.get("simulated")?,
            predicted: row.get("predicted")?,
            imported_from: row.get("imported_from")?,
            imported_section: section.unwrap_or_default(),
            validity: row.get("validity")?,
            cells: row.get("cells")?,
            grid: grid_row(grid),
            loads: loads_row(loads),
            missing: row.get("missing")?,
            failed: failed_of(failed.unwrap_or_default()),
            tags,
        }))
    }

    /// Finds the run with a name. The name is an id, a tag that no other run has, the beginning of exactly
    /// one id, or any part of exactly one id. `latest` is the measured run that began last, in any state.
    /// `latest-predicted` and `latest-imported` are the last runs of the other two kinds.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::NoneOfItsKind`], [`StoreError::AmbiguousRun`],
    /// [`StoreError::Database`].
    pub fn find(&self, name: &str) -> Result<RunId, StoreError> {
        let mut found = self.find_all(name)?;
        match (found.pop(), found.is_empty()) {
            (Some(only), true) => Ok(only),
            (Some(last), false) => {
                found.push(last);
                let candidates = found.iter().map(RunId::to_string).collect();
                Err(StoreError::AmbiguousRun { id: name.to_owned(), candidates })
            }
            (None, _) => Err(self.no_such_run(name)),
        }
    }

    /// Finds the runs with a name, as [`Store::find`] does, the oldest first. If the name is a tag, returns
    /// all runs with the tag; otherwise one run.
    ///
    /// # Errors
    /// As [`Store::find`], but several runs with the tag are not an error.
    pub fn find_all(&self, name: &str) -> Result<Vec<RunId>, StoreError> {
        if let Some((_, kind)) = LATEST.into_iter().find(|(known, _)| *known == name) {
            let query = "SELECT id FROM runs WHERE kind = ?
                         ORDER BY started_unix_ns DESC, id DESC LIMIT 1";
            let found = self.connection.query_row(query, [kind.name()], |row| row.get(0));
            let found = found.optional().map_err(database(&self.path))?;
            let found = found.map(RunId::stored).ok_or_else(|| StoreError::NoneOfItsKind {
                path: self.path.clone(),
                kind: kind.name(),
            });
            return found.map(|id| vec![id]);
        }
        // Every id contains the empty text, so an empty name is excluded.
        let (id, beginning, part, tagged) = (
            self.ids("SELECT id FROM runs WHERE id = ?1", name)?,
            self.ids(
                "SELECT id FROM runs WHERE ?1 <> '' AND substr(id, 1, length(?1)) = ?1 ORDER BY id",
                name,
            )?,
            self.ids("SELECT id FROM runs WHERE ?1 <> '' AND instr(id, ?1) > 0 ORDER BY id", name)?,
            self.ids("SELECT run_id FROM tags WHERE tag = ?1 ORDER BY run_id", name)?,
        );
        // An exact id or tag has priority over a part of an id, because a new run can make a part ambiguous.
        for exact in [id, tagged] {
            if !exact.is_empty() {
                return Ok(exact);
            }
        }
        for only in [beginning.clone(), part.clone()] {
            if only.len() == 1 {
                return Ok(only);
            }
        }
        let candidates = if beginning.is_empty() { part } else { beginning };
        if candidates.is_empty() {
            return Err(self.no_such_run(name));
        }
        let candidates = candidates.iter().map(RunId::to_string).collect();
        Err(StoreError::AmbiguousRun { id: name.to_owned(), candidates })
    }

    fn ids(&self, query: &str, name: &str) -> Result<Vec<RunId>, StoreError> {
        let found = self.connection.prepare(query).and_then(|mut statement| {
            let ids = statement.query_map([name], |row| row.get(0))?;
            ids.collect::<rusqlite::Result<Vec<String>>>()
        });
        Ok(found.map_err(database(&self.path))?.into_iter().map(RunId::stored).collect())
    }
}

/// The query for all rows, the latest first. An index that contains the listed columns has the same order.
fn listing() -> String {
    format!("SELECT {ROW_COLUMNS} FROM runs ORDER BY started_unix_ns DESC, id DESC")
}

/// The numbers of failed and planned requests; absent if none failed.
fn failed_of([failed, planned]: [Option<u64>; 2]) -> Option<[u64; 2]> {
    failed.filter(|failed| *failed > 0).zip(planned).map(|(failed, planned)| [failed, planned])
}

fn grid_row(grid: Grid) -> Option<GridRow> {
    let (from_input, to_input, from_output, to_output, requests_per_s, output_tokens_per_s) = grid;
    Some(GridRow {
        input_lengths: [from_input?, to_input?],
        output_lengths: [from_output?, to_output?],
        requests_per_s,
        output_tokens_per_s,
    })
}

fn loads_row((all_at_once, in_flight, rate, ttft_p50_ms, tpot_p50_ms): Loads) -> Option<LoadsRow> {
    fn span<T>([least, most]: [Option<T>; 2]) -> Option<[T; 2]> {
        Some([least?, most?])
    }
    Some(LoadsRow {
        all_at_once: all_at_once? == 1,
        in_flight: span(in_flight),
        rate: span(rate),
        ttft_p50_ms: span(ttft_p50_ms),
        tpot_p50_ms: span(tpot_p50_ms),
    })
}

/// The state of a run. A run that is stored as running was killed if no process writes its log. On a file
/// system without locks, the stored state is returned.
fn actual_state(state: RunState, log: &Path) -> RunState {
    match state {
        RunState::Running if is_being_written(log) == Some(false) => RunState::Killed,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_list_query_scans_only_its_index_and_searches_the_other_tables() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("inferometer.db")).unwrap();
        let query = format!("EXPLAIN QUERY PLAN {}", listing());
        let mut statement = store.connection.prepare(&query).unwrap();
        let steps = statement.query_map([], |row| row.get::<_, String>("detail")).unwrap();
        let steps: Vec<String> = steps.map(Result::unwrap).collect();
        assert_eq!(steps[0], "SCAN runs USING INDEX runs_listed");
        let others = steps[1..].iter().filter(|step| !step.starts_with("CORRELATED"));
        for step in others {
            assert!(step.starts_with("SEARCH "), "{step}");
        }
    }
}
