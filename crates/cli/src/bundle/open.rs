//! Opens a bundle: verifies the checksums of all files in it, and compares the manifest with the plans and summaries of
//! the runs.

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};

use inferometer_analysis::Summary;
use inferometer_formats::bundle::{
    self, BundleError, BundledRun, DataFile, GZIP, Limits, Manifest, Opened, PLAN, RECORDS,
    SUMMARY, of_run,
};
use inferometer_net::file::{self, MAX_RESULTS_BYTES};
use inferometer_plan::Plan;
use inferometer_store::{RunId, RunKind, RunState};

use super::wrong;
use crate::stored_error::StoredRunError;

/// An opened bundle, whose content was checked completely.
pub struct Bundle {
    /// The path of the bundle.
    pub path: PathBuf,
    /// The runs in the bundle, at least one.
    pub runs: Vec<Bundled>,
    limits: Limits,
    opened: Opened,
}

/// A run in a bundle.
pub struct Bundled {
    /// The entry of the run in the manifest.
    pub about: BundledRun,
    /// The id of the run.
    pub id: RunId,
    /// Whether the figures were measured, predicted or imported.
    pub kind: RunKind,
    /// How the run ended: complete, interrupted or failed.
    pub state: RunState,
    /// The plan as JSON. It is the text from the store, but without trailing white space.
    pub plan_json: String,
    /// The results of the run.
    pub summary: Summary,
}

impl Bundled {
    /// Parses the plan.
    ///
    /// # Errors
    /// If an incompatible version of this program wrote the plan, or if the run was imported and has no plan.
    pub fn plan(&self) -> Result<Plan, StoredRunError> {
        Plan::from_json(&self.plan_json).map_err(|error| {
            let (id, version) = (&self.id, &self.about.tool.version);
            StoredRunError::refused(format!(
                "run {id}: its plan was written by an incompatible version of this program \
                    ({version}): {error}"
            ))
        })
    }
}

/// Whether a file begins with the magic bytes of gzip, as every bundle does, and is no compressed JSON. False if the file
/// cannot be read; [`Bundle::open`] reports the reason.
pub fn is_bundle(path: &Path) -> bool {
    let mut first = [0; 2];
    let read = file::open(path).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && first == GZIP && !file::open(path).is_ok_and(bundle::is_zipped_json)
}

impl Bundle {
    /// Opens a bundle and checks all of it.
    ///
    /// # Errors
    /// If the file cannot be read, is not a bundle or is damaged, or if its manifest is invalid or contradicts its
    /// content.
    pub fn open(path: &Path) -> Result<Self, StoredRunError> {
        let unreadable = StoredRunError::of_file(path);
        let file = file::open(path).map_err(&unreadable)?;
        let bytes = file.metadata().map_err(unreadable)?.len();
        let limits = Limits::of(bytes, MAX_RESULTS_BYTES as u64);
        let wrong = wrong(path);
        let opened = bundle::open(BufReader::new(file), limits).map_err(&wrong)?;
        let runs = opened.manifest.runs.iter().map(|run| bundled(&opened, run));
        let runs = runs.collect::<Result<Vec<_>, _>>().map_err(&wrong)?;
        let twice =
            |(at, run): (usize, &Bundled)| runs[..at].iter().any(|other| other.id == run.id);
        if runs.is_empty() || runs.iter().enumerate().any(twice) {
            let why = "its manifest has no run, or the same run twice".to_owned();
            return Err(wrong(BundleError::Content(why)));
        }
        for data in &opened.manifest.data {
            let Some(file) = &data.file else { continue };
            let sum = opened.sum(file).map_err(&wrong)?;
            let is_it = data.bytes == Some(sum.bytes) && data.sha256.as_ref() == Some(&sum.sha256);
            if !is_it || !file.starts_with("data/") {
                let why = format!("{file} does not match its entry in the manifest");
                return Err(wrong(BundleError::Content(why)));
            }
        }
        Ok(Self { path: path.to_owned(), runs, limits, opened })
    }

