//! Requests that were alone on the server from their arrival to their end. No load serves requests better. So if these
//! requests miss an objective, every load misses it.

use super::overwhelmed::as_many_or_more;
use inferometer_model::time::Nanos;
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
    /// Finds these requests. `arrivals` are in the order of their due times. Each has a result for each of `criteria`.
    pub(super) fn of<'a>(
        criteria: usize,
        arrivals: impl Iterator<Item = Arrival<'a>> + Clone,
    ) -> Self {
        let mut alone = Self { requests: 0, missed: vec![0; criteria], failed: 0 };
        // The end of all earlier requests; absent after a request without an end.
        let mut idle_from = Some(Nanos::ZERO);
        let mut later = arrivals.clone().map(|arrival| arrival.due).skip(1);
        for arrival in arrivals {
            let next = later.next();
            let found_idle = idle_from.is_some_and(|idle| idle <= arrival.due);
            idle_from = idle_from.zip(arrival.ended).map(|(idle, ended)| idle.max(ended));
            // A request that arrives before the end slows the rest of the answer.
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

/// The largest probability of so many misses by requests that are alone, if a load just meets the objective.
const WRONG: f64 = 1e-4;
/// The fewest requests. The first ones may be slower, because kernels are compiled or a cache is filled.
const FEWEST: u64 = 8;

/// Whether none of the requests completed, not even those that were alone on the server. `completed` is their number in
/// all trials.
pub(super) fn shows_none_is_served<'a>(
    completed: u64,
    of_trials: impl Iterator<Item = &'a Alone>,
) -> bool {
    completed == 0 && of_trials.map(|alone| alone.failed).sum::<u64>() >= FEWEST
}

/// Whether so many requests missed a criterion of a tier while alone that no load meets it. Criteria on a mean are not
/// judged: a few requests that were not seen may be far faster. `tier` has the indices of the criteria.
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
