//! Passes that an earlier run has measured: their records become records of this run. None of their requests is sent
//! again.

use inferometer_analysis::PassSummary;
use inferometer_cluster::Order;
use inferometer_model::{CellPlan, Finding, PassPlan, Record, code};
use inferometer_store::{LoggedPass, PassBegin};

use super::Session;
use crate::{Network, RunError, prompts};

impl<N: Network> Session<'_, N> {
    /// Copies the trials of a cell that an earlier run has measured. The cursor moves past their prompts, so that later
    /// prompts and the hash of the workload are the same as in an uninterrupted run.
    pub(super) fn resume_trials(&mut self, cell: CellPlan) -> Result<(), RunError> {
        let context = self.request.context;
        let Some(resumed) = context.resumed.iter().find(|known| known.cell == cell) else {
            return Ok(());
        };
        for pass in &resumed.passes {
            self.resume_pass(pass)?;
        }
        resumed.ending.iter().for_each(|ending| self.grid.trials_have_ended(cell, *ending));
        self.note_time_before(cell);
        Ok(())
    }

    /// Copies a pass if an earlier run has measured it. Returns whether it has.
    pub(super) fn resume_repeat(
        &mut self,
        cell: CellPlan,
        repeat: u32,
        pass: &PassPlan,
    ) -> Result<bool, RunError> {
        let of_cell = self.request.context.resumed.iter().filter(|known| known.cell == cell);
        let is_same = |known: &&LoggedPass| {
            known.begin.repeat == repeat && known.begin.plan.to_string() == pass.to_string()
        };
        match of_cell.flat_map(|known| &known.passes).find(is_same) {
            Some(known) => self.resume_pass(known).map(|()| true),
            None => Ok(false),
        }
    }

    fn resume_pass(&mut self, pass: &LoggedPass) -> Result<(), RunError> {
        let plan = self.request.plan;
        let begin = PassBegin { pass: self.pass_number, ..pass.begin.clone() };
        let cell = begin.cell;
        let label = format!("{cell}, {}, copied", begin.plan);
        self.tell_ranks(Order::TakenOver { begin: begin.clone() });
        let name = begin.plan.prompt_label();
        let place = self.cursor.next(cell, &name, begin.repeat, &begin.plan);
        let hasher = self.workload_hash.hasher();
        let made = prompts::supply(&self.prompts, plan, &begin, &place, &mut self.workload_hash);
        // The requests are needed only for the hash. The records are copied even if no requests were made.
        if self.unless_interrupted(made)?.is_none() {
            self.workload_hash.reset(hasher);
        }
        // Records contain the token counts, but not the texts.
        let of_pass = |record: Record| Record { pass: begin.pass, ..record };
        let records = pass.records.iter().cloned().map(of_pass);
        let beside = (pass.end.and_then(|end| end.process), pass.observed.clone());
        let (result, error) = self.recording.add_stored_pass(plan, &begin, records, beside);
        if let Some(error) = error {
            return Err(RunError::OfServer { name: label, source: Box::new(error.into()) });
        }
        self.bodies_are_known = false;
        self.completed += 1;
        self.find_sent_before(&begin, &result.summary);
        self.add_result(cell, &label, result, true);
        Ok(())
    }

    /// Adds a finding if an interrupted run had already sent prompts of a pass, unless the server's prefix cache is
    /// reset before each pass.
    pub(super) fn find_sent_before(&mut self, begin: &PassBegin, pass: &PassSummary) {
        let is_reset = self.request.plan.reset_prefix_cache
            && !self.findings.iter().any(|finding| finding.is(code::PREFIX_CACHE_NOT_RESET));
        let sent = self.sent_before.iter().find(|sent| !is_reset && sent.has_prompts_of(begin));
        let Some(sent) = sent else { return };
        let message = format!(
            "run {}, which was interrupted and resumed, had already sent {} of the prompts of this \
                pass",
            sent.run, sent.requests
        );
        let place = format!("{}, {}", begin.cell, pass.label());
        self.found(Finding::of(code::PROMPTS_SENT_BEFORE, message).at(place));
    }
}
