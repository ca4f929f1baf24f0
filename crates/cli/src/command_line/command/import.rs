//! `import`: its flags, and the printed list of imported runs.

use std::{collections::BTreeMap, fmt::Write as _, path::PathBuf};

use crate::command_line::{Failure, print};
use crate::import::{Imported, import as import_files};
use clap::Args;
use inferometer_model::Severity;

/// The flags of `import`.
#[derive(Args)]
pub struct ImportArgs {
    /// Published tables and logs (Markdown), results of other tools (JSON, JSONL), or bundles of
    /// runs (`inferometer bundle`). The format is recognised by the content
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The database; created if it does not exist
    #[arg(long, value_name = "FILE", default_value = "inferometer.db")]
    store: PathBuf,
    /// Print the runs, with the summaries of the new ones, as one JSON document on stdout, and
    /// nothing else
    #[arg(long)]
    json: bool,
}

/// Imports the files.
pub fn import(arguments: &ImportArgs) -> Result<(), Failure> {
    let done = import_files(&arguments.files, &arguments.store)?;
    if !arguments.json {
        return print(&words(&done));
    }
    let run = |Imported { run: id, summary, was_there, .. }: &Imported| match was_there {
        false => serde_json::json!({ "run_id": id, "new": true, "summary": summary }),
        true => serde_json::json!({ "run_id": id, "new": false }),
    };
    let runs: Vec<_> = done.iter().map(run).collect();
    print(&format!("{:#}\n", serde_json::json!({ "runs": runs })))
}

/// The imported runs as text, with their findings.
fn words(done: &[Imported]) -> String {
    let mut text = String::new();
    let mut of_form: BTreeMap<&str, usize> = BTreeMap::new();
    for Imported { run: id, summary, was_there, is_restored } in done {
        if *is_restored {
            let what = if *was_there {
                "is in the store already"
            } else {
                "was added to the store, with its original run id"
            };
            let _ = writeln!(text, "{id}  {what}: {}", summary.target.model);
            continue;
        }
        let Some(source) = &summary.imported else { continue };
        if *was_there {
            let _ = writeln!(text, "{id}  was imported before: {}", source.place());
            continue;
        }
        *of_form.entry(&source.format).or_default() += 1;
        let target = &summary.target;
        let engine = target.engine.as_deref().unwrap_or("unknown engine");
        let version = target.engine_version.as_deref().unwrap_or("");
        let _ = writeln!(text, "{id}  {}: {}", source.place(), source.format);
        let card = target.facts.card.as_deref().unwrap_or("unknown card");
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
    let forms: Vec<String> = of_form.iter().map(|(form, n)| format!("{n} x {form}")).collect();
    if !forms.is_empty() {
        let _ = writeln!(text, "imported: {}", forms.join(", "));
    }
    if let Some(first) = done.first() {
        let _ = writeln!(text, "figures: `inferometer show {}`", first.run);
    }
    text
}
