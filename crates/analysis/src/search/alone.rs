//! Requests that arrived at an idle server. No load serves requests better. So if these requests miss an objective, every
//! load misses it.

use super::overwhelmed::as_many_or_more;
use inferometer_model::time::Nanos;
use inferometer_plan::search::{Criterion, CriterionResult};

/// The completed requests of a trial that arrived while no other request was in flight.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Alone {
    /// The number of these requests.
    pub requests: u64,
    /// For each criterion, how many of them missed it.
    pub missed: Vec<u64>,
    /// The shortest time from due to end of these requests, in seconds; absent if there is none.
    pub fastest_s: Option<f64>,
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
    /// Finds these requests. `arrivals` are in the order of their due times.
    pub(super) fn of<'a>(
        criteria: &[Criterion],
        arrivals: impl Iterator<Item = Arrival<'a>>,
    ) -> Self {
        let mut alone = Self { missed: vec![0; criteria.len()], ..Self::default() };
        let mut busy_until = Some(Nanos::ZERO);
        for arrival in arrivals {
            let is_idle = busy_until.is_some_and(|until| until <= arrival.due);
            busy_until = busy_until.zip(arrival.ended).map(|(until, ended)| until.max(ended));
            let Some(ended) = arrival.ended.filter(|_| is_idle && arrival.is_complete) else {
                continue;
            };
            alone.requests += 1;
            for ((missed, criterion), judged) in
                alone.missed.iter_mut().zip(criteria).zip(arrival.judged)
            {
                *missed += u64::from(is_missed(criterion, judged));
            }
            let latency_s = ended.seconds_after(arrival.due);
            alone.fastest_s = Some(alone.fastest_s.map_or(latency_s, |it| it.min(latency_s)));
        }
        alone
    }
}

/// Whether a request exceeds the limit of a criterion, also if the criterion is about a mean.
fn is_missed(criterion: &Criterion, judged: &CriterionResult) -> bool {
    let exceeds_mean = criterion.mean_limit_ms().is_some_and(|limit| judged.value > limit);
    !judged.met || exceeds_mean
}

/// The largest probability that so many requests at an idle server miss an objective although it can be met.
const WRONG: f64 = 1e-4;
/// The fewest requests. The first ones may be slower, because kernels are compiled or a cache is filled.
const FEWEST: u64 = 8;
/// The assumed share of misses at an idle server if a mean is just met.
const OF_A_MEAN: f64 = 0.5;

/// What requests at an idle server show of the criteria of a tier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum AtIdle {
    /// Too few requests arrived at an idle server, or they met the criteria.
    Open,
    /// All of them missed a criterion, but they are few. The fastest one took this time, in seconds.
    AllMissed { fastest_s: f64 },
    /// So many of them missed a criterion that no load meets it.
    NoLoadMeets,
}

/// Judges the criteria with these indices by the requests of all trials that arrived at an idle server.
pub(super) fn at_idle<'a>(
    criteria: &[Criterion],
    tier: &[usize],
    of_trials: impl Iterator<Item = &'a Alone> + Clone,
) -> AtIdle {
    let alone = || of_trials.clone();
    let requests: u64 = alone().map(|it| it.requests).sum();
    let missed = |index: usize| alone().map(|it| it.missed[index]).sum::<u64>();
    let is_certain = |&index: &usize| {
        let may_miss = criteria[index].needed().map_or(OF_A_MEAN, |needed| 1.0 - needed);
        let chance = as_many_or_more(missed(index) as f64, requests as f64, may_miss);
        requests >= FEWEST && chance <= WRONG
    };
    let fastest_s = alone().filter_map(|it| it.fastest_s).min_by(f64::total_cmp);
    match fastest_s {
        Some(_) if tier.iter().any(is_certain) => AtIdle::NoLoadMeets,
        Some(fastest_s) if tier.iter().any(|&index| missed(index) == requests) => {
            AtIdle::AllMissed { fastest_s }
        }
        _ => AtIdle::Open,
    }
}
