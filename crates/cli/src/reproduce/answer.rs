//! Compares the new runs with the runs of the bundle, with the same method as `compare`.

use inferometer_analysis::Summary;
use inferometer_analysis::compare::{Options, Reproduction, ReproductionResult, Subject};
use inferometer_model::{Code, code};
use inferometer_plan::Plan;
use inferometer_report::reproduction;
use inferometer_store::RunKind;
use serde::Serialize;

use super::facts::facts;
use crate::bundle::Bundle;
use crate::compare::{CompareError, Condition, GatedComparison, compare, of_bundle};

/// A run that was measured again.
pub struct NewRun {
    /// The plan of the new run.
    pub plan: Plan,
    /// The results of the new run.
    pub summary: Summary,
    /// Whether the requests were compared with the requests of the bundle's run, and are the same.
    pub is_same_work: bool,
}

/// The result of a reproduction.
#[derive(Debug, Serialize)]
pub struct Reproduced {
    /// The name and version of this document.
    pub schema: &'static str,
    /// The result in one sentence.
    pub sentence: String,
    /// Additional sentences for the user.
    pub remarks: Vec<String>,
    /// The result as data.
    pub answer: Reproduction,
    /// Facts that differ: name, value in the bundle, value here. The facts of the machines are those of the first run.
    pub facts: Vec<[String; 3]>,
    /// The ids of the runs in the bundle.
    pub bundled: Vec<String>,
    /// The ids of the new runs.
    pub runs: Vec<String>,
    /// The comparison from which the result follows.
    pub comparison: GatedComparison,
}

/// The name and version of the document.
const SCHEMA: &str = "inferometer.reproduction/1";
/// The findings of a run whose prompts the server took from its prefix cache.
const OF_PREFIX_CACHE: [Code; 2] = [code::CACHED_PROMPT_TOKENS, code::SERVER_PREFIX_HITS];

/// Compares the runs of a bundle with the new runs. `new` has one run for each run of the bundle, in the same order.
///
/// # Errors
/// If the runs have no cell in common, or if a condition names a figure that cannot be compared.
pub fn reproduced(
    bundle: &Bundle,
    new: &[NewRun],
    options: Options,
    conditions: &[Condition],
) -> Result<Reproduced, CompareError> {
    let here = bundle.runs.iter().zip(new).map(|(run, new)| {
        // Additional repeats send additional requests, so the hash of the new run differs although the common requests
        // are the same.
        let hash = match new.is_same_work {
            true => run.summary.workload_hash.clone(),
            false => new.summary.workload_hash.clone(),
        };
        let summary = Summary { workload_hash: hash, ..new.summary.clone() };
        Subject::of_run(format!("run {}", new.summary.run_id), &summary).planned_by(&new.plan)
    });
    let (there, here) = (of_bundle("the bundle", bundle), one(here.collect()));
    let judged = compare(&there, &here, options, conditions)?;
    let mut answer = Reproduction::of(&judged.comparison, &there, &here);
    let pairs = || bundle.runs.iter().zip(new);
    let is_predicted = bundle.runs.iter().all(|run| run.kind == RunKind::Predicted);
    if is_predicted && pairs().all(|(run, new)| has_the_figures_of(&run.summary, &new.summary)) {
        answer.outcome = ReproductionResult::Identical;
    }
    let first = pairs().next();
    let facts = first
        .map(|(run, new)| facts(&judged.comparison.differing, &run.summary, &new.summary))
        .unwrap_or_default();
    Ok(Reproduced {
        schema: SCHEMA,
        sentence: reproduction::sentence(&answer, &facts),
        remarks: remarks(&answer, bundle, new),
        answer,
        facts,
        bundled: bundle.runs.iter().map(|run| run.id.to_string()).collect(),
        runs: new.iter().map(|new| new.summary.run_id.clone()).collect(),
        comparison: judged,
    })
}

fn remarks(answer: &Reproduction, bundle: &Bundle, new: &[NewRun]) -> Vec<String> {
    let mut lines = reproduction::remarks(answer);
    let is_cached = |summary: &Summary| {
        summary.findings.iter().any(|finding| finding.is_one_of(&OF_PREFIX_CACHE))
    };
    // If the run of the bundle also has such a finding, the prompts may share prefixes with each other, and new prompts
    // would share them, too.
    let is_newly_cached =
        bundle.runs.iter().zip(new).any(|(run, new)| {
            new.is_same_work && is_cached(&new.summary) && !is_cached(&run.summary)
        });
    if is_newly_cached {
        lines.push(
            "The server took prompts of this run from its prefix cache, probably because an earlier \
             run of this bundle had sent them. --new-salt measures without these cache hits: it \
             sends new prompts of the same kind."
                .to_owned(),
        );
    }
    lines
}

/// The new runs as one subject; a single run keeps its name.
fn one(mut runs: Vec<Subject>) -> Subject {
    match runs.len() {
        1 => runs.remove(0),
        _ => Subject::of_several("here", runs),
    }
}

/// Whether all passes have exactly the same figures.
fn has_the_figures_of(one: &Summary, other: &Summary) -> bool {
    one.cells.len() == other.cells.len()
        && one
            .cells
            .iter()
            .zip(&other.cells)
            .all(|(one, other)| one.plan() == other.plan() && one.passes == other.passes)
}
