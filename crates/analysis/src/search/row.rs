//! A row of a trial.

use crate::stay::{HasStay, Stay};
use inferometer_model::metrics::Fate;
use inferometer_plan::search::CriterionResult;

/// A request, or a job. Its index is that of the request, or the number of the job.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) index: u32,
    pub(super) job: u32,
    pub(super) fate: Fate,
    pub(super) stay: Stay,
    pub(super) output_tokens: u32,
    pub(super) judged: Vec<CriterionResult>,
}

impl HasStay for Row {
    fn stay(&self) -> Stay {
        self.stay
    }
}
