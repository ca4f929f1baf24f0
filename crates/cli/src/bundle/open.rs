//! Opens a bundle: checks all bytes, and compares the manifest's statements about the runs with the runs themselves.

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};

use inferometer_analysis::summary::Summary;
use inferometer_formats::bundle::{
    self, BundleError, BundledRun, DataFile, GZIP, Limits, Manifest, Opened, PLAN, RECORDS,
    SUMMARY, of_run,
};
use inferometer_net::file::{self, MAX_RESULTS_BYTES};
use inferometer_plan::Plan;
use inferometer_store::{RunId, RunKind, RunState};

use super::BundleRunError;

/// A bundle.
pub struct Bundle {
    /// The file.
    pub path: PathBuf,
    /// Its runs, at least one.
    pub runs: Vec<Bundled>,
    limits: Limits,
    opened: Opened,
}

/// A run in a bundle.
pub struct Bundled {
    /// Its entry in the manifest.
    pub about: BundledRun,
    /// Its run id.
    pub id: RunId,
    /// The origin of its figures.
    pub kind: RunKind,
    /// How it ended.
    pub state: RunState,
    /// Its plan as the store had it.
    pub plan_json: String,
    /// Its results.
    pub summary: Summary,
}

impl Bundled {
    /// Parses the plan.
    ///
    /// # Errors
    /// If it comes from an incompatible version of this program, or the run was imported and has no plan.
    pub fn plan(&self) -> Result<Plan, BundleRunError> {
        serde_json::from_str(&self.plan_json).map_err(|error| {
            let (id, version) = (&self.id, &self.about.tool.version);
            BundleRunError::Refused(format!(
                "run {id}: its plan was written by an incompatible version of this program \
                    ({version}): {error}"
            ))
        })
    }
}

/// Whether a file begins like a bundle; false if it cannot be read. [`Bundle::open`] reports why it cannot be read.
pub fn is_bundle(path: &Path) -> bool {
    let mut first = [0; 2];
    let read = file::open(path).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && first == GZIP
}

impl Bundle {
    /// Opens a bundle and checks all of it.
    ///
    /// # Errors
    /// If the file is not a bundle, is damaged, or contradicts itself.
    pub fn open(path: &Path) -> Result<Self, BundleRunError> {
        let unreadable = |source| BundleRunError::Io { path: path.to_owned(), source };
        let file = file::open(path).map_err(unreadable)?;
        let bytes = file.metadata().map_err(unreadable)?.len();
        let limits = Limits::of(bytes, MAX_RESULTS_BYTES as u64);
        let wrong = |source| BundleRunError::File { path: path.to_owned(), source };
        let opened = bundle::open(BufReader::new(file), limits).map_err(wrong)?;
        let runs = opened.manifest.runs.iter().map(|run| bundled(&opened, run));
        let runs = runs.collect::<Result<Vec<_>, _>>().map_err(wrong)?;
        let twice =
            |(at, run): (usize, &Bundled)| runs[..at].iter().any(|other| other.id == run.id);
        if runs.is_empty() || runs.iter().enumerate().any(twice) {
            let why = "its manifest has no run, or the same run twice".to_owned();
            return Err(wrong(BundleError::Content(why)));
        }
        for data in &opened.manifest.data {
            let Some(file) = &data.file else { continue };
            let sum = opened.sum(file).map_err(wrong)?;
            let is_it = data.bytes == Some(sum.bytes) && data.sha256.as_ref() == Some(&sum.sha256);
            if !is_it || !file.starts_with("data/") {
                let why = format!("{file} is not the file that its manifest says");
                return Err(wrong(BundleError::Content(why)));
            }
        }
        Ok(Self { path: path.to_owned(), runs, limits, opened })
    }

    /// Its manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.opened.manifest
    }

    /// Copies the log of a run to `to`.
    ///
    /// # Errors
    /// If the file has changed, or `to` cannot be written.
    pub fn copy_log(&self, run: &Bundled, to: &mut dyn Write) -> Result<(), BundleRunError> {
        self.copy(&of_run(run.id.as_str(), RECORDS), to)
    }

    /// Copies an included input file to `to`.
    ///
    /// # Errors
    /// As [`Self::copy_log`].
    pub fn copy_data(&self, data: &DataFile, to: &mut dyn Write) -> Result<(), BundleRunError> {
        self.copy(data.file.as_deref().unwrap_or_default(), to)
    }

    fn copy(&self, name: &str, to: &mut dyn Write) -> Result<(), BundleRunError> {
        let wrong = |source| BundleRunError::File { path: self.path.clone(), source };
        let sum = self.opened.sum(name).map_err(wrong)?;
        let file = File::open(&self.path)
            .map_err(|source| BundleRunError::Io { path: self.path.clone(), source })?;
        bundle::copy(BufReader::new(file), self.limits, (name, sum), to).map_err(wrong)
    }
}

/// Reads a run of the manifest with its documents.
fn bundled(opened: &Opened, about: &BundledRun) -> Result<Bundled, BundleError> {
    let shown = || about.run_id.escape_debug().take(60).collect::<String>();
    let wrong = |what: String| BundleError::Content(format!("run {}: {what}", shown()));
    let id = RunId::parse(&about.run_id).ok_or_else(|| {
        wrong(
            "this is not the name of a \
            run"
            .to_owned(),
        )
    })?;
    if !id.began_at(about.started_unix_ns) {
        return Err(wrong("it did not begin at the time in its name".to_owned()));
    }
    let kind = RunKind::ALL.into_iter().find(|kind| kind.name() == about.kind);
    let kind = kind.ok_or_else(|| wrong("its kind is unknown".to_owned()))?;
    let ended = [RunState::Complete, RunState::Interrupted, RunState::Failed];
    let state = ended.into_iter().find(|state| state.name() == about.state);
    let state =
        state.ok_or_else(|| wrong("its state is not that of a run that has ended".to_owned()))?;
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
    let is_its =
        serde_json::from_str::<Plan>(&plan_json).is_ok_and(|plan| plan.hash() == about.plan_hash);
    if kind != RunKind::Imported && about.tool.version == env!("CARGO_PKG_VERSION") && !is_its {
        return Err(wrong(format!("{PLAN} does not match its hash")));
    }
    Ok(Bundled { about: about.clone(), id, kind, state, plan_json, summary })
}
