//! Reports the parts of the plan that a run has not measured, as findings. Changes no figure.

use inferometer_model::{CellPlan, Finding, code};
use inferometer_plan::{Plan, Procedure};

use super::Session;
use crate::Network;

impl<N: Network> Session<'_, N> {
    /// Finds passes and cells of the plan that were not measured. Returns whether a cell is missing.
    pub(super) fn find_what_is_missing(&mut self) -> bool {
        let plan = self.request.plan;
        let planned = plan.cells.len() * plan.passes.len() * plan.repeat.at_least as usize;
        let begun = self.pass_number as usize;
        if self.is_stopped() || begun < planned {
            // The program itself may set the interruption flag to end a broken run. The user did not interrupt such a
            // run.
            let was_interrupted = self.runner.interrupted() && self.broken.is_none();
            let message = ended_early(plan, was_interrupted, self.completed, planned);
            self.found(Finding::of(code::RUN_INCOMPLETE, message));
        }
        let cells = plan.cells.len();
        let missing = plan.cells.iter().filter(|cell| !self.is_measured(**cell)).count();
        if missing > 0 {
            let message = format!("{missing} of {cells} cells not measured");
            self.found(Finding::of(code::CELLS_NOT_MEASURED, message));
        }
        missing > 0
    }

    /// Whether a cell has all passes that the plan requires, each with a completed request. In a search or a sweep:
    /// whether the cell has a trial.
    fn is_measured(&self, cell: CellPlan) -> bool {
        let plan = self.request.plan;
        let passes = self.grid.passes_of(cell);
        // A trial may show that the server refuses requests, so its outcomes do not matter here.
        if plan.procedure.chooses_loads() {
            return !passes.is_empty();
        }
        passes.len() >= plan.passes_of(cell).len() * plan.repeat.at_least as usize
            && passes.iter().all(|pass| pass.outcomes.complete > 0)
    }
}

fn ended_early(plan: &Plan, was_interrupted: bool, completed: usize, planned: usize) -> String {
    let is_fixed =
        plan.procedure == Procedure::Passes && plan.repeat.at_least == plan.repeat.at_most;
    let passes = if completed == 1 { "pass" } else { "passes" };
    let what = if was_interrupted { "the run was interrupted" } else { "the run ended early" };
    match is_fixed {
        true => format!("{what}: {completed} of {planned} passes are complete"),
        false => format!("{what}, after {completed} complete {passes}"),
    }
}
