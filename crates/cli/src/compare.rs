//! Compares runs with a baseline, figure by figure, and evaluates a gate on the differences. This module measures
//! nothing and writes nothing.

use std::path::Path;

pub use inferometer_analysis::compare::{Comparison, Condition, GateResult, Options, Subject};
use inferometer_analysis::compare::{compare as compare_figures, judge, parse_gate};
pub use inferometer_analysis::verdict::Met;
use inferometer_analysis::{Summary, table_import::is_under};
use inferometer_formats::import::Import;
use inferometer_net::file::{self, MAX_RESULTS_BYTES};
use inferometer_plan::{Plan, spec::PriceKeys};
use inferometer_report::against_limit;
use inferometer_report::judgement::{Judgement, Verdict};
/// Why two results cannot be compared, or why the conditions of a gate cannot be evaluated.
pub use inferometer_run::PlanError as CompareError;
use inferometer_store::{Store, StoredRun};
use serde::Serialize;

use crate::bundle::{Bundle, is_bundle};
use crate::price;
use crate::stored::{self, group_and_server};

/// A comparison, and the results of its gate.
#[derive(Debug, Serialize)]
pub struct GatedComparison {
    /// The differences.
    #[serde(flatten)]
    pub comparison: Comparison,
    /// The result of each condition on each difference of its figure.
    pub gate: Vec<GateResult>,
    /// The ids of the baseline's and the contender's runs, separated by spaces, if known.
    #[serde(skip)]
    pub runs: [Option<String>; 2],
}

/// Parses the conditions of a gate, such as `output_tokens_per_s>-3%,ttft_p99<+5%`.
///
/// # Errors
/// Returns all texts that are not conditions.
pub fn conditions(gate: Option<&str>) -> Result<Vec<Condition>, CompareError> {
    let Some(text) = gate else { return Ok(Vec::new()) };
    parse_gate(text).map_err(|errors| CompareError {
        mistakes: errors.iter().map(|error| format!("--gate: {error}")).collect(),
    })
}

/// Compares a result with a baseline, and evaluates the conditions of a gate.
///
/// # Errors
/// If the results have no cell in common, or if a condition names a figure that cannot be compared.
pub fn compare(
    baseline: &Subject,
    contender: &Subject,
    options: Options,
    conditions: &[Condition],
) -> Result<GatedComparison, CompareError> {
    let comparison = compare_figures(baseline, contender, options).map_err(CompareError::new)?;
    let runs = [baseline, contender].map(|subject| subject.runs());
    Ok(GatedComparison { runs, ..judged_rows(comparison, conditions)? })
}

/// Evaluates the conditions of a gate on a comparison.
///
/// # Errors
/// If a condition names a figure that cannot be compared.
pub fn judged_rows(
    comparison: Comparison,
    conditions: &[Condition],
) -> Result<GatedComparison, CompareError> {
    let gate = judge(conditions, &comparison)
        .map_err(|error| CompareError::new(format!("--gate: {error}")))?;
    Ok(GatedComparison { comparison, gate, runs: Default::default() })
}

/// The conditions of all gates whose result is `met`, as texts, each with its difference and its place, such as the
/// cell and the load.
pub fn with_result(judged: &[GatedComparison], met: Met) -> Vec<String> {
    let results = judged.iter().flat_map(|judged| &judged.gate);
    let found = results.filter(|result| result.met == met);
    let words = |result: &GateResult| {
        let doubt = match met == Met::No && !result.measured_in_turn {
            true => "; not measured in turn: the server changed, or the machine drifted",
            false => "",
        };
        format!("{} ({}{doubt})", against_limit::condition(result), result.place)
    };
    found.map(words).collect()
}

