//! The trials of a search or a sweep, one pass each, until the procedure has its answer. This module does not choose
//! the loads: [`inferometer_analysis::search`] and [`inferometer_analysis::sweep`] do.

use std::time::Duration;

use inferometer_analysis::trials::{TrialResult, Trials};
use inferometer_analysis::{SearchAnswer, SweepAnswer, search::Trial};
use inferometer_model::{CellPlan, Code, Finding, Nanos, Severity, code};
use inferometer_report::progress::{Notice, SearchTrial, SweepTrial};

use super::{Session, prepare::overhead};
use crate::{Network, RunError};

/// The maximum number of short requests between two trials.
const MOST_PROBES: u32 = 30;
/// A server is idle again when a short request takes more than this share of the time of the previous short
/// request.
const SETTLED: f64 = 0.8;
/// How long to wait after a short request that did not complete, before the next short request.
const BETWEEN_REFUSALS: Duration = Duration::from_secs(1);

/// What the trial of a search showed that the time limit ended, and that is not used.
fn out_of_time(number: u32, trial: &Trial) -> String {
    let Trial { load, requests, planned, completed, missed, .. } = trial;
    let missed = match missed.iter().max() {
        None | Some(0) => "none of them certainly missed an objective".to_owned(),
        Some(missed) => format!("at least {missed} missed an objective"),
    };
    format!(
        "--max-time ended trial {number} at a load of {load} after {completed} of {planned} requests \
            ({requests} sent; {missed}): these are too few to show on which side of the limit this load \
            is, so the trial is discarded"
    )
}

