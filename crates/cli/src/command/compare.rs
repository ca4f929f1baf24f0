//! `compare`: runs against a baseline, figure by figure, and a gate on it.

use std::path::{Path, PathBuf};

use clap::Args;
use inferometer_analysis::compare::{
    Comparison, Condition, GateResult, Met, Options, Subject, compare as compare_subjects, judge,
    parse_gate,
};
use inferometer_analysis::summary::Summary;
use inferometer_analysis::table_import::is_under;
use inferometer_formats::import::Import;
use inferometer_plan::Plan;
use inferometer_report::difference;
use inferometer_store::Store;
use serde::Serialize;

use crate::exit::{Failure, print, tell};

/// The flags of `compare`.
#[derive(Args)]
pub struct CompareArgs {
    /// What the others are held against: a stored run (imported ones too), a summary.json, the
    /// result file of another tool, or a published table (FILE.md, FILE.md#SECTION)
    baseline: String,
    /// Stored runs or files, as for the baseline
    #[arg(required = true, value_name = "RUN")]
    contenders: Vec<String>,
    /// Conditions on the differences, such as 'output_tokens_per_s>-3%,ttft_p99<+5%'; exit code 3
    /// when one is not met. The interval over repeats decides; below 3 repeats there is none, and
    /// the difference itself does
    #[arg(long, value_name = "CONDITIONS")]
    gate: Option<String>,
    /// A condition that is neither met nor missed for sure is not met
    #[arg(long)]
    strict: bool,
    /// Differences within this share do not matter: 5, or 5%
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = percent)]
    margin: f64,
    /// Makes the resamples
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// The database
    #[arg(long, value_name = "FILE", default_value = "inferometer.db")]
    store: PathBuf,
    /// Print one JSON document on stdout and nothing else there
    #[arg(long)]
    json: bool,
    /// Print Markdown
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

/// A comparison, and what its gate says.
#[derive(Serialize)]
struct Judged {
    #[serde(flatten)]
    comparison: Comparison,
    gate: Vec<GateResult>,
}

/// Compares.
pub fn compare(arguments: &CompareArgs) -> Result<(), Failure> {
    let conditions = conditions(arguments.gate.as_deref())?;
    let options = Options { margin: arguments.margin / 100.0, seed: arguments.seed };
    let baseline = subject(&arguments.baseline, &arguments.store)?;
    let mut judged = Vec::new();
    for name in &arguments.contenders {
        let contender = subject(name, &arguments.store)?;
        let comparison =
            compare_subjects(&baseline, &contender, options).map_err(Failure::usage)?;
        let gate = judge(&conditions, &comparison)
            .map_err(|error| Failure::usage(format!("--gate: {error}")))?;
        judged.push(Judged { comparison, gate });
    }
    show(arguments, &judged)?;
    verdict(arguments, &judged)
}

/// A percentage, with its sign or without.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse().ok();
    number
        .filter(|number| *number > 0.0 && *number < 100.0)
        .ok_or_else(|| "is not a percentage above 0 and below 100".to_owned())
}

fn conditions(gate: Option<&str>) -> Result<Vec<Condition>, Failure> {
    let Some(text) = gate else { return Ok(Vec::new()) };
    parse_gate(text).map_err(|errors| {
        Failure::Usage(errors.iter().map(|error| format!("--gate: {error}")).collect())
    })
}

fn show(arguments: &CompareArgs, judged: &[Judged]) -> Result<(), Failure> {
    if arguments.json {
        let document = serde_json::json!({ "comparisons": judged });
        return print(&format!("{document:#}\n"));
    }
    let one = |judged: &Judged| match arguments.markdown {
        true => difference::markdown(&judged.comparison, &judged.gate),
        false => difference::text(&judged.comparison, &judged.gate),
    };
    print(&judged.iter().map(one).collect::<Vec<_>>().join("\n"))
}

fn verdict(arguments: &CompareArgs, judged: &[Judged]) -> Result<(), Failure> {
    let results = || judged.iter().flat_map(|judged| &judged.gate);
    let with = |met: Met| -> Vec<String> {
        let found = results().filter(|result| result.met == met);
        found.map(|result| format!("{} ({})", result.condition, result.place)).collect()
    };
    let (missed, undecided) = (with(Met::No), with(Met::Undecided));
    if !missed.is_empty() {
        return Err(Failure::Objective(format!("not met: {}", missed.join("; "))));
    }
    if !undecided.is_empty() {
        let told = format!("undecided, more repeats would tell: {}", undecided.join("; "));
        if arguments.strict {
            return Err(Failure::Objective(told));
        }
        tell(&format!("warning: {told}"));
    }
    Ok(())
}

/// What can be compared.
const ACCEPTED: &str = "name a stored run, a summary.json, the result file of another tool, or a \
                        published table (FILE.md, FILE.md#SECTION)";

/// What a name stands for: a published table, a summary, or a stored run.
fn subject(name: &str, store: &Path) -> Result<Subject, Failure> {
    let (path, section) = match name.split_once('#') {
        Some((path, section)) => (path, Some(section)),
        None => (name, None),
    };
    let problem = |what: String| Failure::usage(format!("{path}: {what}"));
    if Path::new(path).is_file() {
        return file(name, path, section).map_err(problem);
    }
    if Path::new(path).is_dir() {
        return Err(problem(format!("is a folder; {ACCEPTED}")));
    }
    if path.ends_with(".md") || path.ends_with(".json") {
        return Err(problem("there is no such file".to_owned()));
    }
    let store = Store::open_existing(store).map_err(Failure::usage)?;
    let found = store.run(name).map_err(Failure::usage)?;
    let id = found.row.id.to_string();
    let summary =
        found.summary.ok_or_else(|| Failure::usage(format!("run {id} has no results yet")))?;
    let subject = Subject::of_run(id, &summary);
    // A plan of another version of this program may have another form: what it asked for is then not
    // known here.
    Ok(match serde_json::from_str::<Plan>(&found.plan_json) {
        Ok(plan) if summary.imported.is_none() => subject.planned_by(&plan),
        Ok(_) | Err(_) => subject,
    })
}

/// A file: a summary of this program, or what `import` knows. Of several runs in it the one that is
/// named.
fn file(name: &str, path: &str, section: Option<&str>) -> Result<Subject, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("cannot be read: {error}"))?;
    if let Ok(summary) = serde_json::from_slice::<Summary>(&bytes) {
        return Ok(Subject::of_run(name, &summary));
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
    // Beside a table may stand the log that it was made of.
    if found.len() > 1 && found.iter().filter(|import| is_table(import)).count() == 1 {
        found.retain(is_table);
    }
    match found.as_slice() {
        [import] => Ok(Subject::of_run(name, &import.summary)),
        found => {
            let sections: Vec<String> =
                imports.iter().map(|import| headings(&import.summary).join(" / ")).collect();
            Err(format!(
                "{} of its tables fit; name one as FILE.md#SECTION: {}",
                found.len(),
                sections.join("; ")
            ))
        }
    }
}
