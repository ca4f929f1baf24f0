//! Passes gathered into the cells of the grid.

use inferometer_core::fold;
use inferometer_core::plan::CellPlan;
use inferometer_core::summary::{Cell, PassSummary};

/// The passes so far, by cell, in the order in which cells were first met.
#[derive(Default)]
pub struct Grid(Vec<(CellPlan, Vec<PassSummary>)>);

impl Grid {
    /// Adds a pass.
    pub fn add(&mut self, cell: CellPlan, pass: PassSummary) {
        match self.0.iter_mut().find(|(known, _)| *known == cell) {
            Some((_, passes)) => passes.push(pass),
            None => self.0.push((cell, vec![pass])),
        }
    }

    /// The passes of a cell so far.
    pub fn passes_of(&self, cell: CellPlan) -> &[PassSummary] {
        self.0.iter().find(|(known, _)| *known == cell).map_or(&[], |(_, passes)| passes)
    }

    /// The cells with their figures.
    pub fn cells(&self) -> Vec<Cell> {
        let cell = |(cell, passes): &(CellPlan, Vec<PassSummary>)| {
            fold::cell(cell.input_length, cell.output_length, passes.clone())
        };
        self.0.iter().map(cell).collect()
    }
}
