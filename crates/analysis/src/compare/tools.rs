//! The tool that measured results, and the lengths that it counted.

use inferometer_model::CellPlan;

use crate::{Imported, Summary};

/// The name of this program as a tool.
const OURS: &str = "Inferometer";

/// The tool that measured the results.
pub(super) fn of_run(summary: &Summary) -> String {
    let other = summary.imported.as_ref().filter(|imported| !imported.is_ours());
    other.map_or(OURS, |imported: &Imported| &imported.format).to_owned()
}

/// The mean of the counted input and output tokens of the completed requests of each cell.
pub(super) fn counted(summary: &Summary) -> Vec<(CellPlan, [f64; 2])> {
    let of_cell = |cell: &crate::cell::Cell| {
        let passes = || cell.passes.iter();
        let complete: u64 = passes().map(|pass| pass.outcomes.complete).sum();
        let input = passes().map(|pass| pass.input_tokens).sum::<Option<u64>>()?;
        let output: u64 = passes().map(|pass| pass.output_tokens).sum();
        let mean = |tokens: u64| tokens as f64 / complete as f64;
        (complete > 0).then(|| (cell.plan(), [mean(input), mean(output)]))
    };
    summary.cells.iter().filter_map(of_cell).collect()
}
