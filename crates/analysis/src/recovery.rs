//! Recovery: how long after a change of the load the objectives on requests (`--goodput`) hold again.
//!
//! Each request of a stage met the objectives or missed them. The recovery is the change from a smaller to a larger share
//! of met requests, in the order in which they were due, with the greatest likelihood. Its interval has all
//! changes whose likelihood ratio is below the 95 % point of Hansen, Sample splitting and threshold estimation
//! (Econometrica 68, 2000), table 1. That there is a change is tested with the 95 % point of Andrews (Econometrica 61,
//! 1993), table 1. The objectives hold again if more than half of the requests from then on met them.

use std::collections::BTreeMap;

use inferometer_model::load::Stages;
use inferometer_model::{Finding, Nanos, OutcomeKind, Record, code};
use serde::{Deserialize, Serialize};

/// The fewest requests of a stage in which a recovery is looked for.
const FEWEST: usize = 10;
/// The 95 % points of the likelihood ratio of a change's place, and of the test that there is one.
const CRITICAL_PLACE: f64 = 7.35;
const CRITICAL_CHANGE: f64 = 8.85;

/// How the objectives on requests hold in one stage of a load, after the stage before it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// The stage, from 2.
    pub stage: u32,
    /// Planned requests of the stage.
    pub requests: u64,
    /// The share of the requests of the stage before that met the objectives.
    pub met_before: f64,
    /// The share of the requests of this stage that met the objectives until the recovery; of all, if there is none.
    pub met_until: f64,
    /// From the first request of the stage to the first one from which on the objectives hold again, in seconds: 0 if
    /// they hold from the first request on. Absent if they do not hold again within the stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// The 95 % interval of `seconds`: its lower end is the last request before, its upper end the first one after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci: Option<[f64; 2]>,
    /// The share of the requests from then on that met the objectives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub met_after: Option<f64>,
}

/// Collects which requests of which stage met the objectives.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecoveryFold(BTreeMap<u32, Vec<(Nanos, bool)>>);

impl RecoveryFold {
    /// Adds a request. `met`: whether it met the objectives; `None` if there are none.
    pub fn add(&mut self, record: &Record, met: Option<bool>) {
        let is_planned = !matches!(
            record.outcome.kind(),
            OutcomeKind::Skipped | OutcomeKind::Cancelled | OutcomeKind::Abandoned
        );
        let stage = record.class.as_deref().and_then(Stages::of_class).filter(|_| is_planned);
        if let Some((stage, met)) = stage.zip(met) {
            self.0.entry(stage).or_default().push((record.due, met));
        }
    }

    /// The recovery in each stage after the first one, if requests of this stage or of the one before missed the
    /// objectives.
    pub fn finish(mut self) -> Vec<Recovery> {
        self.0.values_mut().for_each(|requests| requests.sort_unstable());
        let pairs = self.0.iter().zip(self.0.iter().skip(1));
        let of_pair = |((_, before), (stage, requests)): ((_, &Vec<_>), (&u32, &Vec<_>))| {
            recovery(*stage, share(before), requests)
        };
        pairs.filter_map(of_pair).collect()
    }
}

fn share(requests: &[(Nanos, bool)]) -> f64 {
    requests.iter().filter(|request| request.1).count() as f64 / requests.len().max(1) as f64
}

fn recovery(stage: u32, met_before: f64, requests: &[(Nanos, bool)]) -> Option<Recovery> {
    let whole = share(requests);
    if requests.len() < FEWEST || (met_before >= 1.0 && whole >= 1.0) {
        return None;
    }
    let count = requests.len() as f64;
    let found = Recovery {
        stage,
        requests: requests.len() as u64,
        met_before,
        met_until: whole,
        seconds: None,
        ci: None,
        met_after: None,
    };
    let at = |index: usize| requests[index].0.seconds_after(requests[0].0);
    // Minus twice the logarithm of the likelihood of n requests of which m met the objectives.
    let deviance = |met: f64, of: f64| {
        let part = |count: f64| if count > 0.0 { count * (count / of).ln() } else { 0.0 };
        -2.0 * (part(met) + part(of - met))
    };
    let all = whole * count;
    let mut until = 0.0;
    let mut changes = Vec::new();
    for index in 1..requests.len() {
        until += f64::from(u8::from(requests[index - 1].1));
        let (n, rest) = (index as f64, count - index as f64);
        let (before, after) = (until / n, (all - until) / rest);
        if before != after {
            changes.push((index, deviance(until, n) + deviance(all - until, rest), before, after));
        }
    }
    let best = changes.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    let is_change = |least: f64| deviance(all, count) - least > CRITICAL_CHANGE;
    let Some(&(index, least, met_until, met_after)) = best.filter(|best| is_change(best.1)) else {
        // The share is the same in the whole stage: most requests met the objectives, or most missed them.
        let holds = whole > 0.5 && whole >= met_before;
        return Some(Recovery {
            seconds: holds.then_some(0.0),
            ci: holds.then_some([0.0, 0.0]),
            met_after: holds.then_some(whole),
            ..found
        });
    };
    if met_after <= met_until.max(0.5) {
        return Some(found);
    }
    let limit = least + CRITICAL_PLACE;
    let is_within = |change: &&(usize, f64, f64, f64)| change.1 <= limit && change.2 < change.3;
    let mut within = changes.iter().filter(is_within).map(|change| change.0);
    let first = within.next()?;
    let last = within.next_back().unwrap_or(first);
    Some(Recovery {
        met_until,
        seconds: Some(at(index)),
        ci: Some([at(first - 1), at(last)]),
        met_after: Some(met_after),
        ..found
    })
}

