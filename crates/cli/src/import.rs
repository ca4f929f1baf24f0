//! Imports results into the store: published tables, logs and files of other tools, and result files and bundles of
//! this program. Nothing is sent.

use std::path::{Path, PathBuf};

use inferometer_analysis::Summary;
use inferometer_formats::import::Import;
use inferometer_model::{Finding, Observed, calendar, code};
use inferometer_net::file::{self, MAX_RESULTS_BYTES};
use inferometer_net::wall_clock_ns;
use inferometer_run::{PlanError, recording::header};
use inferometer_store::{
    Ending, ImportHeader, PassBegin, RunId, RunRecording, RunState, Store, StoreError,
};

use crate::bundle::{Bundle, is_bundle, restore};
use crate::stored_error::StoredRunError;

/// A run from a file that is now in the store.
pub struct Imported {
    /// The id of the run.
    pub run: RunId,
    /// The results of the run.
    pub summary: Summary,
    /// Whether the run was already in the store. If true, nothing was stored for this run.
    pub was_there: bool,
    /// Whether the run is from a bundle.
    pub is_restored: bool,
}

/// Imports files. All files are read before anything is stored.
///
/// # Errors
/// If a file cannot be read or has an unknown format, if a bundle cannot be restored, or if the store cannot be opened,
/// read or written.
pub fn import(files: &[PathBuf], store: &Path) -> Result<Vec<Imported>, StoredRunError> {
    let mut imports = Vec::new();
    let mut problems = Vec::new();
    for path in files {
        let read = match is_bundle(path) {
            true => Bundle::open(path).map(Source::Bundle).map_err(|error| error.to_string()),
            false => read(path).map(Source::Results),
        };
        match read {
            Ok(source) => imports.push(source),
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        return Err(PlanError::from(problems).into());
    }
    let mut store = Store::open(store).map_err(StoredRunError::refused)?;
    let mut entered = Vec::new();
    for source in imports {
        match source {
            Source::Results(runs) => {
                for import in runs {
                    let number = u16::try_from(entered.len()).unwrap_or(u16::MAX);
                    entered.push(enter(&mut store, import, number)?);
                }
            }
            Source::Bundle(bundle) => {
                for run in &bundle.runs {
                    let done = restore(&mut store, &bundle, run)?;
                    entered.push(Imported {
                        run: run.id.clone(),
                        summary: run.summary.clone(),
                        was_there: done.was_there,
                        is_restored: true,
                    });
                }
            }
        }
    }
    Ok(entered)
}

/// The content of a file.
enum Source {
    /// Results of this program or of other tools, which become new runs of this store.
    Results(Vec<Import>),
    /// Runs of a bundle, which keep their ids.
    Bundle(Bundle),
}

/// The results in a file.
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
    let Import { mut summary, mut records } = import;
    // Records are matched to passes by position, so they can be used only if all passes have records.
    let without = records.iter().filter(|pass| pass.records.is_empty()).count();
    if without > 0 {
        if without < records.len() {
            let message = format!(
                "{without} of {} passes have no data of single requests, so no request records are \
                 stored",
                records.len()
            );
            summary.findings.push(Finding::of(code::IMPORTED_NO_REQUESTS, message));
        }
        records.clear();
    }
    let source = summary.imported.clone().unwrap_or_default();
    if let Some(run) = store.imported_before(&source.sha256, &source.section)? {
        return Ok(Imported { run, summary, was_there: true, is_restored: false });
    }
    summary.target.facts.others.insert("imported from".to_owned(), source.file.clone());
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
    Ok(Imported { run, summary, was_there: false, is_restored: false })
}
