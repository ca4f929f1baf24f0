//! Opens the measurements that a prediction is compared with: a published page, a result file of a tool, or a stored
//! run. Reads their rows, and the facts that they state about the server.

use std::path::Path;

use inferometer_analysis::table_import::is_under;
use inferometer_engine::EngineConfig;
use inferometer_formats::import::Import;
use inferometer_net::file::{self, MAX_RESULTS_BYTES, MAX_SETTINGS_BYTES};
use inferometer_plan::Plan;
use inferometer_run::PlanError;
use inferometer_store::{Store, StoredRun};

use super::{MeasuredRows, passes, published, run};
use crate::{ServerFacts, Unpredictable};

/// The measurements that a prediction is compared with.
pub struct Source {
    /// The name that the user gave, without `#SECTION`.
    name: String,
    kind: Kind,
}

enum Kind {
    /// The text of a published page, and the section that the user named.
    Page(String, Option<String>),
    /// The runs of a result file.
    Results(Vec<Import>),
    Run(Box<StoredRun>),
}

/// Opens a file or a stored run with this name. In a file with several tables or results, `#SECTION` selects one.
///
/// # Errors
/// If there is no such file or run, if it cannot be read, or if the selected results of a file are not of exactly one
/// model.
pub fn open(name: &str, store: Option<&str>) -> Result<Source, PlanError> {
    let (path, section) = match name.split_once('#') {
        Some((path, section)) => (path, Some(section)),
        None => (name, None),
    };
    if Path::new(path).is_file() {
        let kind =
            of_file(path, section).map_err(|what| PlanError::new(format!("{path}: {what}")))?;
        return Ok(Source { name: path.to_owned(), kind });
    }
    if path.ends_with(".md") {
        return Err(PlanError::new(format!("{path}: there is no such file")));
    }
    let problem = |error: &dyn std::fmt::Display| {
        PlanError::new(format!(
            "there is no file {name}, and the stored run {name} cannot be used: {error}"
        ))
    };
    let store = Path::new(store.unwrap_or("inferometer.db"));
    let store = Store::open_existing(store).map_err(|error| problem(&error))?;
    let found = store.run(name).map_err(|error| problem(&error))?;
    Ok(Source { name: name.to_owned(), kind: Kind::Run(Box::new(found)) })
}

fn of_file(path: &str, section: Option<&str>) -> Result<Kind, Unpredictable> {
    let bytes = file::read(Path::new(path), MAX_RESULTS_BYTES)?;
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let mut marks = text.iter().filter(|byte| !byte.is_ascii_whitespace());
    // A log or a page may also begin with `[`: the first line of a log, or a link.
    let is_json = match (marks.next(), marks.next()) {
        (Some(b'{'), _) => true,
        (Some(b'['), next) => next == Some(&b'{'),
        _ => false,
    };
    if !is_json {
        drop(bytes);
        let text = file::read_text(Path::new(path), MAX_SETTINGS_BYTES)?;
        return Ok(Kind::Page(text, section.map(str::to_owned)));
    }
    let file = Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
    let mut imports = inferometer_formats::import::read(&file.unwrap_or_default(), &bytes)?;
    let known: Vec<String> = imports.iter().map(|import| sections_of(import).join(" / ")).collect();
    if let Some(section) = section {
        imports.retain(|import| is_under(&sections_of(import), section));
    }
    let mut models: Vec<&str> =
        imports.iter().map(|import| import.summary.target.model.as_str()).collect();
    models.sort_unstable();
    models.dedup();
    match models.len() {
        1 => Ok(Kind::Results(imports)),
        0 => {
            Err(Unpredictable::NoResult { section: section.unwrap_or_default().to_owned(), known })
        }
        _ => Err(Unpredictable::SeveralModels {
            models: models.iter().map(ToString::to_string).collect(),
            path: path.to_owned(),
            known,
        }),
    }
}

fn sections_of(import: &Import) -> Vec<String> {
    import.summary.imported.as_ref().map_or_else(Vec::new, |imported| imported.section.clone())
}

impl Source {
    /// The facts that a run or a result file states about its server. `None` for a run without results, and for a
    /// published page, whose rows are compared with the engine that the user names.
    pub fn facts(&self) -> Option<ServerFacts> {
        match &self.kind {
            Kind::Page(..) => None,
            Kind::Results(imports) => {
                let summary = &imports.first()?.summary;
                Some(ServerFacts::of(self.name.clone(), summary, None))
            }
            Kind::Run(run) => {
                let plan = serde_json::from_str::<Plan>(&run.plan_json).ok();
                let origin = format!("run {}", run.row.id);
                Some(ServerFacts::of(origin, run.summary.as_ref()?, plan.as_ref()))
            }
        }
    }

    /// Reads the rows for a comparison with the engine `config`.
    ///
    /// # Errors
    /// If a prediction cannot be compared with the measurements.
    pub fn rows(&self, config: &EngineConfig) -> Result<MeasuredRows, PlanError> {
        let name = &self.name;
        match &self.kind {
            Kind::Page(text, section) => {
                published::of_text(name, text, section.as_deref(), &config.profile.engine)
                    .map_err(|what| PlanError::new(format!("{name}: {what}")))
            }
            Kind::Results(imports) => passes::of_results(name, imports, config)
                .map_err(|what| PlanError::new(format!("{name}: {what}"))),
            Kind::Run(found) => run::of_run(found, config).map_err(|why| {
                let id = &found.row.id;
                PlanError::new(format!("run {id} cannot be used: {why}"))
            }),
        }
    }
}
