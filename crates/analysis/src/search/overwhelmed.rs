//! Decides from all requests of a trial whether its load is far beyond the edge (the highest load that meets the
//! objectives). A watcher shows when this result is certain, so that the trial can be ended. The start-up of an open
//! loop counts too, because requests to an idle server are no slower than later ones. The first requests of a closed
//! loop do not count.

use inferometer_model::load::Level;
use inferometer_model::metrics::Fate;
use inferometer_model::{ClosedPlan, Nanos, PassPlan, RequestFigures};
use inferometer_plan::search::Criterion;

/// The assumed number of independent requests in a trial. It is a cautious value, because misses may be strongly
/// correlated.
pub(super) const INDEPENDENT: u64 = 12;
/// Under this assumption, the largest probability that a load at the edge counts as far beyond the edge.
const WRONG: f64 = 1e-4;
/// In a short trial, this many consecutive requests are assumed to be fully correlated. They count as one request.
const IN_A_CROWD: u64 = 8;

/// The evidence that a load cannot meet a criterion: so many requests of a trial missed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Overwhelmed {
    /// The index of the criterion. In an answer: its index among the objectives of the answer.
    pub criterion: usize,
    /// The number of requests that certainly missed the criterion.
    pub missed: u64,
    /// The number of requests of the trial, including those that were cut off.
    pub planned: u64,
    /// The number of requests in flight when the trial was cut off, plus those that had not been sent.
    pub cut_off: u64,
}

/// For each criterion, how many requests of a trial must miss it before the load counts as far beyond the edge. `None`
/// if no number is enough, as for a mean.
///
/// `planned` requests are assumed to correspond to n independent ones: 12, or `planned` / 8 if this is less. M misses
/// then correspond to n * M / `planned` misses, rounded down. At the edge, the probability of at least this many misses
/// (binomial distribution) must be at most one in ten thousand, divided by the number of criteria.
pub fn misses_to_claim(criteria: &[Criterion], planned: u64) -> Vec<Option<u64>> {
    let level = WRONG / criteria.len().max(1) as f64;
    let independent = INDEPENDENT.min(planned / IN_A_CROWD);
    let of = |criterion: &Criterion| {
        let may_miss = 1.0 - criterion.needed()?;
        let is_enough =
            |&blocks: &u64| as_many_or_more(blocks as f64, independent as f64, may_miss) <= level;
        let blocks = (1..=independent).find(is_enough)?;
        Some((blocks * planned).div_ceil(independent))
    };
    criteria.iter().map(of).collect()
}

/// The number of first requests whose misses do not count. In a closed loop, the first requests are sent all at once,
/// and wait behind more prompts than later ones.
pub(super) fn first_crowd(pass: &PassPlan) -> u64 {
    match pass {
        PassPlan::Closed(ClosedPlan { concurrency: Level::Constant(load), .. }) => crowd_of(*load),
        PassPlan::Conversations(of_jobs) => first_crowd(&of_jobs.begin),
        _ => 0,
    }
}

/// The number of requests in the first two rounds of a closed loop with `load` requests in flight.
pub(super) fn crowd_of(load: f64) -> u64 {
    2 * load.ceil() as u64
}

/// Watches a trial in progress. It gets each request that ends, in any order. From these requests and those in flight,
/// it decides whether the result is certain, whatever happens to the other requests.
#[derive(Clone, Debug)]
pub struct Watcher {
    criteria: Vec<Criterion>,
    tiers: Vec<Vec<usize>>,
    needed: Vec<Option<u64>>,
    missed: Vec<u64>,
    crowd: u64,
}

impl Watcher {
    /// Starts to watch a pass. The result is certain only if the load is beyond the edge of every tier, because any
    /// other tier needs the rest of the trial.
    pub fn new(criteria: &[Criterion], tiers: &[Vec<usize>], pass: &PassPlan) -> Self {
        let planned = u64::from(pass.requests().unwrap_or(u32::MAX));
        Self {
            needed: misses_to_claim(criteria, planned),
            missed: vec![0; criteria.len()],
            criteria: criteria.to_vec(),
            tiers: tiers.to_vec(),
            crowd: first_crowd(pass),
        }
    }

    /// Adds a request that ended.
    pub fn ended(&mut self, figures: &RequestFigures) {
        add(&mut self.missed, &self.criteria, self.crowd, figures);
    }

    /// Whether the result is certain even in the best case for the requests in flight: each of them ends now.
    pub fn is_certain(&self, in_flight: impl Iterator<Item = RequestFigures>) -> bool {
        let mut missed = self.missed.clone();
        in_flight.for_each(|figures| add(&mut missed, &self.criteria, self.crowd, &figures));
        are_beyond(&self.tiers, &missed, &self.needed).is_some()
    }
}

/// For each tier, the first criterion with enough misses; `None` unless every tier has one.
pub(super) fn are_beyond(
    tiers: &[Vec<usize>],
    missed: &[u64],
    needed: &[Option<u64>],
) -> Option<Vec<usize>> {
    let is_enough = |&&index: &&usize| needed[index].is_some_and(|needed| missed[index] >= needed);
    let firsts = tiers.iter().map(|tier| tier.iter().find(is_enough).copied());
    firsts.collect()
}

/// When the result of a trial becomes certain, if the ends of all requests are known, as in virtual time. `None` if the
/// result never becomes certain.
pub fn certain_at(watcher: &Watcher, requests: &[RequestFigures]) -> Option<Nanos> {
    let is_certain = |at: Nanos| {
        watcher.is_certain(requests.iter().filter(|one| one.due <= at).map(|one| one.as_of(at)))
    };
    let first = requests.iter().map(|one| one.due).min()?;
    let last = requests.iter().filter_map(|one| one.ended).max()?;
    if !is_certain(last) {
        return None;
    }
    // A miss stays a miss, so once the result is certain, it stays certain.
    let (mut before, mut after) = (first.0, last.0);
    while before < after {
        let middle = before + (after - before) / 2;
        if is_certain(Nanos(middle)) { after = middle } else { before = middle + 1 }
    }
    Some(Nanos(after))
}

fn add(missed: &mut [u64], criteria: &[Criterion], crowd: u64, figures: &RequestFigures) {
    if u64::from(figures.index) >= crowd && figures.fate != Fate::NeverSent {
        for (missed, criterion) in missed.iter_mut().zip(criteria) {
            *missed += u64::from(!criterion.judge(figures).met);
        }
    }
}

/// The probability that at least `misses` of `n` independent requests miss, if each misses with the
/// probability `p`.
pub(super) fn as_many_or_more(misses: f64, n: f64, p: f64) -> f64 {
    let (mut log, mut fewer, mut k) = (n * libm::log1p(-p), 0.0, 0.0);
    while k < misses {
        fewer += libm::exp(log);
        log += libm::log((n - k) / (k + 1.0) * p / (1.0 - p));
        k += 1.0;
    }
    (1.0 - fewer).max(0.0)
}
