//! A cell that an earlier run has measured, at least in part.

use inferometer_analysis::{Summary, search::SearchEnding, sweep::SweepEnding};
use inferometer_model::CellPlan;
use inferometer_store::LoggedPass;

/// A cell of an earlier run. Its passes are not measured again.
#[derive(Clone, Debug)]
pub struct ResumedCell {
    /// The cell.
    pub cell: CellPlan,
    /// Its passes, in the order in which they were measured.
    pub passes: Vec<LoggedPass>,
    /// How its search or sweep ended, if the stored results of the run show this: see `stored_ending`.
    pub ending: Option<SweepEnding>,
}

impl ResumedCell {
    /// Whether this pass, by its number in the earlier run, is one of the passes.
    pub(crate) fn has(&self, pass: u32) -> bool {
        self.passes.iter().any(|known| known.begin.pass == pass)
    }
}

/// How the search or the sweep of a cell ended, from the stored results of a run. The stored results are needed because
/// the records do not show that a cell was ended between two trials by the time limit, or by the rules of an earlier
/// version of this program. For a search, only an end by the time limit is returned.
pub fn stored_ending(stored: &Summary, cell: CellPlan) -> Option<SweepEnding> {
    let mut searches = stored.searches.iter().filter(|answer| answer.cell() == cell);
    if searches.any(|answer| answer.outcome == SearchEnding::TimeSpent) {
        return Some(SweepEnding::TimeSpent);
    }
    let sweep = stored.sweeps.iter().find(|answer| answer.cell() == cell);
    sweep.map(|answer| answer.outcome).filter(|ending| *ending != SweepEnding::Unfinished)
}
