//! Tests by simulation how often comparisons are right. These tests run fewer trials than the example `comparisons`.

#[path = "../examples/comparisons/simulation.rs"]
mod simulation;

use inferometer_analysis::compare::RowVerdict;
use simulation::{NOISES, Noise, Plan, deviation_for, found, held, is_alarm, over, simulate};

const TRIALS: u64 = 60;

/// An upper limit for the share that is measured in [`TRIALS`] trials, if the true share is `share`: 2.5 standard
/// deviations above it.
fn most(share: f64) -> f64 {
    share + 2.5 * (share * (1.0 - share) / TRIALS as f64).sqrt()
}

fn alarms(plan: Plan, noise: Noise) -> f64 {
    over(TRIALS, |at| f64::from(u8::from(is_alarm(&simulate(plan, noise, 0.02, 0.0, at)))))
}

#[test]
fn alternated_runs_of_one_server_are_seldom_better_or_worse_under_any_noise() {
    for noise in NOISES {
        for plan in [Plan::InTurn(4), Plan::ThereAndBack(6), Plan::ByChance(8)] {
            let alarms = alarms(plan, noise);
            assert!(alarms <= most(0.05), "{plan:?}, {noise:?}: {alarms}");
        }
    }
}

#[test]
fn consecutive_runs_of_one_server_are_seldom_better_or_worse() {
    for noise in NOISES {
        let first = simulate(Plan::BeforeAfter(5, 5), noise, 0.02, 0.5, 0);
        assert!(!is_alarm(&first) && first.rows[0].verdict == RowVerdict::Differs, "{noise:?}");
        let alarms = alarms(Plan::BeforeAfter(20, 5), noise);
        assert!(alarms <= most(0.05), "{noise:?}: {alarms}");
    }
}

#[test]
fn a_slowdown_as_large_as_the_margin_is_usually_found_in_the_stated_number_of_rounds() {
    for (rounds, plan) in [(4, Plan::InTurn as fn(usize) -> Plan), (10, Plan::ThereAndBack)] {
        let deviation = deviation_for(plan, Noise::Independent, rounds, 20);
        let one = |at| simulate(plan(rounds as usize), Noise::Independent, deviation, 0.05, at);
        let found = over(TRIALS, |at| found(&one(at)));
        assert!((0.7..0.97).contains(&found), "{rounds} rounds: {found}");
    }
}

#[test]
fn intervals_cover_the_true_difference_at_their_nominal_rate() {
    for plan in [
        Plan::InTurn(3),
        Plan::ThereAndBack(5),
        Plan::InTurn(10),
        Plan::BeforeAfter(3, 3),
        Plan::BeforeAfter(10, 10),
    ] {
        let held =
            over(TRIALS, |at| held(&simulate(plan, Noise::Independent, 0.02, 0.05, at), 0.05));
        assert!(1.0 - held <= most(0.05), "{plan:?}: {held}");
    }
}
