//! `import`: results of others into the store: published tables, logs and files of other tools.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use inferometer_analysis::summary::Summary;
use inferometer_formats::import::Import;
use inferometer_model::finding::Severity;
use inferometer_model::utc;
use inferometer_net::wall_clock_ns;
use inferometer_store::{
    Ending, ImportHeader, LogHeader, LogWriter, PassBegin, RunId, RunState, Store, StoreError,
};

use crate::exit::{Failure, print};

/// The flags of `import`.
#[derive(Args)]
pub struct ImportArgs {
    /// Published tables and logs (Markdown), and results of other tools (JSON, JSONL): the form is
    /// known by the content
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The database; made where there is none
    #[arg(long, value_name = "FILE", default_value = "inferometer.db")]
    store: PathBuf,
    /// Print one JSON document on stdout and nothing else there: the runs, each with its summary
    #[arg(long)]
    json: bool,
}

/// What became of a part of a file.
enum Entered {
    Now(RunId),
    /// The same bytes were imported before.
    Before(RunId),
}

/// Imports. Every file is read before anything is stored.
pub fn import(arguments: &ImportArgs) -> Result<(), Failure> {
    let mut imports = Vec::new();
    let mut problems = Vec::new();
    for path in &arguments.files {
        match read(path) {
            Ok(runs) => imports.extend(runs),
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        return Err(Failure::Usage(problems));
    }
    let mut store = Store::open(&arguments.store).map_err(Failure::usage)?;
    let mut done = Vec::new();
    for (number, import) in (0_u16..).zip(imports) {
        done.push(enter(&mut store, import, number)?);
    }
    if arguments.json {
        let runs: Vec<_> = done
            .iter()
            .map(|(entered, summary)| match entered {
                Entered::Now(id) => {
                    serde_json::json!({ "run_id": id, "new": true, "summary": summary })
                }
                Entered::Before(id) => serde_json::json!({ "run_id": id, "new": false }),
            })
            .collect();
        return print(&format!("{:#}\n", serde_json::json!({ "runs": runs })));
    }
    print(&told(&done))
}

/// The runs of a file.
fn read(path: &Path) -> Result<Vec<Import>, String> {
    let shown = path.display();
    let bytes = std::fs::read(path).map_err(|error| format!("{shown}: cannot be read: {error}"))?;
    let name = path
        .file_name()
        .map_or_else(|| shown.to_string(), |name| name.to_string_lossy().into_owned());
    inferometer_formats::import::read(&name, &bytes).map_err(|error| error.to_string())
}

fn enter(store: &mut Store, import: Import, number: u16) -> Result<(Entered, Summary), Failure> {
    let Import { mut summary, records } = import;
    let source = summary.imported.clone().unwrap_or_default();
    let before = store.imported_before(&source.sha256, &source.section);
    if let Some(id) = before.map_err(Failure::not_carried_out)? {
        return Ok((Entered::Before(id), summary));
    }
    summary.target.facts.insert("imported from".to_owned(), source.file.clone());
    let wall_ns = wall_clock_ns();
    let imported_unix_ns = i64::try_from(wall_ns).unwrap_or(i64::MAX);
    let suffix = (wall_ns / 1_000) as u16 ^ (std::process::id() as u16).rotate_left(7);
    let mut header = ImportHeader {
        imported_unix_ns,
        suffix: suffix.wrapping_add(number),
        target: summary.target.clone(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let run = loop {
        match store.begin_import(&header) {
            Err(StoreError::RunExists { .. }) => header.suffix = header.suffix.wrapping_add(1),
            begun => break begun.map_err(Failure::not_carried_out)?,
        }
    };
    summary.run_id = run.to_string();
    summary.started_at = utc::rfc3339(imported_unix_ns);
    header.tool_version.clone_into(&mut summary.tool.version);
    let log_header = LogHeader::new(run.as_str(), imported_unix_ns);
    let mut log =
        LogWriter::create(store.log_path(&run), &log_header).map_err(Failure::not_carried_out)?;
    let cells = summary.cells.iter().flat_map(|cell| cell.passes.iter().map(|_| cell.plan()));
    for ((pass, cell), of_pass) in (0_u32..).zip(cells).zip(&records) {
        let begin = PassBegin { pass, cell, plan: of_pass.plan.clone(), repeat: 1 };
        log.begin_pass(&begin).map_err(Failure::not_carried_out)?;
        for record in &of_pass.records {
            log.append(record).map_err(Failure::not_carried_out)?;
        }
        log.end_pass(Ending::Complete).map_err(Failure::not_carried_out)?;
        store.index_requests(&run, &of_pass.records).map_err(Failure::not_carried_out)?;
    }
    log.finish(Ending::Complete).map_err(Failure::not_carried_out)?;
    store
        .finish_run(&run, &summary, RunState::Complete, imported_unix_ns)
        .map_err(Failure::not_carried_out)?;
    Ok((Entered::Now(run), summary))
}

/// What was imported, with what its figures say against one another.
fn told(done: &[(Entered, Summary)]) -> String {
    let mut text = String::new();
    let mut of_form: BTreeMap<&str, usize> = BTreeMap::new();
    for (entered, summary) in done {
        let Some(source) = &summary.imported else { continue };
        let id = match entered {
            Entered::Before(id) => {
                let _ = writeln!(text, "{id}  was imported before: {}", source.place());
                continue;
            }
            Entered::Now(id) => id,
        };
        *of_form.entry(&source.format).or_default() += 1;
        let target = &summary.target;
        let engine = target.engine.as_deref().unwrap_or("unknown engine");
        let version = target.engine_version.as_deref().unwrap_or("");
        let _ = writeln!(text, "{id}  {}: {}", source.place(), source.format);
        let card = target.facts.get("card").map_or("unknown card", String::as_str);
        let _ = writeln!(
            text,
            "    {} on {card}, {}; {}",
            target.model,
            format!("{engine} {version}").trim_end(),
            match summary.cells.len() {
                1 => "1 row".to_owned(),
                rows => format!("{rows} rows"),
            }
        );
        for finding in &summary.findings {
            let word = match finding.severity {
                Severity::Note => "note",
                Severity::Warning => "warning",
            };
            let _ = writeln!(text, "    {word}: {}", finding.message);
        }
    }
    let told: Vec<String> = of_form.iter().map(|(form, n)| format!("{n} x {form}")).collect();
    if !told.is_empty() {
        let _ = writeln!(text, "imported: {}", told.join(", "));
    }
    text
}
