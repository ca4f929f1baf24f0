//! Groups the passes of a run, and the trials of a search or a sweep, by the cells of the grid.

use inferometer_analysis::trials::{TrialResult, Trials};
use inferometer_analysis::{
    Cell, PassSummary, SearchAnswer, SweepAnswer, ab::Block, cell, refusal::are_all_refused,
    sweep::SweepEnding,
};
use inferometer_model::{CellPlan, record::Skipped};
use inferometer_plan::Plan;
use inferometer_report::Traces;

use crate::recording::pass_figures::PassResult;

/// The passes so far, by cell. Cells are in the order in which they first occurred.
#[derive(Default)]
pub struct Grid {
    cells: Vec<CellResults>,
    /// The blocks of a comparison, in the order in which they were measured.
    pub blocks: Vec<Block>,
    /// Data for the charts of single requests.
    pub traces: Traces,
    /// How the trials of cells ended, for cells whose ending is read from stored results.
    endings: Vec<(CellPlan, SweepEnding)>,
    /// The messages of streams that were skipped, over all passes.
    pub skipped: Skipped,
}

struct CellResults {
    cell: CellPlan,
    passes: Vec<PassSummary>,
    trials: Vec<TrialResult>,
    /// Why the server rejected requests, from the first pass with a rejected request.
    rejection: Option<String>,
}

impl Grid {
    /// Adds the result of a pass.
    pub fn add(&mut self, cell: CellPlan, recorded: PassResult) {
        let known = self.cells.iter().position(|known| known.cell == cell);
        let known = known.unwrap_or_else(|| {
            let (passes, trials) = (Vec::new(), Vec::new());
            self.cells.push(CellResults { cell, passes, trials, rejection: None });
            self.cells.len() - 1
        });
        let known = &mut self.cells[known];
        known.passes.push(recorded.summary);
        known.trials.extend(recorded.trial);
        known.rejection = known.rejection.take().or(recorded.rejection);
        self.blocks.extend(recorded.block);
        self.traces.0.extend(recorded.trace);
        self.skipped.add_all(&recorded.skipped);
    }

    /// Ends the trials of a cell. If the results so far require further trials, the time limit has ended the trials.
    pub fn end_trials(&mut self, cell: CellPlan, plan: &Plan) {
        if self.trials_go_on(cell, plan) {
            self.time_is_over(cell);
        }
    }

    /// Whether the results so far require further trials of a cell in the plan's search or sweep.
    pub fn trials_go_on(&self, cell: CellPlan, plan: &Plan) -> bool {
        let passes = plan.passes_of(cell);
        let next = |of_plan| self.procedure_of(cell, plan)?.next(of_plan);
        self.endings.iter().all(|(known, _)| *known != cell)
            && passes.first().and_then(next).is_some()
    }

    /// Notes that the time limit has ended the trials of a cell.
    pub fn time_is_over(&mut self, cell: CellPlan) {
        if let Some(known) = self.cells.iter_mut().find(|known| known.cell == cell) {
            known.trials.push(TrialResult::OutOfTime(None));
        }
    }

    /// Notes how the search or the sweep of a cell ended, from stored results.
    pub fn trials_have_ended(&mut self, cell: CellPlan, ending: SweepEnding) {
        match ending {
            SweepEnding::TimeSpent => self.time_is_over(cell),
            _ => self.endings.push((cell, ending)),
        }
    }

    /// The passes of a cell so far.
    pub fn passes_of(&self, cell: CellPlan) -> &[PassSummary] {
        self.cells.iter().find(|known| known.cell == cell).map_or(&[], |known| &known.passes)
    }

    /// The trials of a cell so far, in the order in which they were made.
    pub fn trials_of(&self, cell: CellPlan) -> &[TrialResult] {
        self.cells.iter().find(|known| known.cell == cell).map_or(&[], |known| &known.trials)
    }

    /// Why the server refused every request of a cell: the HTTP status and the first error text of the server. Skipped
    /// and cancelled requests are ignored. `None` if a request had another outcome, or if no request was refused.
    pub fn refusal(&self, cell: CellPlan) -> Option<String> {
        let known = self.cells.iter().find(|known| known.cell == cell)?;
        known.rejection.clone().filter(|_| are_all_refused(&known.passes))
    }

    /// The first refusal of a cell, if it is one of a client that sends too many (HTTP status 429), with the error text
    /// of the server.
    pub fn rate_limit(&self, cell: CellPlan) -> Option<&str> {
        let rejection = self.cells.iter().find(|known| known.cell == cell)?.rejection.as_deref();
        rejection.filter(|told| told.starts_with("HTTP status 429"))
    }

