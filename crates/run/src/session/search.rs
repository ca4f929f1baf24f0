//! The trials of a search, one pass each, until the procedure has its answer. Decides nothing
//! itself: that is [`inferometer_analysis::search`].

use std::time::Duration;

use inferometer_analysis::search::{NextTrial, Search, SearchAnswer};
use inferometer_model::cell::CellPlan;
use inferometer_model::finding::{Code, Finding, code};
use inferometer_plan::search::SearchPlan;

use super::Session;
use crate::error::RunError;
use crate::network::Network;
use crate::{overhead, search_text};

/// The most short requests between two trials, of which each waits for what is before it.
const MOST_PROBES: u32 = 30;
/// A server has settled when a request takes more than this share of the time of the one before.
const SETTLED: f64 = 0.8;
/// How long to wait where one is refused.
const BETWEEN_REFUSALS: Duration = Duration::from_secs(1);

impl<N: Network> Session<'_, N> {
    /// Looks for the highest load of a cell.
    pub(super) fn search(&mut self, cell: CellPlan, plan: &SearchPlan) -> Result<(), RunError> {
        let of_plan = self.request.plan.passes_of(cell);
        let Some(of_plan) = of_plan.first() else { return Ok(()) };
        let mut search = self.so_far(cell, plan);
        // The trial that an interruption cut off has sent prompts already, under the next number.
        let mut number = self.last_number(cell) + u32::from(search.trials() > 0);
        while let Some(asked) = search.next() {
            if self.is_stopped() {
                return Ok(());
            }
            self.rest()?;
            let pass = inferometer_analysis::search::trial_pass(of_plan, asked);
            let before = self.grid.trials_of(cell).len();
            number += 1;
            self.pass(cell, number, &pass)?;
            if self.server_died(cell, &pass) || self.is_stopped() {
                return Ok(());
            }
            let Some(trial) = self.grid.trials_of(cell).get(before) else { return Ok(()) };
            let (trials, was_cut_off) = (search.trials(), trial.cut_off > 0);
            search.tell(trial.clone());
            if search.trials() > trials {
                self.request.events.say(&search_text::trial(plan, &search));
            } else if self.wait_from_now_on(cell, number) {
                return Ok(());
            }
            if was_cut_off {
                self.settle(cell, number)?;
            }
        }
        for answer in SearchAnswer::of_search(plan, cell, &search) {
            self.request.events.say(&format!("  {cell}: {}", answer.answer));
        }
        Ok(())
    }

    /// A trial that was cut off because its load seemed far beyond the edge, which its records do not bear out, is none; the others are
    /// played to their ends. Says whether the search is over: what would be asked for is the same trial
    /// again, and one that is incomplete for another reason would be so again.
    fn wait_from_now_on(&mut self, cell: CellPlan, trial: u32) -> bool {
        let is_first = std::mem::take(&mut self.runner.cut_off);
        let message = if is_first {
            format!(
                "trial {trial} was cut off for a claim that its records do not bear out, as where \
                 outputs are counted after the pass: it counts for nothing, and no other trial is cut \
                 off"
            )
        } else {
            format!(
                "trial {trial} has requests that were not sent, or have no record: it counts for \
                 nothing, and the search of this cell ends with it"
            )
        };
        self.warn(code::SEARCH_TRIAL_LOST, cell, message);
        !is_first
    }

    /// Waits until a server works off what a trial that was cut off has left: not every one stops when
    /// its client is gone, and the next trial would stand in that queue. It is idle again when a short
    /// request no longer takes less than the one before it.
    fn settle(&mut self, cell: CellPlan, trial: u32) -> Result<(), RunError> {
        let mut before: Option<Duration> = None;
        for probe in 0..MOST_PROBES {
            if self.is_stopped() {
                return Ok(());
            }
            let name = format!("after trial {trial}, {probe}");
            let plan = self.request.plan;
            let took = overhead::latency(&mut self.runner, plan, &self.prompts, &name)?;
            match (took, before) {
                (Some(took), Some(before)) if took > before.mul_f64(SETTLED) => return Ok(()),
                (Some(took), _) => before = Some(took),
                (None, _) => {
                    let rested = self.runner.rest(BETWEEN_REFUSALS);
                    rested.map_err(RunError::Sockets)?;
                }
            }
        }
        let message = format!(
            "after trial {trial} was cut off, {MOST_PROBES} short requests were still refused, or each \
             was faster than the one before: the next trial may stand in the queue that this one left"
        );
        self.warn(code::SEARCH_NOT_SETTLED, cell, message);
        Ok(())
    }

    fn warn(&mut self, code: Code, cell: CellPlan, message: String) {
        self.request.events.say(&format!("warning: {message}"));
        let finding = Finding::of(code, message);
        self.found(finding.at(cell.to_string()));
    }

    /// Whether a cell that was resumed has trials left to make.
    pub(super) fn search_goes_on(&self, cell: CellPlan) -> bool {
        let next = |plan: &SearchPlan| -> Option<NextTrial> { self.so_far(cell, plan).next() };
        self.request.plan.search.as_ref().and_then(next).is_some()
    }

    /// The largest number of a trial so far: it makes the trial's arrivals and prompts.
    fn last_number(&self, cell: CellPlan) -> u32 {
        self.grid.passes_of(cell).iter().map(|pass| pass.repeat).max().unwrap_or(0)
    }

    fn so_far(&self, cell: CellPlan, plan: &SearchPlan) -> Search {
        let mut search = Search::new(inferometer_analysis::search::settings(plan));
        self.grid.trials_of(cell).iter().for_each(|trial| search.tell(trial.clone()));
        search
    }
}