/// The judgement over all gates; None if there is no condition. With `is_strict`, undecided conditions count as missed.
pub fn judgement(judged: &[GatedComparison], is_strict: bool) -> Option<Judgement> {
    let results = || judged.iter().flat_map(|judged| &judged.gate);
    let (missed, open) = (with_result(judged, Met::No), with_result(judged, Met::Undecided));
    let missed_line = || format!("not met: {}", against_limit::joined(&missed));
    let why = || format!("undecided, more repeats are needed: {}", against_limit::joined(&open));
    Some(match (results().next(), missed.is_empty(), open.is_empty()) {
        (None, ..) => return None,
        (_, false, _) => Judgement::new(Verdict::Fail, missed_line()),
        (_, true, false) if is_strict => Judgement::new(Verdict::Fail, why()),
        (_, true, false) => Judgement::new(Verdict::Undecided, why()),
        (_, true, true) => {
            let mut conditions: Vec<&str> = Vec::new();
            for result in results() {
                if !conditions.contains(&result.condition.as_str()) {
                    conditions.push(&result.condition);
                }
            }
            let closest = conditions.iter().filter_map(|text| {
                let of_text = results().filter(|result| result.condition == *text);
                against_limit::worst(text, of_text, |result| result.difference_pct)
            });
            let stated: Vec<String> = closest.map(against_limit::condition).collect();
            Judgement::new(Verdict::Pass, against_limit::met(&stated, results().count()))
        }
    })
}

/// The names that [`subject`] accepts, for error messages.
const ACCEPTED: &str = "give a stored run, a tag, a bundle of runs, a summary.json, the result \
    file of another tool, a published table (FILE.md, FILE.md#SECTION), several of these separated \
    by commas, or GROUP/SERVER for all rounds of one server";

/// Loads the results that a name refers to, and bills them if keys of a price are given. The name is a stored run, a tag or a file with results, a list of these
/// separated by commas, or all rounds of one server of a plan (`group-0a1b2c3d/SERVER`).
///
/// # Errors
/// If the name is none of these or contains a run twice, if a file has several tables and the name does not select one,
/// or if a run has no results.
pub fn subject(name: &str, store: &Path, price: &PriceKeys) -> Result<Subject, CompareError> {
    if !Path::new(name).exists() {
        if let Some((group, server)) = group_and_server(name) {
            return rounds(name, group, server, store, price);
        }
        if name.contains(',') && !name.contains('#') {
            let names = name.split(',').map(str::trim).filter(|name| !name.is_empty());
            let runs = names.map(|name| one(name, store, price)).collect::<Result<Vec<_>, _>>()?;
            if let Some(twice) = Subject::first_duplicate(&runs) {
                return Err(CompareError::new(format!(
                    "{name}: contains {twice} twice; give each run once"
                )));
            }
            let nothing = || CompareError::new(format!("{name}: is not a run; {ACCEPTED}"));
            return if runs.is_empty() {
                Err(nothing())
            } else {
                Ok(Subject::of_several(name, runs))
            };
        }
    }
    one(name, store, price)
}

/// All rounds of one server of a plan, as one subject.
fn rounds(
    name: &str,
    group: &str,
    server: &str,
    store: &Path,
    price: &PriceKeys,
) -> Result<Subject, CompareError> {
    let store = Store::open_existing(store).map_err(CompareError::new)?;
    let runs = stored::rounds(name, group, server, &store).map_err(CompareError::new)?;
    let subjects =
        runs.into_iter().map(|run| of_stored(run, price)).collect::<Result<Vec<_>, _>>()?;
    Ok(Subject::of_several(name, subjects))
}

fn one(name: &str, store: &Path, price: &PriceKeys) -> Result<Subject, CompareError> {
    let (path, section) = match name.split_once('#') {
        Some((path, section)) => (path, Some(section)),
        None => (name, None),
    };
    let problem = |what: String| CompareError::new(format!("{path}: {what}"));
    if section.is_none() && is_bundle(Path::new(path)) {
        return bundle(name, Path::new(path), price);
    }
    if Path::new(path).is_file() {
        return file(name, path, section, price).map_err(problem);
    }
    if Path::new(path).is_dir() {
        let results = Path::new(path).join("summary.json");
        let meant = match results.is_file() {
            true => format!(" (did you mean `{}`?)", results.display()),
            false => String::new(),
        };
        return Err(problem(format!("is a folder{meant}; {ACCEPTED}")));
    }
    if path.ends_with(".md") || path.ends_with(".json") {
        return Err(problem("there is no such file".to_owned()));
    }
    let store = Store::open_existing(store).map_err(CompareError::new)?;
    // The runs with the same tag are repeats.
    let ids = store.find_all(name).map_err(CompareError::new)?;
    let runs =
        ids.iter().map(|id| of_stored(store.run(id.as_str()).map_err(CompareError::new)?, price));
    let mut runs = runs.collect::<Result<Vec<_>, _>>()?;
    Ok(if runs.len() == 1 { runs.remove(0) } else { Subject::of_several(name, runs) })
}

