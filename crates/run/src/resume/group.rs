//! Resumes a plan with several servers: finds the runs of the group in the store, by the name of the group.

use std::path::Path;

use inferometer_analysis::Summary;
use inferometer_plan::Plan;
use inferometer_store::{RunId, RunState, Store, StoredRun};

use super::{are_all, check_plan, completed_passes};
use crate::{ResumedCell, RunError};

/// The prefix of the name of a group.
pub const GROUP: &str = "group-";

/// The stored runs of a plan with several servers.
pub struct EarlierGroup {
    /// The name of the group.
    pub name: String,
    /// Why some runs in the store cannot be read. Such runs may belong to any group.
    pub unread: Vec<String>,
    runs: Vec<StoredRun>,
}

/// An earlier attempt at one run of a group.
pub enum EarlierAttempt {
    /// The run is complete.
    Complete(Box<Summary>, RunId),
    /// The results of these passes can be used again. The text is the id of the run; `None` if it never began.
    Partial(Vec<ResumedCell>, Option<String>),
}

impl EarlierAttempt {
    fn progress(&self) -> usize {
        match self {
            Self::Complete(..) => usize::MAX,
            Self::Partial(cells, _) => cells.iter().map(|cell| cell.passes.len()).sum(),
        }
    }
}

impl EarlierGroup {
    /// Finds a group by its name.
    ///
    /// # Errors
    /// When the store cannot be read, or no run in it belongs to the group.
    pub fn find(store: &Path, name: &str) -> Result<Self, RunError> {
        let problem = |what: String| RunError::plan(format!("--resume: {what}"));
        let store = Store::open_existing(store).map_err(|error| problem(error.to_string()))?;
        let rows = store.runs().map_err(|error| problem(error.to_string()))?;
        let (mut runs, mut unread) = (Vec::new(), Vec::new());
        for row in rows {
            match store.run(row.id.as_str()) {
                Ok(run) if run.target.facts.origin.group.as_deref() == Some(name) => {
                    runs.push(run);
                }
                Ok(_) => {}
                Err(error) => unread.push(error.to_string()),
            }
        }
        if runs.is_empty() {
            let unread = unread.iter().map(|why| format!("; {why}")).collect::<String>();
            return Err(problem(format!(
                "the store has no run of {name}; check the name and --store{unread}"
            )));
        }
        runs.sort_by(|one, other| one.row.id.as_str().cmp(other.row.id.as_str()));
        Ok(Self { name: name.to_owned(), unread, runs })
    }

    /// The salt of the group's prompts.
    pub fn salt(&self) -> Option<String> {
        let of_group = self.runs.iter().find_map(|run| run.target.facts.origin.group_salt.clone());
        of_group.or_else(|| self.runs.iter().find_map(|run| run.environment.salt.clone()))
    }

    /// The earlier attempt at one of the group's runs. If there are several attempts, returns the attempt with the
    /// most completed passes.
    ///
    /// # Errors
    /// When an attempt has another plan, or its log cannot be read.
    pub fn attempt(
        &self,
        variant: &str,
        round: u32,
        plan: &Plan,
    ) -> Result<EarlierAttempt, RunError> {
        let of_round = self.of(variant).filter(|run| run.target.facts.origin.round == Some(round));
        let attempt = |run: &StoredRun| {
            let kept = completed_passes(run, plan)?;
            let is_whole = run.row.state == RunState::Complete && are_all(plan, &kept);
            Ok(match &run.summary {
                Some(summary) if is_whole => {
                    EarlierAttempt::Complete(Box::new(summary.clone()), run.row.id.clone())
                }
                _ => EarlierAttempt::Partial(kept, Some(run.row.id.to_string())),
            })
        };
        Ok(furthest(of_round.map(attempt).collect::<Result<Vec<_>, RunError>>()?))
    }

    /// Checks that the runs of one of the group's servers have this plan.
    ///
    /// # Errors
    /// When one of them has another plan.
    pub fn check(&self, variant: &str, plan: &Plan) -> Result<(), RunError> {
        self.of(variant).try_for_each(|run| check_plan(run, plan))
    }

    /// The runs of one of the group's servers, in the order of time.
    fn of(&self, variant: &str) -> impl Iterator<Item = &StoredRun> {
        let is_its =
            move |run: &&StoredRun| run.target.facts.origin.variant.as_deref() == Some(variant);
        self.runs.iter().filter(is_its)
    }
}

/// The attempt with the most completed passes. If several attempts have equally many, returns the last of these.
fn furthest(attempts: Vec<EarlierAttempt>) -> EarlierAttempt {
    let found = attempts.into_iter().max_by_key(EarlierAttempt::progress);
    found.unwrap_or_else(|| EarlierAttempt::Partial(Vec::new(), None))
}

#[cfg(test)]
mod tests {
    use inferometer_model::{CellPlan, Observed, PassPlan};
    use inferometer_store::{LoggedPass, PassBegin};

    use super::*;

    #[test]
    fn the_attempt_with_the_most_passes_is_chosen_and_of_equal_attempts_the_last() {
        let part = |name: &str, passes: u32| {
            let (cell, plan) = (CellPlan::OWN, PassPlan::saturated(1));
            let logged = |pass| LoggedPass {
                begin: PassBegin { pass, cell, plan: plan.clone(), repeat: 1 },
                records: Vec::new(),
                observed: Observed::default(),
                end: None,
            };
            let passes = (0..passes).map(logged).collect();
            let cell = ResumedCell { cell, passes, ending: None };
            EarlierAttempt::Partial(vec![cell], Some(name.to_owned()))
        };
        let name = |attempts| match furthest(attempts) {
            EarlierAttempt::Partial(_, name) => name,
            EarlierAttempt::Complete(..) => None,
        };
        assert_eq!(name(vec![part("a", 2), part("b", 0)]).as_deref(), Some("a"));
        assert_eq!(name(vec![part("a", 2), part("b", 2), part("c", 1)]).as_deref(), Some("b"));
        assert_eq!(name(Vec::new()), None);
    }
}
