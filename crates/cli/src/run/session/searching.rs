//! The trials of a search, one pass each, until the procedure has its answer. Decides nothing
//! itself: that is [`inferometer_core::search`].

use inferometer_core::finding::{Finding, Severity};
use inferometer_core::plan::CellPlan;
use inferometer_core::search::{Asked, Search, SearchPlan};

use super::Session;
use crate::exit::Failure;
use crate::run::searched;

impl Session<'_> {
    /// Looks for the highest load of a cell.
    pub(super) fn search(&mut self, cell: CellPlan, plan: &SearchPlan) -> Result<(), Failure> {
        let of_plan = self.resolved.plan.passes_of(cell);
        let Some(of_plan) = of_plan.first() else { return Ok(()) };
        let mut search = self.so_far(cell, plan);
        // The trial that an interruption cut off has sent prompts already, under the next number.
        let mut number = self.last_number(cell) + u32::from(search.trials() > 0);
        while let Some(asked) = search.next() {
            if self.is_stopped() {
                return Ok(());
            }
            self.rest()?;
            let pass = plan.pass(of_plan, asked);
            let before = self.grid.trials_of(cell).len();
            number += 1;
            self.pass(cell, number, &pass)?;
            if self.server_died(cell, &pass) || self.is_stopped() {
                return Ok(());
            }
            let Some(trial) = self.grid.trials_of(cell).get(before) else { return Ok(()) };
            let trials = search.trials();
            search.tell(trial.clone());
            if search.trials() == trials {
                self.wait_from_now_on(cell, number);
                continue;
            }
            self.progress.say(&searched::trial(plan, &search, asked));
        }
        self.progress.say(&searched::last_word(plan, cell, &search));
        Ok(())
    }

    /// A trial that was cut off for a claim that its records do not bear out is none; the others are
    /// played to their ends.
    fn wait_from_now_on(&mut self, cell: CellPlan, trial: u32) {
        self.passes.cut_off = false;
        let message = format!(
            "trial {trial} was cut off for a claim that its records do not bear out, as where outputs \
             are counted after the pass: it counts for nothing, and no other trial is cut off"
        );
        self.progress.say(&format!("warning: {message}"));
        let finding = Finding::new("search_trial_lost", Severity::Warning, message);
        self.findings.push(finding.at(cell.to_string()));
    }

    /// Whether a cell that was taken over has trials left to make.
    pub(super) fn goes_on(&self, cell: CellPlan) -> bool {
        let next = |plan: &SearchPlan| -> Option<Asked> { self.so_far(cell, plan).next() };
        self.resolved.plan.search.as_ref().and_then(next).is_some()
    }

    /// The largest number of a trial so far: it makes the trial's arrivals and prompts.
    fn last_number(&self, cell: CellPlan) -> u32 {
        self.grid.passes_of(cell).iter().map(|pass| pass.repeat).max().unwrap_or(0)
    }

    fn so_far(&self, cell: CellPlan, plan: &SearchPlan) -> Search {
        let mut search = Search::new(plan.settings());
        self.grid.trials_of(cell).iter().for_each(|trial| search.tell(trial.clone()));
        search
    }
}