/// Opens a bundle, and returns its runs as one subject.
fn bundle(name: &str, path: &Path, price: &PriceKeys) -> Result<Subject, CompareError> {
    let mut bundle = Bundle::open(path).map_err(CompareError::new)?;
    for run in &mut bundle.runs {
        let plan = run.plan().ok();
        price::bill(&mut run.summary, price, plan.as_ref(), name)?;
    }
    Ok(of_bundle(name, &bundle))
}

/// The runs of a bundle, as one subject.
pub fn of_bundle(name: &str, bundle: &Bundle) -> Subject {
    let mut runs: Vec<Subject> = bundle
        .runs
        .iter()
        .map(|run| {
            let subject = Subject::of_run(format!("run {} of the bundle", run.id), &run.summary);
            match run.plan() {
                Ok(plan) if run.summary.imported.is_none() => subject.planned_by(&plan),
                Ok(_) | Err(_) => subject,
            }
        })
        .collect();
    match runs.len() {
        1 => runs.remove(0),
        _ => Subject::of_several(name, runs),
    }
}

/// Loads the results of a stored run.
///
/// # Errors
/// If the run has no results yet.
fn of_stored(found: StoredRun, price: &PriceKeys) -> Result<Subject, CompareError> {
    let id = found.row.id.to_string();
    let mut summary =
        found.summary.ok_or_else(|| CompareError::new(format!("run {id} has no results yet")))?;
    // The plan of another version of this program may be unreadable. The values that the plan requested are then
    // unknown.
    let plan = Plan::from_json(&found.plan_json);
    price::bill(&mut summary, price, plan.as_ref().ok(), &id)?;
    let subject = Subject::of_run(id, &summary);
    Ok(match plan {
        Ok(plan) if summary.imported.is_none() => subject.planned_by(&plan),
        Ok(_) | Err(_) => subject,
    })
}

/// Loads the results in a file: a summary of this program, or a format that `import` supports. If the file contains
/// several results, `section` selects one.
fn file(
    name: &str,
    path: &str,
    section: Option<&str>,
    price: &PriceKeys,
) -> Result<Subject, String> {
    let billed = |mut summary: Summary| {
        price::bill(&mut summary, price, None, name).map_err(|error| error.to_string())?;
        Ok(Subject::of_run(name, &summary))
    };
    let bytes = file::read(Path::new(path), MAX_RESULTS_BYTES)
        .map_err(|error| format!("cannot be read: {error}"))?;
    if let Ok(summary) = serde_json::from_slice::<Summary>(&bytes) {
        return billed(summary);
    }
    let file = Path::new(path).file_name().map_or(path.into(), |file| file.to_string_lossy());
    let imports = inferometer_formats::import::read(&file, &bytes).map_err(|error| {
        let message = error.to_string();
        let message = message.strip_prefix(&format!("{file}: ")).unwrap_or(&message);
        format!("{message}; {ACCEPTED}")
    })?;
    let headings = |summary: &Summary| {
        summary.imported.as_ref().map(|from| from.section.clone()).unwrap_or_default()
    };
    let fits =
        |import: &&Import| section.is_none_or(|words| is_under(&headings(&import.summary), words));
    let mut found: Vec<&Import> = imports.iter().filter(fits).collect();
    let is_table = |import: &&Import| {
        import.summary.imported.as_ref().is_some_and(|from| !from.tables.is_empty())
    };
    // A file may contain a table and the log from which the table was computed. Use the table then.
    if found.len() > 1 && found.iter().filter(|import| is_table(import)).count() == 1 {
        found.retain(is_table);
    }
    match found.as_slice() {
        [import] => billed(import.summary.clone()),
        found => {
            let sections: Vec<String> =
                imports.iter().map(|import| headings(&import.summary).join(" / ")).collect();
            Err(format!(
                "{} of its tables match; name one as FILE.md#SECTION: {}",
                found.len(),
                sections.join("; ")
            ))
        }
    }
}
