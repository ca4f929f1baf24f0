//! That a load is far beyond the edge, from all requests of a trial, and the watcher that ends a trial
//! as soon as that is certain. Never needs to know when a server has settled:
//! requests that come to an idle server are no worse off than those that come later.

use inferometer_load::{Level, PassPlan};
use inferometer_metrics::{Fate, RequestFigures};
use inferometer_model::time::Nanos;
use inferometer_plan::search::Criterion;

/// As few independent requests as those of a trial are taken to be worth, however misses come together.
pub(super) const INDEPENDENT: u64 = 12;
/// How seldom a load at its edge may be taken for one far beyond it, if so.
const WRONG: f64 = 1e-4;
/// In a short trial so many requests in a row may share one crowd, and are worth one.
const IN_A_CROWD: u64 = 8;

/// So many of a trial's requests have missed one criterion that the load cannot be one at which
/// enough of them meet it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Overwhelmed {
    /// The criterion, by its place among them.
    pub criterion: usize,
    /// Requests that have missed it for certain.
    pub missed: u64,
    /// Requests of the trial, those included that were cut off.
    pub planned: u64,
    /// Requests that were in flight when it was cut off, and those that were not sent then.
    pub cut_off: u64,
}

/// How many of a trial's requests must miss each criterion for the claim; none where no number is
/// enough, as of a mean.
///
/// If `planned` requests are worth at least n independent ones (twelve, or an eighth of them where
/// that is fewer), M misses are worth the whole part of n M / planned of them, and those must be
/// rarer, by the binomial law, than one in ten thousand.
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

/// Requests of a trial that cannot be counted as misses: in a closed loop the first are sent all at
/// once, and meet a crowd that the load does not have later.
pub(super) fn first_crowd(pass: &PassPlan) -> u64 {
    match pass {
        PassPlan::Closed { concurrency: Level::Constant(load), .. } => crowd_of(*load),
        _ => 0,
    }
}

/// Of so many in flight, the first two rounds.
pub(super) fn crowd_of(load: f64) -> u64 {
    2 * load.ceil() as u64
}

/// Watches a trial in progress. It receives each request that ends, in any order, and decides from
/// these and those in flight whether the result is certain, for any outcome of the others.
#[derive(Clone, Debug)]
pub struct Watcher {
    criteria: Vec<Criterion>,
    tiers: Vec<Vec<usize>>,
    needed: Vec<Option<u64>>,
    missed: Vec<u64>,
    crowd: u64,
}

impl Watcher {
    /// A watcher of a pass. Each tier has to be beyond its edge, for the others want the rest.
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

    /// Takes in a request that ended.
    pub fn ended(&mut self, figures: &RequestFigures) {
        add(&mut self.missed, &self.criteria, self.crowd, figures);
    }

    /// Whether the claim is certain, with what requests in flight are at best: as if each ended now.
    pub fn is_certain(&self, in_flight: impl Iterator<Item = RequestFigures>) -> bool {
        let mut missed = self.missed.clone();
        in_flight.for_each(|figures| add(&mut missed, &self.criteria, self.crowd, &figures));
        are_beyond(&self.tiers, &missed, &self.needed).is_some()
    }
}

/// The first criterion of each tier that so many requests missed; none unless each tier has one.
pub(super) fn are_beyond(
    tiers: &[Vec<usize>],
    missed: &[u64],
    needed: &[Option<u64>],
) -> Option<Vec<usize>> {
    let is_enough = |&&index: &&usize| needed[index].is_some_and(|needed| missed[index] >= needed);
    let firsts = tiers.iter().map(|tier| tier.iter().find(is_enough).copied());
    firsts.collect()
}

/// When the claim becomes certain in a trial of which it is known how each request would end, as in
/// virtual time; none where it never does.
pub fn certain_at(watcher: &Watcher, requests: &[RequestFigures]) -> Option<Nanos> {
    let is_certain = |at: Nanos| {
        watcher.is_certain(requests.iter().filter(|one| one.due <= at).map(|one| one.as_of(at)))
    };
    let first = requests.iter().map(|one| one.due).min()?;
    let last = requests.iter().filter_map(|one| one.ended).max()?;
    if !is_certain(last) {
        return None;
    }
    // What has missed stays so, so that there is one instant from which on it is certain.
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

/// The chance that of `n` independent requests so many or more miss, each with the chance `p`.
fn as_many_or_more(misses: f64, n: f64, p: f64) -> f64 {
    let (mut log, mut fewer, mut k) = (n * libm::log1p(-p), 0.0, 0.0);
    while k < misses {
        fewer += libm::exp(log);
        log += libm::log((n - k) / (k + 1.0) * p / (1.0 - p));
        k += 1.0;
    }
    (1.0 - fewer).max(0.0)
}
