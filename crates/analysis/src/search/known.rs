//! Joins the results of all trials at one load. This module does not decide which load is tried next.

use super::evidence::{Claim, CriterionEstimate, Measure};
use super::overwhelmed::Overwhelmed;
use super::trial::{Saturation, Trial};
use inferometer_plan::search::Criterion;

/// The joint results of the trials at one load.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// The load: requests per second, or requests in flight.
    pub load: f64,
    /// The number of trials at this load.
    pub trials: u32,
    /// The number of requests of these trials.
    pub requests: u64,
    /// The number of these that count.
    pub counted: u64,
    /// For each tier, the evidence that the load is far beyond the edge of the tier: a criterion that too many requests
    /// missed. The evidence comes from the latest trial that has such evidence for every tier. Empty if there is no
    /// such trial.
    pub overwhelmed: Vec<Overwhelmed>,
    /// Whether a trial was long enough to reach the steady state of the load. If not, the load cannot count as meeting
    /// the criteria.
    pub is_settled: bool,
    /// Whether streams of a trial arrived in bundles, so that objectives on times between tokens cannot be judged.
    pub lacks_gaps: bool,
    /// Whether requests of equal length started together in a trial.
    pub starts_together: bool,
    /// The growth of the queue in the last trial. Absent if requests ended about as fast as they arrived, if the trial
    /// was too short to show a growth, or if it was cut off.
    pub saturation: Option<Saturation>,
    /// Whether the load is above the capacity of the server, so that it has no steady state.
    pub is_above_capacity: bool,
    /// The estimate for each criterion, in the order of the criteria.
    pub measured: Vec<CriterionEstimate>,
}

impl Load {
    /// Joins the trials at one load. There must be at least one trial. `capacity` is the upper end of the interval of
    /// the capacity, infinite if the capacity is unknown.
    pub(super) fn of(
        criteria: &[Criterion],
        trials: &[&Trial],
        capacity: f64,
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
            counted: trials.iter().map(|trial| trial.counted).sum(),
            overwhelmed: trials
                .iter()
                .rev()
                .find_map(|trial| overwhelmed(trial))
                .unwrap_or_default(),
            is_settled: trials.iter().any(|trial| trial.is_settled),
            lacks_gaps: trials.iter().any(|trial| trial.lacks_gaps),
            starts_together: trials.iter().any(|trial| trial.starts_together),
            saturation: trials.last().and_then(|trial| trial.saturation),
            is_above_capacity: trials[0].load > capacity,
            measured: measured.collect(),
        }
    }

    /// Whether the trials at this load, without those at other loads, show that the criteria of a tier are met or
    /// missed.
    pub fn claim(&self, tier: &[usize]) -> Claim {
        let claims = || tier.iter().map(|&index| self.measured[index].claim);
        if !self.overwhelmed.is_empty()
            || self.saturation.is_some()
            || claims().any(|claim| claim == Claim::NotMet)
        {
            Claim::NotMet
        } else if self.is_settled
            && !self.is_above_capacity
            && claims().all(|claim| claim == Claim::Met)
        {
            Claim::Met
        } else {
            Claim::Open
        }
    }
}
