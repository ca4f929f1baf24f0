//! Requests that were alone on the server from their arrival to their end. The server does not serve requests better at
//! any load. So if these requests miss an objective, every load misses it.

use super::overwhelmed::as_many_or_more;
use inferometer_model::Nanos;
use inferometer_plan::search::{Criterion, CriterionResult};

/// The requests of a trial that were alone on the server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Alone {
    /// The number of these requests that completed.
    pub requests: u64,
    /// For each criterion, how many of the completed ones missed it.
    pub missed: Vec<u64>,
    /// The number of these requests that failed.
    pub failed: u64,
}

/// A request of a trial.
pub(super) struct Arrival<'a> {
    pub(super) due: Nanos,
    /// Absent if the request was still in flight at the end of the trial.
    pub(super) ended: Option<Nanos>,
    pub(super) is_complete: bool,
    pub(super) judged: &'a [CriterionResult],
}

impl Alone {
    /// Finds the requests that were alone. `arrivals` must be in the order of their due times. `criteria` is the number
    /// of criteria; each arrival has one result for each criterion.
    pub(super) fn of<'a>(
        criteria: usize,
        arrivals: impl Iterator<Item = Arrival<'a>> + Clone,
    ) -> Self {
        let mut alone = Self { requests: 0, missed: vec![0; criteria], failed: 0 };
        // The time at which all earlier requests have ended; absent after a request without an end.
        let mut idle_from = Some(Nanos::ZERO);
        let mut later = arrivals.clone().map(|arrival| arrival.due).skip(1);
        for arrival in arrivals {
            let next = later.next();
            let found_idle = idle_from.is_some_and(|idle| idle <= arrival.due);
            idle_from = idle_from.zip(arrival.ended).map(|(idle, ended)| idle.max(ended));
            // A later request that arrives before this request ends may slow the rest of the answer.
            let stayed_alone =
                arrival.ended.is_some_and(|ended| next.is_none_or(|next| next >= ended));
            if !(found_idle && stayed_alone) {
                continue;
            }
            if !arrival.is_complete {
                alone.failed += 1;
                continue;
            }
            alone.requests += 1;
            for (missed, judged) in alone.missed.iter_mut().zip(arrival.judged) {
                *missed += u64::from(!judged.met);
            }
        }
        alone
    }
}

/// A number of misses of requests that were alone counts as evidence if the probability of at least as many misses is
/// at most this value. The probability is computed for a load that just meets the objective.
const WRONG: f64 = 1e-4;
/// The fewest requests that must have been alone. A smaller number is not enough, because the first requests may be
/// slower: kernels are compiled, or a cache is filled.
const FEWEST: u64 = 8;

/// Whether none of the requests completed, not even those that were alone on the server. At least `FEWEST` requests
/// must have been alone. `completed` is the number of completed requests in all trials.
pub(super) fn shows_none_is_served<'a>(
    completed: u64,
    of_trials: impl Iterator<Item = &'a Alone>,
) -> bool {
    completed == 0 && of_trials.map(|alone| alone.failed).sum::<u64>() >= FEWEST
}

/// Whether requests that were alone missed a criterion of a tier so often that no load meets this criterion. Criteria
/// on a mean are not judged, because a few other requests may be far faster. `tier` has the indices of the criteria.
pub(super) fn shows_no_load_meets<'a>(
    criteria: &[Criterion],
    tier: &[usize],
    of_trials: impl Iterator<Item = &'a Alone> + Clone,
) -> bool {
    let requests: u64 = of_trials.clone().map(|alone| alone.requests).sum();
    let missed = |index: usize| of_trials.clone().map(|alone| alone.missed[index]).sum::<u64>();
    let is_certain = |&index: &usize| {
        criteria[index].needed().is_some_and(|needed| {
            as_many_or_more(missed(index) as f64, requests as f64, 1.0 - needed) <= WRONG
        })
    };
    requests >= FEWEST && tier.iter().any(is_certain)
}
