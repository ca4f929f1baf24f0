//! What is known about one load from all its trials. Never decides which load is tried next.

use super::evidence::{Claim, CriterionEstimate, Measure};
use super::overwhelmed::Overwhelmed;
use super::trial::{Saturation, Trial};
use inferometer_plan::search::Criterion;

/// Everything that is known about one load.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Requests per second, or in flight.
    pub load: f64,
    /// How often it was tried.
    pub trials: u32,
    /// Requests of all its trials.
    pub requests: u64,
    /// For each tier, the criterion that so many requests missed that the load is far beyond its edge, by
    /// the last trial that showed it; empty if none did.
    pub overwhelmed: Vec<Overwhelmed>,
    /// Whether a trial was long enough to reach the steady state of the load. If not, the load cannot
    /// count as meeting anything.
    pub is_settled: bool,
    /// Whether streams of a trial came in bundles, so that objectives on times between tokens cannot be
    /// judged.
    pub lacks_gaps: bool,
    /// The saturation in its last trial.
    pub saturation: Option<Saturation>,
    /// The measured value of each criterion, in their order.
    pub measured: Vec<CriterionEstimate>,
}

impl Load {
    /// What is known from the trials at one load; there must be at least one trial.
    pub(super) fn of(
        criteria: &[Criterion],
        trials: &[&Trial],
        overwhelmed: impl Fn(&Trial) -> Option<Vec<Overwhelmed>>,
    ) -> Self {
        let of = |index: usize| trials.iter().map(move |trial| trial.measured[index]);
        let measured = criteria.iter().enumerate().map(|(index, criterion)| {
            CriterionEstimate::pooled(criterion, &of(index).collect::<Vec<Measure>>())
        });
        Self {
            load: trials[0].load,
            trials: trials.len() as u32,
            requests: trials.iter().map(|trial| trial.requests).sum(),
            overwhelmed: trials
                .iter()
                .rev()
                .find_map(|trial| overwhelmed(trial))
                .unwrap_or_default(),
            is_settled: trials.iter().any(|trial| trial.is_settled),
            lacks_gaps: trials.iter().any(|trial| trial.lacks_gaps),
            saturation: trials.last().and_then(|trial| trial.saturation),
            measured: measured.collect(),
        }
    }

    /// The largest number of requests that count for any criterion.
    pub fn counted(&self) -> u64 {
        self.measured.iter().map(|measured| measured.counted).max().unwrap_or(0)
    }

    /// What this load alone shows about the criteria of a tier.
    pub fn claim(&self, tier: &[usize]) -> Claim {
        let claims = || tier.iter().map(|&index| self.measured[index].claim);
        if !self.overwhelmed.is_empty()
            || self.saturation.is_some()
            || claims().any(|claim| claim == Claim::NotMet)
        {
            Claim::NotMet
        } else if self.is_settled && claims().all(|claim| claim == Claim::Met) {
            Claim::Met
        } else {
            Claim::Open
        }
    }
}