impl<N: Network> Session<'_, N> {
    /// Runs the trials of a cell, and sends a message with its answers.
    pub(super) fn trials(&mut self, cell: CellPlan) -> Result<(), RunError> {
        let of_plan = self.request.plan.passes_of(cell);
        let Some(of_plan) = of_plan.first() else { return Ok(()) };
        let Some(mut trials) = self.grid.procedure_of(cell, self.request.plan) else {
            return Ok(());
        };
        // In a resumed cell, an interrupted trial may already have sent the prompts of the next number, so
        // this number is skipped.
        let mut number = self.last_number(cell) + u32::from(trials.count() > 0);
        loop {
            self.note_time(&mut trials);
            let Some(pass) = trials.next(of_plan) else { break };
            if self.is_stopped() {
                return Ok(());
            }
            self.rest()?;
            let before = self.grid.trials_of(cell).len();
            number += 1;
            self.pass(cell, number, &pass)?;
            if self.server_died(cell, &pass).is_some() || self.is_stopped() {
                return Ok(());
            }
            let Some(tried) = self.grid.trials_of(cell).get(before) else { return Ok(()) };
            let (count, was_cut_off) = (trials.count(), tried.was_cut_off());
            trials.add_trial(tried);
            if let TrialResult::OutOfTime(part) = tried {
                let (used, over, lost) = match part.as_deref() {
                    Some(TrialResult::Sweep(part)) => (Some(part.completed), Some(part.by), None),
                    Some(TrialResult::Search(part)) if trials.count() == count => {
                        (None, None, Some(out_of_time(number, part)))
                    }
                    Some(TrialResult::Search(part)) => (Some(part.completed), None, None),
                    Some(TrialResult::OutOfTime(_)) | None => (None, None, None),
                };
                self.request.events.say(&Notice::TrialOutOfTime { used, over });
                if let Some(message) = lost {
                    let finding = Finding::of(code::SEARCH_TRIAL_LOST, message);
                    self.found(finding.severity(Severity::Note).at(cell.to_string()));
                }
            } else if trials.count() > count {
                self.note_time(&mut trials);
                Self::of_trial(&trials).iter().for_each(|trial| self.request.events.say(trial));
            } else if self.discard_incomplete(cell, number) {
                return Ok(());
            }
            if was_cut_off {
                self.settle(cell, number)?;
            }
        }
        self.grid.end_trials(cell, self.request.plan);
        for answer in self.answers(cell, &trials) {
            self.request.events.say(&answer);
        }
        Ok(())
    }

    /// The instant at which the trials of a cell must end. The time starts before the warm-up. In a resumed cell, the
    /// time that the trials took in earlier runs is subtracted.
    pub(super) fn time_limit(&self, cell: CellPlan) -> Option<Nanos> {
        let most = self.request.plan.procedure.max_time()?;
        Some(self.runner.net.now() + most.saturating_sub(self.time_before(cell)))
    }

    /// The time that the trials of a cell took in earlier runs: all passes of the cell, and the pauses between them.
    /// The time between two runs is not included.
    fn time_before(&self, cell: CellPlan) -> Duration {
        let passes = self.grid.passes_of(cell);
        let taken_s: f64 = passes.iter().filter_map(|pass| pass.duration_s).sum();
        let pause = self.request.plan.cooldown.unwrap_or_default();
        let pauses = pause.saturating_mul((passes.len() as u32).saturating_sub(1));
        Duration::try_from_secs_f64(taken_s).unwrap_or(Duration::MAX).saturating_add(pauses)
    }

    /// Ends the trials of a resumed cell if the trials of earlier runs have used the whole time limit.
    pub(super) fn note_time_before(&mut self, cell: CellPlan) {
        let plan = self.request.plan;
        let Some(mut trials) = self.grid.procedure_of(cell, plan) else { return };
        let passes = plan.passes_of(cell);
        let Some(of_plan) = passes.first().filter(|_| trials.count() > 0) else { return };
        let pause = plan.cooldown.unwrap_or_default();
        trials.set_time(self.time_before(cell).saturating_add(pause));
        if trials.next(of_plan).is_none() {
            self.grid.end_trials(cell, plan);
        }
    }

    /// Sets how much of the time limit is used, including the pause before the next trial. Does nothing before the
    /// first trial: this trial always starts, so that the cell has a result.
    fn note_time(&self, trials: &mut Trials) {
        let plan = self.request.plan;
        if trials.count() == 0 {
            return;
        }
        let Some((most, left)) = plan.procedure.max_time().zip(self.runner.most_time()) else {
            return;
        };
        trials.set_time(most.saturating_sub(left) + plan.cooldown.unwrap_or_default());
    }

    /// The last trial.
    fn of_trial(trials: &Trials) -> Option<Notice> {
        Some(match trials {
            Trials::Search(search) => {
                Notice::SearchTrial { trial: Box::new(SearchTrial::last(search)?) }
            }
            Trials::Sweep(sweep) => {
                Notice::SweepTrial { trial: Box::new(SweepTrial::last(sweep)?) }
            }
        })
    }

    /// The answers from the trials of a cell.
    fn answers(&self, cell: CellPlan, trials: &Trials) -> Vec<Notice> {
        match trials {
            Trials::Search(search) => {
                let answers = SearchAnswer::of_search(cell, search).into_iter().map(Box::new);
                answers.map(|answer| Notice::SearchAnswer { answer }).collect()
            }
            Trials::Sweep(sweep) => {
                let cards = self.grid.cards_of(cell, self.request.plan);
                let answer = Box::new(SweepAnswer::of_sweep(cell, sweep, cards));
                vec![Notice::SweepAnswer { answer }]
            }
        }
    }

    /// Discards a trial that has no valid result. If a search ended the trial early because its load seemed far too
    /// high, but its records do not confirm this, later trials are not ended early. If the trial is incomplete for
    /// another reason, a repetition would be incomplete too. Returns whether the trials of the cell must end.
    fn discard_incomplete(&mut self, cell: CellPlan, trial: u32) -> bool {
        let of_search = self.request.plan.procedure.search().is_some();
        let was_cut_off = std::mem::take(&mut self.runner.cut_off) && of_search;
        let (code, message) = if was_cut_off {
            let message = format!(
                "trial {trial} was ended early, but its records do not confirm its result (possible \
                    if outputs are counted after the pass): this trial is discarded, and no \
                    later trial is ended early"
            );
            (code::SEARCH_TRIAL_LOST, message)
        } else {
            let message = format!(
                "trial {trial} has requests that were not sent, or have no record: this trial \
                    is discarded, and there are no further trials of this cell"
            );
            let code = if of_search { code::SEARCH_TRIAL_LOST } else { code::SWEEP_TRIAL_LOST };
            (code, message)
        };
        self.warn(code, cell, message);
        !was_cut_off
    }

    /// Waits until a server has finished the remaining work of a trial that was ended early. Some servers continue
    /// to generate after the client disconnects, and requests of the next trial would wait in the queue. The server is
    /// idle again when a short request takes more than the share [`SETTLED`] of the time of the previous short request.
    fn settle(&mut self, cell: CellPlan, trial: u32) -> Result<(), RunError> {
        let mut before: Option<Duration> = None;
        for probe in 0..MOST_PROBES {
            if self.is_stopped() || self.runner.is_late() {
                return Ok(());
            }
            let name = format!("after trial {trial}, {probe}");
            let plan = self.request.plan;
            let took = overhead::latency(&mut self.runner, plan, &self.prompts, &name);
            let Some(took) = self.unless_interrupted(took)? else { return Ok(()) };
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
            "after trial {trial} was ended early, {MOST_PROBES} short requests failed or were each \
                much faster than the previous one, so the server may still be busy: requests of \
                the next trial may wait until the server has finished the requests of this trial"
        );
        self.warn(code::SEARCH_NOT_SETTLED, cell, message);
        Ok(())
    }

    fn warn(&mut self, code: Code, cell: CellPlan, message: String) {
        let finding = Finding::of(code, message);
        self.request.events.say(&Notice::Finding { finding: Box::new(finding.clone()) });
        self.found(finding.at(cell.to_string()));
    }

    /// The largest trial number so far. The number of a trial determines its arrivals and prompts.
    fn last_number(&self, cell: CellPlan) -> u32 {
        self.grid.passes_of(cell).iter().map(|pass| pass.repeat).max().unwrap_or(0)
    }
}
