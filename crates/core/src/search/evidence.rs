//! What is known of a load from all its trials: the interval of each criterion, and what it claims.

use serde::{Deserialize, Serialize};

use super::clustering::clustering;
use super::criterion::{Criterion, Judged};
use crate::stats::wilson;

/// What is known of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// Every criterion holds, with the confidence of a claim.
    Met,
    /// At least one does not, with the confidence of a claim.
    NotMet,
    /// Neither can be claimed yet.
    Open,
}

/// What is known of one criterion at a load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The share of requests that met it, or the mean in milliseconds.
    pub value: f64,
    /// Its interval, at the confidence of a claim; absent where too little is known for one.
    pub interval: Option<[f64; 2]>,
    /// The share that is needed, or the limit of the mean.
    pub limit: f64,
    /// Requests that count.
    pub counted: u64,
    /// As many independent ones as they are worth.
    pub independent: f64,
    /// What it claims.
    pub claim: Claim,
}

/// What is known of a load, criterion by criterion.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// In the order of the criteria.
    pub measured: Vec<Measured>,
}

impl Evidence {
    /// The evidence of requests, pooled over the trials of a load in the order of time, with
    /// intervals at `z` standard errors on each side.
    #[must_use]
    pub fn of(criteria: &[Criterion], judged: &[Vec<Judged>], z: f64) -> Self {
        let measured = criteria.iter().zip(judged).map(|(criterion, judged)| {
            match (criterion.needed(), criterion.mean_limit_ms()) {
                (Some(needed), _) => share(judged, needed, z),
                (None, limit) => mean(judged, limit.unwrap_or(f64::INFINITY), z),
            }
        });
        Self { measured: measured.collect() }
    }

    /// What all criteria claim together.
    #[must_use]
    pub fn claim(&self) -> Claim {
        let claims = || self.measured.iter().map(|measured| measured.claim);
        if claims().any(|claim| claim == Claim::NotMet) {
            Claim::NotMet
        } else if claims().all(|claim| claim == Claim::Met) {
            Claim::Met
        } else {
            Claim::Open
        }
    }
}

fn share(judged: &[Judged], needed: f64, z: f64) -> Measured {
    let counted = judged.len() as f64;
    let independent = counted / of_judged(judged);
    let value = judged.iter().filter(|one| one.met).count() as f64 / counted.max(1.0);
    let interval = wilson(value * independent, independent, z);
    let claim = match interval {
        [low, _] if low >= needed => Claim::Met,
        [_, high] if high < needed => Claim::NotMet,
        _ => Claim::Open,
    };
    let counted = judged.len() as u64;
    let interval = Some(interval);
    Measured { value, interval, limit: needed, counted, independent, claim }
}

fn mean(judged: &[Judged], limit: f64, z: f64) -> Measured {
    let values: Vec<f64> =
        judged.iter().map(|one| one.value).filter(|value| value.is_finite()).collect();
    let n = values.len() as f64;
    let independent = n / clustering(&values);
    let value = values.iter().sum::<f64>() / n.max(1.0);
    let squares: f64 = values.iter().map(|one| (one - value).powi(2)).sum();
    // Below a few dozen independent values the normal law says nothing of their mean.
    let known = independent > 30.0;
    let half = z * (squares / (n - 1.0).max(1.0) / independent.max(1.0)).sqrt();
    let interval = known.then_some([value - half, value + half]);
    let claim = match interval {
        Some([_, high]) if high < limit => Claim::Met,
        Some([low, _]) if low >= limit => Claim::NotMet,
        _ => Claim::Open,
    };
    Measured { value, interval, limit, counted: values.len() as u64, independent, claim }
}

/// Independent misses from which on it is known how misses come together.
const ENOUGH_MISSES: f64 = 10.0;

/// How many requests are worth one independent one. Misses are rare, and where few were seen yet
/// nothing is known of how they come together, so that lower thresholds stand in for the limit:
/// what lies above a higher one comes in shorter bursts, each within a burst above the lower.
fn of_judged(judged: &[Judged]) -> f64 {
    let indicator = |of: &dyn Fn(&Judged) -> bool| -> Vec<f64> {
        judged.iter().map(|one| f64::from(u8::from(of(one)))).collect()
    };
    let mut sorted: Vec<f64> = judged.iter().map(|one| one.value).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| sorted.get((sorted.len() as f64 * share) as usize).copied();
    let missed = judged.iter().filter(|one| !one.met).count() as f64;
    let misses = clustering(&indicator(&|one| !one.met));
    if missed >= ENOUGH_MISSES * misses {
        return misses;
    }
    [0.5, 0.9, 0.95].into_iter().filter_map(at).fold(misses, |largest, threshold| {
        largest.max(clustering(&indicator(&|one| one.value > threshold)))
    })
}