/// The findings on recoveries: one for each stage.
pub fn recovery_findings(recoveries: &[Recovery]) -> Vec<Finding> {
    let told = |found: &Recovery| {
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        let stage = found.stage;
        let until = percent(found.met_until);
        let message = match (found.seconds.zip(found.ci), found.met_after) {
            (Some((seconds, [least, most])), Some(after)) if most > 0.0 => format!(
                "In stage {stage}, the objectives on requests hold again {seconds:.2} s after its first request ({least:.2} to \
                 {most:.2} s): {until} of the requests met them before, {} from then on.",
                percent(after)
            ),
            (Some(_), Some(after)) => format!(
                "In stage {stage}, the objectives on requests hold from its first request on: {} of the requests met them, \
                 {} in the stage before.",
                percent(after),
                percent(found.met_before)
            ),
            _ if found.met_until < found.met_before => format!(
                "In stage {stage}, fewer requests met the objectives than in the stage before: {until} after {}.",
                percent(found.met_before)
            ),
            _ => format!(
                "In stage {stage}, the objectives on requests do not hold again: {until} of the requests met them."
            ),
        };
        Finding::of(code::RECOVERY, message)
    };
    recoveries.iter().map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_model::outcome::Outcome;
    use inferometer_model::stats::seed;

    /// A stage of 300 requests at 10/s after a stage in which all missed. Requests due before `at_s` miss with the first
    /// chance, later ones with the second one.
    fn found(number: u64, at_s: f64, misses: [f64; 2]) -> Option<Recovery> {
        let mut rng = seed::rng(number, &["recovery"]);
        let mut fold = RecoveryFold::default();
        let mut now = 0.0;
        for index in 0..320 {
            let stage = if index < 20 { 1 } else { 2 };
            now -= (1.0 - seed::unit(&mut rng)).ln() / 10.0;
            now = if index == 20 { 0.0 } else { now };
            let is_missed = stage == 1 || seed::unit(&mut rng) < misses[usize::from(now >= at_s)];
            let due = Nanos((now * 1e9) as u64 + if stage == 2 { 1_000_000_000_000 } else { 0 });
            let record = Record {
                class: Some(format!("stage {stage}, chat").into()),
                outcome: Outcome::Complete,
                ..Record::planned(0, index, due)
            };
            fold.add(&record, Some(!is_missed));
        }
        let found = fold.finish();
        assert!(found.len() == 1 && found[0].requests == 300, "{found:?}");
        found.first().copied()
    }

    #[test]
    fn the_planted_recovery_is_in_its_interval_in_at_least_95_of_100_passes() {
        for (at_s, misses) in [(8.0, [1.0, 0.0]), (8.0, [0.95, 0.05]), (15.0, [0.8, 0.1])] {
            let mut inside = 0;
            for number in 0..100 {
                let [least, most] =
                    found(number, at_s, misses).and_then(|it| it.ci).expect("a recovery");
                inside += u32::from(least <= at_s && at_s <= most);
                assert!(most - least < 6.0, "{at_s} {misses:?}: {least} to {most}");
            }
            assert!(inside >= 95, "{at_s} {misses:?}: {inside}");
        }
    }

    #[test]
    fn a_stage_that_holds_at_once_and_one_that_never_holds_have_no_change() {
        let at_once = found(1, 0.0, [1.0, 0.02]).expect("a recovery");
        assert_eq!((at_once.seconds, at_once.ci), (Some(0.0), Some([0.0, 0.0])));
        let never = found(1, 99.0, [0.98, 0.0]).expect("a recovery");
        assert_eq!((never.seconds, never.met_after), (None, None));
        // A stage that gets worse, and one with a rise that leaves most requests missed.
        for misses in [[0.05, 0.9], [1.0, 0.8]] {
            let found = found(1, 18.0, misses).expect("a stage");
            assert_eq!(
                (found.seconds, found.ci, found.met_after),
                (None, None, None),
                "{misses:?}"
            );
        }
        let fallen =
            recovery(3, 1.0, &(0..300).map(|at| (Nanos(at), at % 3 > 0)).collect::<Vec<_>>());
        assert_eq!(fallen.map(|it| it.seconds), Some(None));
        let told = recovery_findings(&fallen.into_iter().collect::<Vec<_>>());
        assert!(told[0].message.contains("fewer requests met the objectives"), "{told:?}");
    }
}
