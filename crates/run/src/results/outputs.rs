//! The files of the reports of runs and of comparisons. The folder of a run is created before anything is measured.
//! When a cell is done, the figures so far are written. The report is written at the end.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use inferometer_analysis::Summary;
use inferometer_plan::Plan;
use inferometer_report::ab::{self, AbDocument};
use inferometer_report::comparison::{self, Comparison};
use inferometer_report::{
    PlotFiles, ReportInput, Traces, ab_page, chart::Chart, charts, comparison_page, csv, html,
    json, markdown, plan_toml, published, table,
};
use inferometer_store::RunId;

use crate::RunError;

/// The default folder for reports. Each run gets a folder in it, with the name of the run.
pub const DEFAULT_FOLDER: &str = "inferometer-out";

/// The folder for the files of a run.
pub struct Outputs {
    folder: PathBuf,
    by_run: bool,
    /// The lock on the folder, if another run may write into the same folder.
    _lock: Option<FolderLock>,
}

impl Outputs {
    /// Creates the folder, so that a write error is reported before anything is measured.
    ///
    /// # Errors
    /// When the folder cannot be written, or another process writes a report there.
    pub fn prepare(out: Option<&Path>) -> Result<Self, RunError> {
        let folder = out.unwrap_or(Path::new(DEFAULT_FOLDER)).to_owned();
        let refused = |error| {
            RunError::plan(format!(
                "out (--out): {}: cannot be written: {error}; give another folder",
                folder.display()
            ))
        };
        fs::create_dir_all(&folder).map_err(refused)?;
        let probe = folder.join(format!(".probe-{}", std::process::id()));
        fs::write(&probe, b"").map_err(refused)?;
        fs::remove_file(&probe).map_err(refused)?;
        let by_run = out.is_none();
        Ok(Self { _lock: if by_run { None } else { FolderLock::of(&folder)? }, folder, by_run })
    }

    /// The run whose report is already in the folder and will be replaced. `None` if there is no such report, or if
    /// each run has a separate folder.
    pub fn replaced(&self) -> Option<String> {
        let summary = fs::read(self.folder.join("summary.json")).ok().filter(|_| !self.by_run)?;
        let summary: serde_json::Value = serde_json::from_slice(&summary).ok()?;
        summary["run_id"].as_str().map(str::to_owned)
    }

    /// The folder that contains the files, or the folders of the runs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of a run.
    ///
    /// # Errors
    /// When the folder cannot be created.
    pub fn of(&self, run: &RunId) -> Result<PathBuf, RunError> {
        let folder = if self.by_run { self.folder.join(run.as_str()) } else { self.folder.clone() };
        fs::create_dir_all(&folder).map_err(RunError::unwritable(&folder))?;
        Ok(folder)
    }

    /// Writes the figures: table, CSV and JSON. If the workload is text blocks, also writes their log and tables.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write_figures(&self, summary: &Summary, run: &RunId) -> Result<PathBuf, RunError> {
        let folder = self.of(run)?;
        write(&folder, "table.md", table::markdown(std::slice::from_ref(summary)).as_bytes())?;
        write(&folder, "cells.csv", csv::cells(summary).as_bytes())?;
        for (name, text) in [
            ("blocks.log", published::log(summary)),
            ("blocks.md", published::size_tables(summary)),
        ] {
            text.map_or(Ok(()), |text| write(&folder, name, text.as_bytes()))?;
        }
        write(&folder, "summary.json", json::summary(summary).as_bytes())?;
        Ok(folder)
    }

    /// Writes all files that can be written for imported results, which have no plan.
    ///
    /// # Errors
    /// When a plot cannot be drawn or a file cannot be written.
    pub fn write_imported(
        &self,
        summary: &Summary,
        run: &RunId,
        plots: PlotFiles,
    ) -> Result<PathBuf, RunError> {
        self.write_pages(summary, "", run, (&Traces::default(), plots))
    }

    /// Writes everything: figures, plots, and the report as Markdown and as an HTML page.
    ///
    /// # Errors
    /// When a plot cannot be drawn or a file cannot be written.
    pub fn write_all(
        &self,
        summary: &Summary,
        plan: &Plan,
        run: &RunId,
        traces: &Traces,
        plots: PlotFiles,
    ) -> Result<PathBuf, RunError> {
        let plan_toml = plan_toml(plan, summary.environment.salt.as_deref());
        self.write_pages(summary, &plan_toml, run, (traces, plots))
    }

    fn write_pages(
        &self,
        summary: &Summary,
        plan_toml: &str,
        run: &RunId,
        (traces, plots): (&Traces, PlotFiles),
    ) -> Result<PathBuf, RunError> {
        let folder = self.write_figures(summary, run)?;
        let charts = charts::of_run(summary, traces);
        write_charts(&folder, &charts, plots)?;
        let report_command = format!("inferometer report {run}");
        let input = ReportInput {
            summary,
            charts: &charts,
            traces,
            plan_toml,
            files: &["summary.json", "cells.csv", "table.md", "report.md"],
            report_command: &report_command,
            run_command: "inferometer run PLAN.toml",
        };
        let with_files = ReportInput { charts: plots.charts(&charts), ..input };
        let text = markdown::report(&with_files, plots.form);
        write(&folder, "report.md", text.as_bytes())?;
        write(&folder, "report.html", html::report(&input).as_bytes())?;
        Ok(folder)
    }
}

