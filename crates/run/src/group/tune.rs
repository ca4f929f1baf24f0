//! A group whose rounds `tune` chooses: passes each run to its decision, and its decision to the group.

use std::time::Duration;

use inferometer_analysis::Cell;
use inferometer_analysis::tune::{Tune, TuneAnswer, TuneReading, TuneStatus};
use inferometer_model::metrics::slo::Objective;

use crate::{RunError, Shortfall};

/// The servers of a round, in their order; none after the last round. Without `tune`, each round has all servers.
pub(super) fn members_of(
    tune: Option<&mut Tune>,
    round: u32,
    (servers, rounds): (usize, u32),
    spent: Duration,
) -> Vec<usize> {
    let mut members = match tune {
        Some(tune) => tune.next(spent),
        None if round <= rounds => (0..servers).collect(),
        None => Vec::new(),
    };
    if round.is_multiple_of(2) {
        members.reverse();
    }
    members
}

/// Adds a run to the decision, with its failures and its results. A failed run is a result. Returns the failures that are
/// none: interruptions. `group`: the name of the group.
pub(super) fn add_run(
    tune: &mut Tune,
    (group, slo): (&str, &[Objective]),
    failures: Vec<(String, RunError)>,
    cells: Option<&[Cell]>,
    (server, seconds): (usize, Option<f64>),
) -> Option<(String, RunError)> {
    let mut failed = None;
    for (name, error) in failures {
        match error {
            RunError::Interrupted(_) | RunError::Shortfall(Shortfall::Interrupted(_)) => {
                let why = format!(
                    "interrupted; the records are kept; to continue: the same command with --resume {group}"
                );
                return Some((name, Shortfall::Interrupted(why).into()));
            }
            RunError::Shortfall(
                Shortfall::Objective(_) | Shortfall::Suspect(_) | Shortfall::Undecided(_),
            ) => {}
            error => failed = Some(error.to_string()),
        }
    }
    let reading = match (failed, cells) {
        (None, Some(cells)) => TuneReading::of(tune.figure, slo, cells),
        (why, _) => Err(why.unwrap_or_else(|| "the run has no results".to_owned())),
    };
    tune.add(server, reading, seconds);
    None
}

/// The candidates that failed, each with the reason.
pub(super) fn failed_candidates(answer: &TuneAnswer) -> impl Iterator<Item = String> {
    let failed = answer.candidates.iter().filter(|one| one.status == TuneStatus::Failed);
    failed.filter_map(|one| Some(format!("{}: {}", one.name, one.why.as_ref()?)))
}

/// The failure of a comparison without an answer, or whose best arguments do not meet the objectives.
pub(super) fn without_answer(answer: &TuneAnswer) -> Option<(String, RunError)> {
    let shortfall = match answer.best() {
        None => Shortfall::Failed(answer.sentence.clone()),
        Some(best) if !answer.objectives.is_empty() && 2 * best.met[0] <= best.met[1] => {
            let objectives = answer.objectives.join(",");
            Shortfall::Objective(format!("no arguments meet {objectives} in most rounds"))
        }
        Some(_) => return None,
    };
    Some((String::new(), shortfall.into()))
}
