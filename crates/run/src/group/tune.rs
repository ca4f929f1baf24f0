//! A group whose rounds `tune` chooses: passes each run to its decision, and its decision to the group.

use std::time::Duration;

use inferometer_analysis::tune::{TuneAnswer, TuneReading, TuneStatus};
use inferometer_model::Nanos;
use inferometer_net::monotonic_now;

use super::measure::{Done, GroupRun};
use crate::{RunError, Shortfall};

impl GroupRun<'_, '_> {
    /// The servers of a round, in their order; none after the last round.
    pub(super) fn members_of(&mut self, round: u32, spent: Duration) -> Vec<usize> {
        let mut members = match &mut self.group.tune {
            Some(tune) => tune.next(spent),
            None if round <= self.group.rounds => (0..self.group.members.len()).collect(),
            None => Vec::new(),
        };
        if round.is_multiple_of(2) {
            members.reverse();
        }
        members
    }

    /// Adds the last run to the decision of `tune`, where a failed run is a result. `before`: the numbers of runs and of
    /// failures before it, and when it began.
    pub(super) fn add_to_tune(
        &mut self,
        index: usize,
        (done, failures, began): (usize, usize, Nanos),
    ) {
        let Some(tune) = &mut self.group.tune else { return };
        let mut failed = None;
        for (name, error) in self.failures.split_off(failures) {
            match error {
                RunError::Interrupted(_) | RunError::Shortfall(Shortfall::Interrupted(_)) => {
                    let group = &self.group.name;
                    let why = format!(
                        "interrupted; the records are kept; to continue: the same command with --resume {group}"
                    );
                    return self.failures.push((name, Shortfall::Interrupted(why).into()));
                }
                RunError::Shortfall(
                    Shortfall::Objective(_) | Shortfall::Suspect(_) | Shortfall::Undecided(_),
                ) => {}
                error => failed = Some(error.to_string()),
            }
        }
        let slo = &self.group.members[index].plan.slo;
        let read = |done: &Done| TuneReading::of(tune.figure, slo, &done.summary.cells);
        let reading = match (failed, self.done.get(done)) {
            (None, Some(done)) => read(done),
            (why, _) => Err(why.unwrap_or_else(|| "the run has no results".to_owned())),
        };
        tune.add(index, reading, monotonic_now().since(began).as_secs_f64());
    }
}

/// The candidates that failed, each with the reason.
pub(super) fn failed_candidates(answer: &TuneAnswer) -> impl Iterator<Item = String> {
    let failed = answer.candidates.iter().filter(|one| one.status == TuneStatus::Failed);
    failed.filter_map(|one| Some(format!("{}: {}", one.name, one.why.as_ref()?)))
}

/// The failure of a comparison without an answer.
pub(super) fn without_answer(answer: &TuneAnswer) -> Option<(String, RunError)> {
    let why = || Shortfall::Failed(answer.sentence.clone()).into();
    answer.best.is_none().then(|| (String::new(), why()))
}