    /// The state of the plan's search or sweep after the trials of a cell so far; `None` if the plan has neither.
    pub fn procedure_of(&self, cell: CellPlan, plan: &Plan) -> Option<Trials> {
        match self.cells.iter().find(|known| known.cell == cell) {
            Some(known) => known.trials_of(plan),
            None => Trials::of(plan),
        }
    }

    /// The cells with their figures.
    pub fn cells(&self) -> Vec<Cell> {
        let cell = |CellResults { cell, passes, .. }: &CellResults| {
            cell::cell(cell.input_length, cell.output_length, passes.clone())
        };
        self.cells.iter().map(cell).collect()
    }

    /// The answers of a plan's search, cell by cell and tier by tier; empty for a plan without a search.
    pub fn searches(&self, plan: &Plan) -> Vec<SearchAnswer> {
        let of = |known: &CellResults| match known.trials_of(plan) {
            Some(Trials::Search(found)) => SearchAnswer::of_search(known.cell, &found),
            _ => Vec::new(),
        };
        self.cells.iter().flat_map(of).collect()
    }

    /// The answers of a plan's sweep, cell by cell; empty for a plan without a sweep.
    pub fn sweeps(&self, plan: &Plan) -> Vec<SweepAnswer> {
        let of = |known: &CellResults| match known.trials_of(plan) {
            Some(Trials::Sweep(found)) => {
                let mut answer = SweepAnswer::of_sweep(known.cell, &found, known.cards_of(plan));
                let ending = self.endings.iter().find(|(cell, _)| *cell == known.cell);
                ending.iter().for_each(|(_, ending)| answer.set_ending(*ending));
                Some(answer)
            }
            _ => None,
        };
        self.cells.iter().filter_map(of).collect()
    }

    /// The largest number of cards that were observed in a pass of a cell; `None` if the plan does not name the
    /// server's cards, or if no cards were observed.
    pub fn cards_of(&self, cell: CellPlan, plan: &Plan) -> Option<u32> {
        let known = self.cells.iter().find(|known| known.cell == cell);
        known.and_then(|known| known.cards_of(plan))
    }
}

impl CellResults {
    /// The state of the plan's search or sweep after the trials of this cell; `None` if the plan has neither.
    fn trials_of(&self, plan: &Plan) -> Option<Trials> {
        let mut trials = Trials::of(plan)?;
        self.trials.iter().for_each(|tried| trials.add_trial(tried));
        Some(trials)
    }

    /// See [`Grid::cards_of`]. Cards that the plan does not name may belong to another server, or be idle.
    fn cards_of(&self, plan: &Plan) -> Option<u32> {
        plan.observe.cards.as_ref()?;
        let seen = self.passes.iter().filter_map(|pass| pass.hardware.as_ref());
        seen.map(|hardware| hardware.cards.len() as u32).max()
    }
}

#[cfg(test)]
mod tests {
    use inferometer_analysis::fold::PassFold;
    use inferometer_model::fixture::steady;
    use inferometer_model::load::PassPlan;
    use inferometer_model::metrics::Timeline;
    use inferometer_model::outcome::Outcome;
    use inferometer_model::record::Record;

    use super::*;

    #[test]
    fn a_cell_is_refused_if_its_passes_have_only_rejections_even_if_the_first_pass_has_none() {
        let cell = CellPlan { input_length: 64, output_length: 16 };
        let pass = |outcome: Outcome| {
            let mut fold = PassFold::new(&PassPlan::saturated(1));
            fold.add(&Timeline::new(&Record { outcome, ..steady(0.0, 40.0, 10.0, 4) }));
            PassResult {
                summary: fold.finish(),
                findings: Vec::new(),
                rejection: match outcome {
                    Outcome::Rejected { status } => {
                        Some(format!("HTTP status {status}: 4290 tokens"))
                    }
                    _ => None,
                },
                skipped: Skipped::default(),
                trial: None,
                block: None,
                trace: None,
            }
        };
        let refusal = |outcomes: &[Outcome]| {
            let mut grid = Grid::default();
            outcomes.iter().for_each(|&outcome| grid.add(cell, pass(outcome)));
            grid.refusal(cell)
        };
        let rejected = Outcome::Rejected { status: 400 };
        let text = Some("HTTP status 400: 4290 tokens".to_owned());
        assert_eq!(refusal(&[Outcome::Skipped, rejected]), text);
        assert_eq!(refusal(&[Outcome::Complete, rejected]), None);
        assert_eq!(refusal(&[rejected, Outcome::Complete]), None);
        assert_eq!(refusal(&[]), None);
        for (status, is_limit) in [(400, false), (429, true)] {
            let mut grid = Grid::default();
            grid.add(cell, pass(Outcome::Rejected { status }));
            assert_eq!(grid.rate_limit(cell).is_some(), is_limit, "{status}");
        }
    }
}
