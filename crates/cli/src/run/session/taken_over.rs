//! Cells that an earlier run has measured: their records become those of this run. Never sends.

use inferometer_load::PassPlan;
use inferometer_model::cell::CellPlan;
use inferometer_store::{Ending, PassBegin};

use super::Session;
use crate::exit::Failure;
use crate::run::prompts;
use crate::run::recording::Counter;
use crate::run::resume::{Kept, replayed};

impl Session<'_> {
    /// Takes a cell over, if an earlier run has it. Its prompts are passed over, so that those of
    /// later cells, and the identity of the workload, are those of a run without a break.
    pub(super) fn take_over(&mut self, cell: CellPlan) -> Result<bool, Failure> {
        let resolved = self.resolved;
        let Some((_, passes)) = resolved.kept.iter().find(|(kept, _)| *kept == cell) else {
            return Ok(false);
        };
        if let Some(bound) = resolved.plan.warmup.bound() {
            self.places.next(cell, "warm-up", 1, &PassPlan::OneByOne { bound });
        }
        for kept in passes {
            self.take_over_pass(kept)?;
        }
        self.outputs.write_figures(&self.summary(), &self.recording.run)?;
        Ok(true)
    }

    fn take_over_pass(&mut self, kept: &Kept) -> Result<(), Failure> {
        let plan = &self.resolved.plan;
        let PassBegin { cell, plan: pass, repeat, .. } = kept.begin.clone();
        let label = format!("{cell}, {pass}, taken over");
        let place = self.places.next(cell, &pass.prompt_label(), repeat, &pass);
        let begin = PassBegin { pass: self.pass_number, cell, plan: pass, repeat };
        prompts::supply(&self.prompts, plan, &begin, &place, &mut self.identity)?;
        // What was counted is in the records; texts are not.
        let counter = std::mem::replace(&mut self.recording.counter, Counter::None);
        let records = replayed(kept.records.clone(), self.pass_number);
        let process = kept.process;
        let observed = kept.observed.clone();
        let ending = || (Ending::Complete, process, observed);
        let (recorded, error) = self.recording.pass(plan, &begin, &records, ending, || {});
        self.recording.counter = counter;
        if let Some(error) = error {
            return Err(Failure::not_carried_out(format!("{label}: {error}")));
        }
        self.bodies_are_known = false;
        self.recording.board.take_over_pass();
        self.completed += 1;
        self.note(cell, &label, recorded);
        Ok(())
    }
}
