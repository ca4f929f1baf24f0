//! Passes gathered into the cells of the grid, and the trials of a search beside them.

use inferometer_analysis::cell::{self, Cell};
use inferometer_analysis::pass::PassSummary;
use inferometer_analysis::search::{SearchAnswer, Trial};
use inferometer_model::cell::CellPlan;
use inferometer_plan::Plan;
use inferometer_report::trace::Traces;

use crate::pass_figures::PassResult;

/// The passes so far, by cell, in the order in which cells were first met.
#[derive(Default)]
pub struct Grid {
    cells: Vec<Measured>,
    /// What the charts of single requests are drawn from.
    pub traces: Traces,
}

struct Measured {
    cell: CellPlan,
    passes: Vec<PassSummary>,
    trials: Vec<Trial>,
}

impl Grid {
    /// Adds the result of a pass.
    pub fn add(&mut self, cell: CellPlan, recorded: PassResult) {
        let known = self.cells.iter().position(|known| known.cell == cell);
        let known = known.unwrap_or_else(|| {
            self.cells.push(Measured { cell, passes: Vec::new(), trials: Vec::new() });
            self.cells.len() - 1
        });
        self.cells[known].passes.push(recorded.summary);
        self.cells[known].trials.extend(recorded.trial);
        self.traces.0.extend(recorded.trace);
    }

    /// The passes of a cell so far.
    pub fn passes_of(&self, cell: CellPlan) -> &[PassSummary] {
        self.cells.iter().find(|known| known.cell == cell).map_or(&[], |known| &known.passes)
    }

    /// The trials of a cell so far, in the order in which they were made.
    pub fn trials_of(&self, cell: CellPlan) -> &[Trial] {
        self.cells.iter().find(|known| known.cell == cell).map_or(&[], |known| &known.trials)
    }

    /// The cells with their figures.
    pub fn cells(&self) -> Vec<Cell> {
        let cell = |Measured { cell, passes, .. }: &Measured| {
            cell::cell(cell.input_length, cell.output_length, passes.clone())
        };
        self.cells.iter().map(cell).collect()
    }

    /// What the search of a plan found out, cell by cell and tier by tier; nothing of a plan that asks for none.
    pub fn searches(&self, plan: &Plan) -> Vec<SearchAnswer> {
        let Some(search) = &plan.search else { return Vec::new() };
        let of = |known: &Measured| SearchAnswer::of(search, known.cell, &known.trials);
        self.cells.iter().flat_map(of).collect()
    }
}