/// A lock on a folder, so that no two runs write their reports into it at the same time.
struct FolderLock {
    path: PathBuf,
    _file: File,
}

impl FolderLock {
    /// Locks a folder; `None` if the file system has no locks.
    fn of(folder: &Path) -> Result<Option<Self>, RunError> {
        let path = folder.join(".report.lock");
        let file = File::create(&path).map_err(RunError::unwritable(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { path, _file: file })),
            Err(TryLockError::Error(_)) => Ok(None),
            Err(TryLockError::WouldBlock) => Err(RunError::plan(format!(
                "out (--out): {}: another process is writing a report there; wait for it, or give \
                    another folder",
                folder.display()
            ))),
        }
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // The lock ends when the open file is closed.
        let _ = fs::remove_file(&self.path);
    }
}

/// Writes the tables of several runs, and plots with all of them.
///
/// # Errors
/// When a plot cannot be drawn or a file cannot be written.
pub fn write_comparison(
    out: Option<&Path>,
    summaries: &[Summary],
    plots: PlotFiles,
) -> Result<PathBuf, RunError> {
    let folder =
        out.map_or_else(|| Path::new(DEFAULT_FOLDER).join("comparison"), Path::to_path_buf);
    let outputs = Outputs::prepare(Some(&folder))?;
    write(&folder, "table.md", table::markdown(summaries).as_bytes())?;
    write_charts(&folder, &charts::of_several(summaries), plots)?;
    Ok(outputs.folder.clone())
}

/// Writes the results of a plan with several servers. `reports`: the report files of the runs, relative
/// to the folder.
///
/// # Errors
/// When a plot cannot be drawn or a file cannot be written.
pub fn write_group(
    folder: &Path,
    comparison: &Comparison,
    reports: &[String],
    plots: PlotFiles,
) -> Result<(), RunError> {
    write(folder, "comparison.md", comparison::markdown(comparison).as_bytes())?;
    write(folder, "comparison.json", comparison::json(comparison).as_bytes())?;
    write(folder, "effects.csv", comparison::csv(comparison).as_bytes())?;
    let runs = comparison::over_rounds(&comparison.runs);
    let charts = [charts::of_several(&runs), charts::of_comparison(comparison)].concat();
    let page = comparison_page::page(comparison, &charts, reports);
    write(folder, "comparison.html", page.as_bytes())?;
    write_charts(folder, &charts, plots)
}

/// Writes the answer of a comparison of two servers in blocks.
///
/// # Errors
/// When a plot cannot be drawn or a file cannot be written.
pub fn write_ab(folder: &Path, document: &AbDocument, plots: PlotFiles) -> Result<(), RunError> {
    let charts = charts::of_ab(document);
    write(folder, "ab.json", ab::json(document).as_bytes())?;
    let text = ab_page::markdown(document, plots.charts(&charts), plots.form);
    write(folder, "ab.md", text.as_bytes())?;
    write(folder, "ab.html", ab_page::page(document, &charts).as_bytes())?;
    write_charts(folder, &charts, plots)
}

/// Writes the file of each chart.
fn write_charts(folder: &Path, charts: &[Chart], plots: PlotFiles) -> Result<(), RunError> {
    plots.drawn(charts).try_for_each(|drawn| {
        let (name, bytes) = drawn?;
        write(folder, &name, &bytes)
    })
}

/// Writes a file completely or not at all, so that a reader never finds a partial file.
fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), RunError> {
    let path = folder.join(name);
    let fresh = folder.join(format!(".{name}.new"));
    let written = fs::write(&fresh, bytes).and_then(|()| fs::rename(&fresh, &path));
    if written.is_err() {
        // The incomplete file is useless, and may be the reason why the disk is full.
        let _ = fs::remove_file(&fresh);
    }
    written.map_err(RunError::unwritable(&path))
}
