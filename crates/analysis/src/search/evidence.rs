//! What is known of a load from all its trials: the interval of each criterion, and what it claims.

use serde::{Deserialize, Serialize};

use super::clustering::clustering;
use inferometer_plan::search::{Criterion, Judged};
use inferometer_stats::{normal_quantile_above, wilson};

/// Share of the error budget spent on early-stop claims.
pub(super) const EARLY_STOP_ALPHA_SHARE: f64 = 0.1;

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
    pub fn of(criteria: &[Criterion], judged: &[Vec<Judged>], z: f64) -> Self {
        // That one of several criteria is missed has as many occasions to be claimed wrongly; a part
        // is set aside for that claim by its other rule.
        let level = normal_above(z) * (1.0 - EARLY_STOP_ALPHA_SHARE) / criteria.len().max(1) as f64;
        let measured = criteria.iter().zip(judged).map(|(criterion, judged)| {
            match (criterion.needed(), criterion.mean_limit_ms()) {
                (Some(needed), _) => share(judged, needed, z, level),
                (None, limit) => mean(judged, limit.unwrap_or(f64::INFINITY), z, level),
            }
        });
        Self { measured: measured.collect() }
    }

    /// What all criteria claim together.
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

/// The chance of a standard normal number above `z`.
fn normal_above(z: f64) -> f64 {
    0.5 * libm::erfc(z / std::f64::consts::SQRT_2)
}

/// The chance that of `n` independent requests so many or more miss, each with the chance `p`.
pub(super) fn as_many_or_more(misses: f64, n: f64, p: f64) -> f64 {
    let (mut log, mut fewer, mut k) = (n * libm::log1p(-p), 0.0, 0.0);
    while k < misses {
        fewer += libm::exp(log);
        log += libm::log((n - k) / (k + 1.0) * p / (1.0 - p));
        k += 1.0;
    }
    (1.0 - fewer).max(0.0)
}

/// A share is claimed to be enough by the lower end of Wilson's interval. His upper end promises
/// too much where misses are rare (one of nine is none of "at most 1 %", by it), so that a share is
/// claimed not to be enough by the binomial law itself.
fn share(judged: &[Judged], needed: f64, z: f64, level: f64) -> Measured {
    let counted = judged.len() as f64;
    let independent = counted / of_judged(judged);
    let value = judged.iter().filter(|one| one.met).count() as f64 / counted.max(1.0);
    let interval = wilson(value * independent, independent, z);
    let missed_beyond_chance = || {
        let misses = ((1.0 - value) * independent).floor();
        as_many_or_more(misses, independent.ceil(), 1.0 - needed) <= level
    };
    let claim = match interval {
        [low, _] if low >= needed => Claim::Met,
        [_, high] if high < needed && missed_beyond_chance() => Claim::NotMet,
        _ => Claim::Open,
    };
    let counted = judged.len() as u64;
    let interval = Some(interval);
    Measured { value, interval, limit: needed, counted, independent, claim }
}

fn mean(judged: &[Judged], limit: f64, z: f64, level: f64) -> Measured {
    let values: Vec<f64> =
        judged.iter().map(|one| one.value).filter(|value| value.is_finite()).collect();
    let n = values.len() as f64;
    let independent = n / clustering(&values);
    let value = values.iter().sum::<f64>() / n.max(1.0);
    let squares: f64 = values.iter().map(|one| (one - value).powi(2)).sum();
    // Below a few dozen independent values the normal law says nothing of their mean.
    let known = independent > 30.0;
    let deviation = (squares / (n - 1.0).max(1.0) / independent.max(1.0)).sqrt();
    let half = z * deviation;
    let interval = known.then_some([value - half, value + half]);
    let claim = match interval {
        Some([_, high]) if high < limit => Claim::Met,
        Some(_) if value - normal_quantile_above(level) * deviation >= limit => Claim::NotMet,
        _ => Claim::Open,
    };
    Measured { value, interval, limit, counted: values.len() as u64, independent, claim }
}

/// Independent misses from which on it is known how misses come together.
const ENOUGH_MISSES: f64 = 10.0;
/// Shares of requests below the thresholds that stand in for the limit, the highest first.
const STAND_INS: [f64; 4] = [0.99, 0.95, 0.9, 0.5];

/// How many requests are worth one independent one. Misses are rare, and where few were seen yet
/// nothing is known of how they come together, so that a lower threshold stands in for the limit:
/// what lies above a higher one comes in shorter bursts, each within a burst above the lower. It is
/// the highest one with enough bursts above it to know them.
fn of_judged(judged: &[Judged]) -> f64 {
    let above = |is_above: &dyn Fn(&Judged) -> bool| -> (f64, bool) {
        let series: Vec<f64> =
            judged.iter().map(|one| f64::from(u8::from(is_above(one)))).collect();
        let clustering = clustering(&series);
        (clustering, series.iter().sum::<f64>() >= ENOUGH_MISSES * clustering)
    };
    let (misses, is_known) = above(&|one| !one.met);
    if is_known {
        return misses;
    }
    let mut sorted: Vec<f64> = judged.iter().map(|one| one.value).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let mut largest = misses;
    for share in STAND_INS {
        let Some(&threshold) = sorted.get((sorted.len() as f64 * share) as usize) else { continue };
        let (clustering, is_known) = above(&|one| one.value > threshold);
        largest = largest.max(clustering);
        if is_known {
            break;
        }
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_misses_among_few_requests_claim_nothing_and_many_do() {
        for (misses, n, needed, claim) in [
            (1, 1, 0.95, Claim::Open),
            (1, 9, 0.99, Claim::Open),
            (2, 30, 0.99, Claim::Open),
            (5, 140, 0.99, Claim::Open),
            (1, 90, 0.999, Claim::Open),
            (9, 140, 0.99, Claim::NotMet),
            (20, 400, 0.99, Claim::NotMet),
            (27, 40, 0.5, Claim::Open),
            (0, 3_000, 0.99, Claim::Met),
        ] {
            // Spread evenly, and values that grow and fall: nothing comes together.
            let one = |at: u32| {
                let every = u32::checked_div(n, misses).unwrap_or(n + 1);
                let missed = at % every == every - 1 && at / every < misses;
                Judged { met: !missed, value: f64::from(at * 7919 % n) }
            };
            let judged: Vec<Judged> = (0..n).map(one).collect();
            let found = share(&judged, needed, 3.023, normal_above(3.023)).claim;
            assert_eq!(found, claim, "{misses} of {n} where {needed} is needed");
        }
    }

    #[test]
    fn the_tail_of_the_binomial_law_is_what_tables_say() {
        // 1 - 0.99^9; 1 - 0.99^30 - 30 x 0.01 x 0.99^29; a fair coin.
        for (misses, n, p, chance) in [
            (1.0, 9.0, 0.01, 0.086_482_753),
            (2.0, 30.0, 0.01, 0.036_148),
            (3.0, 4.0, 0.5, 0.312_5),
        ] {
            let found = as_many_or_more(misses, n, p);
            assert!((found - chance).abs() < 1e-6, "{misses} of {n}: {found}");
        }
    }
}
