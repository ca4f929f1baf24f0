//! The list of runs: which of them fit a filter, and the run that a name means. Reads an index, and
//! documents of imported runs alone. Never changes anything.

use std::path::Path;

use rusqlite::{OptionalExtension, Row, named_params};

use super::open::database;
use super::run::{GridRow, RunFilter, RunKind, RunRow, RunState};
use super::run_id::RunId;
use super::store::Store;
use crate::error::StoreError;
use crate::log::is_being_written;

/// Names that mean the run of a kind that began last.
const LATEST: [(&str, RunKind); 3] = [
    ("latest", RunKind::Measured),
    ("latest-predicted", RunKind::Predicted),
    ("latest-imported", RunKind::Imported),
];

pub(super) const ROW_COLUMNS: &str = "id, started_at, finished_at, state, kind, engine,
    engine_version, model, card, simulated, predicted, imported_from, validity, cells, log_file,
    (SELECT message FROM findings WHERE findings.run_id = runs.id AND code = 'cells_not_measured')
        AS missing,
    (SELECT json_group_array(tag) FROM tags WHERE tags.run_id = runs.id) AS tags,
    (SELECT json_array(min(input_length), max(input_length), min(output_length),
        max(output_length), max(requests_per_s) FILTER (WHERE requests_per_s < 1e300),
        max(output_tokens_per_s) FILTER (WHERE output_tokens_per_s < 1e300))
        FROM cells WHERE cells.run_id = runs.id) AS grid,
    CASE WHEN imported_from IS NOT NULL THEN summary ->> '$.imported.section' END
        AS imported_section";

/// The columns of `grid`; all are null where there is no cell.
type Grid = (Option<u32>, Option<u32>, Option<u32>, Option<u32>, Option<f64>, Option<f64>);

const FITS: &str = "(:model IS NULL OR instr(lower(model), lower(:model)) > 0)
    AND (:engine IS NULL
        OR instr(lower(engine || ' ' || coalesce(engine_version, '')), lower(:engine)) > 0)
    AND (:card IS NULL OR instr(lower(card), lower(:card)) > 0)
    AND (:kind IS NULL OR kind = :kind)
    AND (:since IS NULL OR started_at >= :since)
    AND (:until IS NULL OR substr(started_at, 1, length(:until)) <= :until)
    AND NOT EXISTS (SELECT 1 FROM json_each(:tags) AS wanted
        WHERE wanted.value NOT IN (SELECT tag FROM tags WHERE tags.run_id = runs.id))";

