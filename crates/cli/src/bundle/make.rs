//! Writes stored runs to a bundle file. It never changes the store.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use inferometer_formats::bundle::{
    self, BundledRun, Checksum, DataFile, MANIFEST, Manifest, PLAN, PLAN_FILE, Part, README,
    RECORDS, SCHEMA, SUMMARY, data_name, of_run,
};
use inferometer_model::{Secrets, target::Tool};
use inferometer_net::file;
use inferometer_plan::{Plan, TargetPlan};
use inferometer_report::plan_toml;
use inferometer_store::{RunKind, RunState, StoredRun};

use super::files::{FileOfPlan, files_of_plan};
use super::{readme, wrong};
use crate::{stored::plan_of, stored_error::StoredRunError};

/// The maximum size in bytes of input files that are included by default (1 MiB).
const SMALL_BYTES: u64 = 1 << 20;
/// The number of bytes of a file that are searched for API keys in one step. Each search also covers the last
/// `LONGEST_KEY` bytes of the previous search, so that a key across the boundary is found.
const SEARCHED_AT_ONCE: usize = 1 << 20;
const LONGEST_KEY: usize = 16 << 10;

/// Which input files a bundle includes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithData {
    /// Files of up to 1 MiB.
    Small,
    /// All files.
    All,
    /// No files.
    Nothing,
}

/// A bundle that was written completely.
pub struct WrittenBundle {
    /// The path of the bundle.
    pub path: PathBuf,
    /// The size of the bundle in bytes; 0 if the size cannot be read.
    pub bytes: u64,
    /// The manifest in the bundle.
    pub manifest: Manifest,
}

/// The default file name for a bundle of `runs`.
pub fn default_name(runs: &[StoredRun]) -> String {
    let first = runs.first().map_or("runs", |run| run.row.id.as_str());
    match runs.len() {
        0 | 1 => format!("inferometer-{first}.tar.gz"),
        many => format!("inferometer-{first}-and-{}-more.tar.gz", many - 1),
    }
}

/// Writes a bundle of `runs` to `out`. Several runs count as repeats of one measurement. An existing file is replaced
/// only after the new bundle is complete.
///
/// # Errors
/// If a run is still in progress or has no results, if a file cannot be read or written, or if a document or a data
/// file contains one of `secrets`. Run logs are not searched for secrets. With [`WithData::All`], also if an input file
/// is missing.
pub fn bundle(
    runs: &[StoredRun],
    out: &Path,
    with: WithData,
    secrets: &Secrets,
) -> Result<WrittenBundle, StoredRunError> {
    let (mut texts, mut logs, mut about) = (Vec::new(), Vec::new(), Vec::new());
    let mut files: Vec<FileOfPlan> = Vec::new();
    for run in runs {
        let plan = checked(run)?;
        about.push(of(run, plan.as_ref()));
        let id = run.row.id.as_str();
        // Copy the plan as text, so that a restored run has exactly the plan text of this run.
        texts.push((of_run(id, PLAN), run.plan_json.clone() + "\n"));
        if let Some(plan) = &plan {
            let salt = run.environment.salt.as_deref();
            texts.push((of_run(id, PLAN_FILE), plan_toml(plan, salt)));
            let new = files_of_plan(plan);
            files.extend(
                new.into_iter().filter(|file| !about_contains(&files, file)).collect::<Vec<_>>(),
            );
        }
        texts.push((of_run(id, SUMMARY), pretty(&run.summary)));
        logs.push((of_run(id, RECORDS), run.log.clone()));
    }
    let mut data = Vec::new();
    for (number, file) in (1..).zip(files) {
        let (listed, path) = data_file(number, &file, with)?;
        logs.extend(listed.file.clone().map(|name| (name, path)));
        data.push(listed);
    }
    let manifest = Manifest { schema: SCHEMA.to_owned(), runs: about, data };
    texts.insert(0, (README.to_owned(), readme::readme(&manifest)));
    texts.insert(1, (MANIFEST.to_owned(), pretty(&manifest)));
    if let Some((name, _)) = texts.iter().find(|(_, text)| secrets.is_in(text)) {
        return Err(secret_error(name));
    }
    let mut parts: Vec<Part<'_>> =
        texts.into_iter().map(|(name, text)| Part::of_bytes(name, text)).collect();
    for (name, path) in &logs {
        if name.starts_with("data/") && contains_secret(path, secrets)? {
            return Err(secret_error(&path.display().to_string()));
        }
        parts.push(part_of_file(name, path)?);
    }
    let bytes = write(out, parts)?;
    Ok(WrittenBundle { path: out.to_owned(), bytes, manifest })
}

fn about_contains(files: &[FileOfPlan], file: &FileOfPlan) -> bool {
    files.iter().any(|known| (known.key, &known.named) == (file.key, &file.named))
}

/// Checks that a run can be bundled, and returns its plan. None if the run was imported, or if an incompatible version
/// of this program wrote its plan.
fn checked(run: &StoredRun) -> Result<Option<Plan>, StoredRunError> {
    let id = &run.row.id;
    let refused = |why: &str| Err(StoredRunError::refused(format!("run {id} {why}")));
    if run.row.state == RunState::Running {
        return refused("is being written: wait until it has ended");
    }
    if run.summary.is_none() {
        return refused(
            "has no results, because it was interrupted too early; `inferometer run --resume` continues the run",
        );
    }
    Ok(plan_of(run).ok().filter(|_| run.row.kind != RunKind::Imported))
}