    /// The manifest of the bundle.
    pub fn manifest(&self) -> &Manifest {
        &self.opened.manifest
    }

    /// Copies the log of a run to `to`.
    ///
    /// # Errors
    /// If the bundle has changed since it was opened, if it cannot be read, or if `to` cannot be written.
    pub fn copy_log(&self, run: &Bundled, to: &mut dyn Write) -> Result<(), StoredRunError> {
        self.copy(&of_run(run.id.as_str(), RECORDS), to)
    }

    /// Copies an included input file to `to`.
    ///
    /// # Errors
    /// In the same cases as [`Self::copy_log`].
    pub fn copy_data(&self, data: &DataFile, to: &mut dyn Write) -> Result<(), StoredRunError> {
        self.copy(data.file.as_deref().unwrap_or_default(), to)
    }

    fn copy(&self, name: &str, to: &mut dyn Write) -> Result<(), StoredRunError> {
        let wrong = wrong(&self.path);
        let sum = self.opened.sum(name).map_err(&wrong)?;
        let file = File::open(&self.path).map_err(StoredRunError::of_file(&self.path))?;
        bundle::copy(BufReader::new(file), self.limits, (name, sum), to).map_err(wrong)
    }
}

/// Reads the plan and the summary of a run in the manifest, and checks that they agree with the manifest.
fn bundled(opened: &Opened, about: &BundledRun) -> Result<Bundled, BundleError> {
    let shown = || about.run_id.escape_debug().take(60).collect::<String>();
    let wrong = |what: String| BundleError::Content(format!("run {}: {what}", shown()));
    let id = RunId::parse(&about.run_id)
        .ok_or_else(|| wrong("this is not the name of a run".to_owned()))?;
    if !id.began_at(about.started_unix_ns) {
        return Err(wrong("it did not begin at the time in its name".to_owned()));
    }
    let kind =
        RunKind::named(&about.kind).ok_or_else(|| wrong("its kind is unknown".to_owned()))?;
    let ended = [RunState::Complete, RunState::Interrupted, RunState::Failed];
    let state = ended.into_iter().find(|state| state.name() == about.state);
    let state = state
        .ok_or_else(|| wrong("its state is neither complete, interrupted nor failed".to_owned()))?;
    let plan = opened.document(&of_run(&about.run_id, PLAN))?;
    let plan_json = std::str::from_utf8(plan).ok().map(|text| text.trim_end().to_owned());
    let plan_json =
        plan_json.filter(|text| serde_json::from_str::<serde_json::Value>(text).is_ok());
    let plan_json = plan_json.ok_or_else(|| wrong(format!("{PLAN} is not JSON")))?;
    let summary: Summary =
        serde_json::from_slice(opened.document(&of_run(&about.run_id, SUMMARY))?)
            .map_err(|error| wrong(format!("{SUMMARY} is not valid: {error}")))?;
    opened.sum(&of_run(&about.run_id, RECORDS))?;
    let kind_of_summary = match (&summary.imported, summary.predicted) {
        (Some(_), _) => RunKind::Imported,
        (None, true) => RunKind::Predicted,
        (None, false) => RunKind::Measured,
    };
    let facts = [
        ("run", summary.run_id == about.run_id),
        ("kind", kind_of_summary == kind),
        ("plan hash", summary.plan_hash == about.plan_hash),
        ("workload hash", summary.workload_hash == about.workload_hash),
        ("body hash", summary.body_hash == about.body_hash),
        ("target", summary.target == about.target),
        ("environment", summary.environment == about.environment),
    ];
    if let Some((what, _)) = facts.iter().find(|(_, agrees)| !agrees) {
        return Err(wrong(format!("its results have a different {what} than the manifest")));
    }
    let is_its = Plan::from_json(&plan_json).is_ok_and(|plan| plan.hash() == about.plan_hash);
    if kind != RunKind::Imported && about.tool.version == env!("CARGO_PKG_VERSION") && !is_its {
        return Err(wrong(format!("{PLAN} does not match its hash")));
    }
    Ok(Bundled { about: about.clone(), id, kind, state, plan_json, summary })
}