impl Store {
    /// All runs, the oldest first.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn runs(&self) -> Result<Vec<RunRow>, StoreError> {
        self.runs_that_fit(&RunFilter::default())
    }

    /// The runs that fit a filter, the oldest first; with a limit, the last of them.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn runs_that_fit(&self, filter: &RunFilter) -> Result<Vec<RunRow>, StoreError> {
        self.list(filter).map_err(database(&self.path))
    }

    fn list(&self, filter: &RunFilter) -> rusqlite::Result<Vec<RunRow>> {
        let query = format!(
            "SELECT {ROW_COLUMNS} FROM runs WHERE {FITS} ORDER BY started_unix_ns DESC, id DESC"
        );
        let mut statement = self.connection.prepare(&query)?;
        let mut rows = statement.query(named_params! {
            ":model": filter.model,
            ":engine": filter.engine,
            ":card": filter.card,
            ":kind": filter.kind.map(RunKind::name),
            ":since": filter.since,
            ":until": filter.until,
            ":tags": serde_json::to_string(&filter.tags).expect("invariant: texts are JSON"),
        })?;
        let mut found = Vec::new();
        while found.len() < filter.limit.unwrap_or(usize::MAX) {
            let Some(row) = rows.next()? else { break };
            let row = self.run_row(row)?;
            if filter.state.is_none_or(|state| state == row.state) && has_words(filter, &row) {
                found.push(row);
            }
        }
        found.reverse();
        Ok(found)
    }

    /// A row of the list. A run that should be going on, and whose log nobody writes, was killed.
    pub(super) fn run_row(&self, row: &Row<'_>) -> rusqlite::Result<RunRow> {
        let state: String = row.get("state")?;
        let state = RunState::ALL.into_iter().find(|known| known.name() == state);
        let state = state.expect("invariant: the schema allows no other state");
        let log: String = row.get("log_file")?;
        let kind: String = row.get("kind")?;
        let kind = RunKind::ALL.into_iter().find(|known| known.name() == kind);
        let tags: String = row.get("tags")?;
        let grid: String = row.get("grid")?;
        let section: Option<String> = row.get("imported_section")?;
        Ok(RunRow {
            id: RunId::stored(row.get("id")?),
            started_at: row.get("started_at")?,
            finished_at: row.get("finished_at")?,
            state: seen(state, &self.beside(&log)),
            kind: kind.expect("invariant: the schema makes no other kind"),
            engine: row.get("engine")?,
            engine_version: row.get("engine_version")?,
            model: row.get("model")?,
            card: row.get("card")?,
            simulated: row.get("simulated")?,
            predicted: row.get("predicted")?,
            imported_from: row.get("imported_from")?,
            imported_section: section.map_or_else(Vec::new, |section| {
                serde_json::from_str(&section).expect("invariant: a section is an array of texts")
            }),
            validity: row.get("validity")?,
            cells: row.get("cells")?,
            grid: grid_row(serde_json::from_str(&grid).expect("invariant: SQLite makes an array")),
            missing: row.get("missing")?,
            tags: serde_json::from_str(&tags).expect("invariant: SQLite makes an array of texts"),
        })
    }

    /// The run that a name means: its identity, any beginning of it that no other run shares,
    /// `latest` for the measured one that began last, whatever its state, `latest-predicted` and
    /// `latest-imported` for the others.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::NoneOfItsKind`], [`StoreError::AmbiguousRun`],
    /// [`StoreError::Database`].
    pub fn find(&self, name: &str) -> Result<RunId, StoreError> {
        if let Some((_, kind)) = LATEST.into_iter().find(|(known, _)| *known == name) {
            let query = "SELECT id FROM runs WHERE kind = ?
                         ORDER BY started_unix_ns DESC, id DESC LIMIT 1";
            let found = self.connection.query_row(query, [kind.name()], |row| row.get(0));
            let found = found.optional().map_err(database(&self.path))?;
            return found.map(RunId::stored).ok_or_else(|| StoreError::NoneOfItsKind {
                path: self.path.clone(),
                kind: kind.name(),
            });
        }
        // An empty beginning would be that of every run.
        let query = "SELECT id FROM runs WHERE ?1 <> '' AND substr(id, 1, length(?1)) = ?1
                     ORDER BY id";
        let found = self.connection.prepare(query).and_then(|mut statement| {
            let ids = statement.query_map([name], |row| row.get(0))?;
            ids.collect::<rusqlite::Result<Vec<String>>>()
        });
        let mut candidates = found.map_err(database(&self.path))?;
        match (candidates.pop(), candidates.is_empty()) {
            (None, _) => Err(self.no_such_run(name)),
            (Some(only), true) => Ok(RunId::stored(only)),
            (Some(last), false) if candidates.iter().any(|id| id == name) || last == name => {
                Ok(RunId::stored(name.to_owned()))
            }
            (Some(last), false) => {
                candidates.push(last);
                Err(StoreError::AmbiguousRun { id: name.to_owned(), candidates })
            }
        }
    }
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

/// Whether all words of a filter stand in what is listed of a run.
fn has_words(filter: &RunFilter, row: &RunRow) -> bool {
    if filter.words.is_empty() {
        return true;
    }
    let known = [&row.engine, &row.engine_version, &row.card].into_iter().flatten().cloned();
    let own = [row.id.to_string(), row.model.clone()].into_iter();
    let text: Vec<String> = own.chain(known).chain(row.tags.iter().cloned()).collect();
    let text = text.join(" ").to_lowercase();
    filter.words.iter().all(|word| text.contains(&word.to_lowercase()))
}

/// The state of a run as its log shows it. Where the file system keeps no locks nothing shows,
/// and what the database says stands.
fn seen(state: RunState, log: &Path) -> RunState {
    match state {
        RunState::Running if is_being_written(log) == Some(false) => RunState::Killed,
        other => other,
    }
}
