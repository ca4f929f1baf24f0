//! `compare`: the flags, and the comparison printed.

use std::path::PathBuf;

use crate::compare::{Judged, compare as compare_results, conditions, subject, with_result};
use clap::Args;
use inferometer_analysis::compare::{Met, Options};
use inferometer_report::difference;

use crate::command_line::console::tell;
use crate::command_line::exit::{Failure, print};

/// The flags of `compare`.
#[derive(Args)]
pub struct CompareArgs {
    /// What the others are held against: a stored run (imported ones too), a summary.json, the
    /// result file of another tool, or a published table (FILE.md, FILE.md#SECTION). Several
    /// runs with commas between them are one, and so are all rounds of a server: GROUP/SERVER
    baseline: String,
    /// Stored runs or files, as for the baseline. Runs that were measured in turn with it
    /// (A,B,A,B,...) tell a change from a drift; one after the other can not
    #[arg(required = true, value_name = "RUN")]
    contenders: Vec<String>,
    /// Conditions on the differences, such as 'output_tokens_per_s>-3%,ttft_p99<+5%'; exit code 3
    /// when one is not met. The interval over repeats decides; below 3 repeats there is none, and
    /// the difference itself does. Against a baseline that was measured before, a gate that is not
    /// met says that the figure differs by more than its limit: by a change, or by a drift
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

/// Compares.
pub fn compare(arguments: &CompareArgs) -> Result<(), Failure> {
    let conditions = conditions(arguments.gate.as_deref())?;
    let options = Options { margin: arguments.margin / 100.0, seed: arguments.seed };
    let baseline = subject(&arguments.baseline, &arguments.store)?;
    let mut judged = Vec::new();
    for name in &arguments.contenders {
        let contender = subject(name, &arguments.store)?;
        judged.push(compare_results(&baseline, &contender, options, &conditions)?);
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
    let (missed, undecided) = (with_result(judged, Met::No), with_result(judged, Met::Undecided));
    if !missed.is_empty() {
        return Err(Failure::Objective(format!("not met: {}", missed.join("; "))));
    }
    if !undecided.is_empty() {
        let why = format!("undecided, more repeats would tell: {}", undecided.join("; "));
        if arguments.strict {
            return Err(Failure::Objective(why));
        }
        tell(&format!("warning: {why}"));
    }
    Ok(())
}
