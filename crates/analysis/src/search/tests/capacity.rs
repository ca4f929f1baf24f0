//! Tests the capacity that is computed from trials, and how it bounds the edge.

use super::super::edges::edge;
use super::super::rates::Rates;
use super::*;

/// A settled trial at a rate whose requests all meet the objective, or all miss it.
fn settled(load: f64, requests: u64, meets: bool, rates: Option<Rates>) -> Trial {
    let search = Search::new(plan("ttft_p90<1s"));
    let asked = NextTrial { load, requests };
    Trial { rates, ..trial(&search, asked, if meets { -1.0 } else { 2.0 }, 1) }
}

fn edge_of(trials: &[Trial]) -> TierEdge {
    let trials: Vec<_> = trials.iter().map(|trial| (trial.clone(), None)).collect();
    edge(&plan("ttft_p90<1s"), &[0], &trials)
}

#[test]
fn a_load_above_the_rate_at_which_a_saturated_server_serves_is_above_the_edge() {
    let served = Rates { arrived_per_s: 12.0, served_per_s: 10.0, error: 0.1 };
    // The queue grew too slowly for a miss.
    let trials = [settled(9.0, 4_000, true, None), settled(12.0, 1_000, true, Some(served))];
    let found = edge_of(&trials);
    assert!(found.high.is_some_and(|high| (10.0..=10.2).contains(&high)), "{found:?}");
    assert_eq!((found.good, found.bad), (Some(9.0), Some(12.0)));
    assert!(found.estimate.is_some_and(|it| (9.0..=10.0).contains(&it)), "{found:?}");
    // Without a saturated trial, no capacity is known.
    let as_many = Rates { arrived_per_s: 10.1, ..served };
    let trials = [settled(9.0, 4_000, true, None), settled(12.0, 1_000, true, Some(as_many))];
    assert_eq!(edge_of(&trials).bad, None);
}

#[test]
fn a_trial_shows_no_steady_state_for_loads_at_which_its_queue_could_grow_unnoticed() {
    let low_after = |requests: u64| {
        let trials = [settled(10.0, requests, true, None), settled(10.5, 2_000, false, None)];
        edge_of(&trials).low.expect("a lower end")
    };
    let (short, long) = (low_after(400), low_after(40_000));
    assert!(short <= 9.0 + 1e-9, "2 / sqrt(400) = 0.1: {short}");
    assert!((9.5..=9.9).contains(&long), "2 / sqrt(40,000) = 0.01: {long}");
}

/// The rates of a trial. Requests arrive at `rate` per second. The server serves `capacity` requests per second, one
/// after the other. Each answer takes at least 2 s.
fn rates(rate: f64, capacity: f64, requests: u32) -> Option<Rates> {
    let pass = PassPlan::open(rate, Bound::requests(requests));
    let mut fold = TrialFold::of(&pass, &of_slo("ttft_p90<1s")).unwrap();
    let mut free = 0.0_f64;
    for number in 0..requests {
        let due = f64::from(number) / rate;
        free = free.max(due) + 1.0 / capacity;
        let mut one = figures(due * 1e3, (free + 2.0) * 1e3, 1.0);
        (one.index, one.first) = (number, Some(Nanos::ZERO + Duration::from_secs_f64(free)));
        fold.add(&one);
    }
    fold.finish().rates
}

#[test]
fn the_rates_of_a_trial_are_those_at_which_requests_arrived_and_were_served() {
    for (rate, capacity) in [(12.0, 10.0), (8.0, 10.0)] {
        let found = rates(rate, capacity, 1_000).expect("rates");
        let served = rate.min(capacity);
        assert!((found.arrived_per_s / rate - 1.0).abs() < 0.01, "{found:?}");
        assert!((found.served_per_s / served - 1.0).abs() < 0.02, "{found:?}");
    }
    assert_eq!(rates(12.0, 10.0, 40), None);
}
