//! Tests comparisons in blocks with simulated engines, like the example `ab`, but with fewer trials.

#[path = "../examples/ab/simulation.rs"]
mod simulation;

use inferometer_analysis::ab::{AbAnswer, AbDecision};
use simulation::{OF_RUN, World, in_blocks, whole_runs};

const NOISE: &str = "drift=0.05:10s,step=0.02";
const TRIALS: u64 = 20;

#[test]
fn blocks_detect_5_percent_under_drift_with_a_fifth_of_the_requests_of_whole_runs() {
    let world = World::new(NOISE, 0.05);
    let answers: Vec<AbAnswer> = (0..TRIALS).map(|seed| in_blocks(world, seed)).collect();
    let mut found: Vec<u64> = answers
        .iter()
        .filter(|answer| answer.decision == AbDecision::AFaster)
        .map(|answer| answer.requests)
        .collect();
    found.sort_unstable();
    assert!(found.len() >= 18, "{} of {TRIALS}", found.len());
    // The reference is six rounds of whole runs. In blocks, a fifth of the requests of these runs must be enough for
    // four of five trials to find the difference.
    let rounds = 6;
    let fifth = 2 * rounds * u64::from(OF_RUN) / 5;
    assert!(found[15] <= fifth, "{found:?}, a fifth is {fifth}");
    let of_runs = (0..12).filter(|&seed| whole_runs(world, seed, rounds as usize)[2]).count();
    assert!(of_runs < 10, "{of_runs} of 12 trials with whole runs found the difference");
}

#[test]
fn a_server_compared_with_itself_is_rarely_reported_as_different() {
    let world = World::new(NOISE, 0.0);
    let is_called = |seed: &u64| {
        matches!(in_blocks(world, *seed).decision, AbDecision::AFaster | AbDecision::BFaster)
    };
    let called = (100..100 + TRIALS).filter(is_called).count();
    assert!(called <= 1, "{called} of {TRIALS}");
}