/// The manifest's entry for a run.
fn of(run: &StoredRun, plan: Option<&Plan>) -> BundledRun {
    let summary = run.summary.as_ref();
    let launch = plan.and_then(|plan| plan.launch.as_ref());
    let arguments = match plan.map(|plan| &plan.target) {
        Some(TargetPlan::Embedded { engine_flags, .. }) => engine_flags.clone(),
        _ => launch.map_or_else(BTreeMap::new, |launch| launch.settings.clone()),
    };
    BundledRun {
        run_id: run.row.id.to_string(),
        kind: run.row.kind.name().to_owned(),
        state: run.row.state.name().to_owned(),
        started_at: run.row.started_at.clone(),
        started_unix_ns: run.started_unix_ns,
        finished_unix_ns: run.finished_unix_ns,
        origin_unix_ns: run.origin_unix_ns,
        tool: Tool { name: "inferometer".to_owned(), version: run.tool_version.clone() },
        plan_hash: run.plan_hash.clone(),
        workload_hash: summary.and_then(|summary| summary.workload_hash.clone()),
        body_hash: summary.and_then(|summary| summary.body_hash.clone()),
        server_command: launch.map_or_else(Vec::new, |launch| launch.command.clone()),
        server_arguments: arguments,
        target: run.target.clone(),
        environment: run.environment.clone(),
    }
}

/// The manifest's entry for an input file, and the path of the file. `number` becomes part of the file name in the
/// bundle.
fn data_file(
    number: usize,
    FileOfPlan { key, named, path }: &FileOfPlan,
    with: WithData,
) -> Result<(DataFile, PathBuf), StoredRunError> {
    let absent = DataFile {
        key: (*key).to_owned(),
        named: named.clone(),
        bytes: None,
        sha256: None,
        file: None,
    };
    if !path.is_file() {
        return match with {
            WithData::All => Err(StoredRunError::refused(format!(
                "{key}: {} is not a file here, so the bundle cannot include it; leave out \
                    --with-data",
                path.display()
            ))),
            _ => Ok((absent, path.clone())),
        };
    }
    let sum = sum_of(path)?;
    let is_part = match with {
        WithData::All => true,
        WithData::Small => sum.bytes <= SMALL_BYTES,
        WithData::Nothing => false,
    };
    let file = is_part.then(|| data_name(number, &path.to_string_lossy()));
    let listed = DataFile { bytes: Some(sum.bytes), sha256: Some(sum.sha256), file, ..absent };
    Ok((listed, path.clone()))
}

/// The size and the checksum of a file.
///
/// # Errors
/// If the file cannot be read.
pub fn sum_of(path: &Path) -> Result<Checksum, StoredRunError> {
    let opened = file::open(path).and_then(|file| Checksum::of(BufReader::new(file)));
    opened.map_err(StoredRunError::of_file(path))
}

fn part_of_file(name: &str, path: &Path) -> Result<Part<'static>, StoredRunError> {
    let sum = sum_of(path)?;
    let content =
        Box::new(BufReader::new(file::open(path).map_err(StoredRunError::of_file(path))?));
    Ok(Part { name: name.to_owned(), sum, content })
}

/// Whether a file contains one of `secrets`.
fn contains_secret(path: &Path, secrets: &Secrets) -> Result<bool, StoredRunError> {
    if secrets.is_empty() {
        return Ok(false);
    }
    let mut file = file::open(path).map_err(StoredRunError::of_file(path))?;
    let mut searched = Vec::new();
    loop {
        let kept = searched.len();
        (&mut file)
            .take(SEARCHED_AT_ONCE as u64)
            .read_to_end(&mut searched)
            .map_err(StoredRunError::of_file(path))?;
        if searched.len() == kept {
            return Ok(false);
        }
        if secrets.is_in(&String::from_utf8_lossy(&searched)) {
            return Ok(true);
        }
        searched.drain(..searched.len().saturating_sub(LONGEST_KEY));
    }
}

fn secret_error(name: &str) -> StoredRunError {
    StoredRunError::refused(format!(
        "{name}: contains an API key of this process, and a bundle must not contain one; nothing \
            was written. If the key is in a data set, --without-data leaves data sets out"
    ))
}

fn pretty(document: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(document)
        .expect("invariant: a document can always be written as JSON")
        + "\n"
}

/// Writes the bundle to a temporary file in the same folder and then renames it, so that `out` is never an incomplete
/// bundle. Returns the size in bytes.
fn write(out: &Path, parts: Vec<Part<'_>>) -> Result<u64, StoredRunError> {
    let mut name = out.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let new = out.with_file_name(name);
    let written = || -> Result<u64, StoredRunError> {
        let file = File::create(&new).map_err(StoredRunError::of_file(out))?;
        let mut made = bundle::write(BufWriter::new(file), parts).map_err(wrong(out))?;
        made.flush().map_err(StoredRunError::of_file(out))?;
        fs::rename(&new, out).map_err(StoredRunError::of_file(out))?;
        Ok(out.metadata().map_or(0, |metadata| metadata.len()))
    };
    let written = written();
    if written.is_err() {
        // Remove the incomplete file.
        let _ = fs::remove_file(&new);
    }
    written
}
