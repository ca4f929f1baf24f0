//! Queues at their true edges: how often a load that meets its objective is taken for a hopeless one.
//! One excursion of a queue covers hundreds of requests in a row, so that one trial proves little.

use super::overwhelmed::misses_to_claim;
use inferometer_metrics::slo;
use inferometer_plan::search::criteria;
use inferometer_stats::seed::{rng, unit};

/// Seconds that each of `n` requests stays at one server that serves each in a second in the mean, from
/// idle.
fn stays(rate: f64, is_random: bool, n: u64, seed: u64) -> impl Iterator<Item = f64> {
    let mut rng = rng(seed, &["queue"]);
    let (mut due, mut free) = (0.0_f64, 0.0_f64);
    let mut exponential = move || -unit(&mut rng).max(1e-12).ln();
    (0..n).map(move |_| {
        due += exponential() / rate;
        free = free.max(due) + if is_random { exponential() } else { 1.0 };
        free - due
    })
}

/// The rate at which a share of requests stays for longer than the limit, by many of them.
fn edge(is_random: bool, limit: f64, share: f64) -> f64 {
    const REQUESTS: u64 = 200_000;
    let (mut low, mut high) = (0.05, 1.0);
    for _ in 0..12 {
        let rate = f64::midpoint(low, high);
        let late = stays(rate, is_random, REQUESTS, 1).filter(|&stay| stay > limit).count();
        if late as f64 > share * REQUESTS as f64 { high = rate } else { low = rate }
    }
    low
}

#[test]
fn a_queue_at_its_edge_is_claimed_hopeless_no_more_often_than_is_set_aside_for_it() {
    const TRIALS: u64 = 1_500;
    let level = 0.05 / 40.0;
    let mut worst_of_one = 0.0_f64;
    for (objective, share) in [("e2e_p90<9s", 0.1), ("e2e_p95<9s", 0.05), ("e2e_p99<9s", 0.01)] {
        let criteria = criteria(&slo::parse(objective).unwrap(), &[], 0.99, None).unwrap();
        for (is_random, limit) in [(true, 10.0), (false, 10.0), (true, 25.0)] {
            let rate = edge(is_random, limit, share);
            let overwhelmed = |n: u64| -> f64 {
                let needed = misses_to_claim(&criteria, n, level)[0].unwrap_or(u64::MAX);
                let is = |seed: &u64| {
                    let late = stays(rate, is_random, n, *seed).filter(|&stay| stay > limit);
                    late.count() as u64 >= needed
                };
                (0..TRIALS).filter(is).count() as f64 / TRIALS as f64
            };
            for n in [50, 100, 200, 400] {
                let (first, second) = (overwhelmed(n), overwhelmed(2 * n));
                worst_of_one = worst_of_one.max(first);
                // Trials have arrivals of their own.
                let both = first * second;
                assert!(both < 0.2 * level, "{objective}, {limit}, {n}: {first} x {second}");
            }
        }
    }
    // One trial alone is wrong more often than a whole claim may be: hence two.
    assert!(worst_of_one > 2.0 * level, "{worst_of_one}");
}
