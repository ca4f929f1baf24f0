//! What the runs of a series measured. Figures of different work are different figures, so they are never joined.

use serde::{Deserialize, Serialize};

use crate::compare::Subject;

/// Facts of a target that make a run measure something else, apart from the conditions of a comparison.
const FACTS: [&str; 2] = ["model", "variant"];

/// Runs of a series that measured the same: the same kind of prompts and loads, with the same model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workload {
    /// The index of its first run.
    pub first: usize,
    /// The number of its runs.
    pub runs: usize,
    /// What differs from the first workload: the name of the fact, its value there, and its value here.
    pub differing: Vec<[String; 3]>,
}

/// The workloads of runs, and the index of the workload of each run.
pub(super) fn of(runs: &[&Subject]) -> (Vec<Workload>, Vec<usize>) {
    let mut workloads: Vec<Workload> = Vec::new();
    let mut of_runs = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        let is_its = |known: &Workload| apart(runs[known.first], run).is_empty();
        let place = workloads.iter().position(is_its).unwrap_or_else(|| {
            let differing = workloads.first().map(|one| apart(runs[one.first], run));
            let differing = differing.unwrap_or_default();
            workloads.push(Workload { first: at, runs: 0, differing });
            workloads.len() - 1
        });
        workloads[place].runs += 1;
        of_runs.push(place);
    }
    (workloads, of_runs)
}

/// Why two runs did not measure the same; empty if they did.
fn apart(one: &Subject, other: &Subject) -> Vec<[String; 3]> {
    let differs = |key: &&str| {
        let [ours, theirs] = [one, other].map(|it| it.facts.get(*key).cloned().unwrap_or_default());
        (ours != theirs).then(|| [(*key).to_owned(), ours, theirs])
    };
    let mut told = one.differing_conditions(other);
    told.extend(FACTS.iter().filter_map(differs));
    told
}
