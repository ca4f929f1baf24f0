//! Results of others into the store: published tables, logs and files of other tools. Nothing is sent.

use std::path::{Path, PathBuf};

use inferometer_analysis::summary::Summary;
use inferometer_formats::import::Import;
use inferometer_model::calendar;
use inferometer_model::sample::Observed;
use inferometer_net::file::{self, MAX_RESULTS_BYTES};
use inferometer_net::wall_clock_ns;
use inferometer_run::header;
use inferometer_store::{
    Ending, ImportHeader, PassBegin, RunId, RunRecording, RunState, Store, StoreError,
};

/// Why nothing, or not all, was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// Files that cannot be imported, each with the reason. Nothing was stored.
    #[error("{}", .0.join("; "))]
    Files(Vec<String>),
    /// The store cannot be opened. Nothing was stored.
    #[error(transparent)]
    Open(StoreError),
    /// The store cannot be written any more.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A part of a file that is in the store now.
pub struct Imported {
    /// Its run.
    pub run: RunId,
    /// Its results.
    pub summary: Summary,
    /// Whether the same bytes were imported before: then nothing was stored.
    pub was_there: bool,
}

/// Imports files. Every file is read before anything is stored.
///
/// # Errors
/// When a file is of no known form, or the store cannot be written.
pub fn import(files: &[PathBuf], store: &Path) -> Result<Vec<Imported>, ImportError> {
    let mut imports = Vec::new();
    let mut problems = Vec::new();
    for path in files {
        match read(path) {
            Ok(runs) => imports.extend(runs),
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        return Err(ImportError::Files(problems));
    }
    let mut store = Store::open(store).map_err(ImportError::Open)?;
    let numbered = (0_u16..).zip(imports);
    numbered.map(|(number, import)| Ok(enter(&mut store, import, number)?)).collect()
}

/// The runs of a file.
fn read(path: &Path) -> Result<Vec<Import>, String> {
    let shown = path.display();
    let bytes = file::read(path, MAX_RESULTS_BYTES)
        .map_err(|error| format!("{shown}: cannot be read: {error}"))?;
    let name = path
        .file_name()
        .map_or_else(|| shown.to_string(), |name| name.to_string_lossy().into_owned());
    inferometer_formats::import::read(&name, &bytes).map_err(|error| error.to_string())
}

fn enter(store: &mut Store, import: Import, number: u16) -> Result<Imported, StoreError> {
    let Import { mut summary, records } = import;
    let source = summary.imported.clone().unwrap_or_default();
    if let Some(run) = store.imported_before(&source.sha256, &source.section)? {
        return Ok(Imported { run, summary, was_there: true });
    }
    summary.target.facts.insert("imported from".to_owned(), source.file.clone());
    let wall_ns = wall_clock_ns();
    let imported_unix_ns = i64::try_from(wall_ns).unwrap_or(i64::MAX);
    let mut header = ImportHeader {
        imported_unix_ns,
        suffix: header::suffix(wall_ns).wrapping_add(number),
        target: summary.target.clone(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let mut recording = loop {
        match RunRecording::begin_import(&mut *store, &header) {
            Err(StoreError::RunExists { .. }) => header.suffix = header.suffix.wrapping_add(1),
            begun => break begun?,
        }
    };
    let run = recording.run().clone();
    summary.run_id = run.to_string();
    summary.started_at = calendar::rfc3339(imported_unix_ns);
    header.tool_version.clone_into(&mut summary.tool.version);
    let cells = summary.cells.iter().flat_map(|cell| cell.passes.iter().map(|_| cell.plan()));
    for ((pass, cell), of_pass) in (0_u32..).zip(cells).zip(records) {
        recording.begin_pass(&PassBegin { pass, cell, plan: of_pass.plan, repeat: 1 })?;
        for record in of_pass.records {
            recording.append(record)?;
        }
        recording.end_pass(Ending::Complete, None, &Observed::default())?;
    }
    recording.finish(Ending::Complete, &summary, RunState::Complete, imported_unix_ns)?;
    Ok(Imported { run, summary, was_there: false })
}
