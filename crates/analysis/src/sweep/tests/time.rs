//! Tests sweeps with a time limit, of servers that take seconds for each request.

use std::time::Duration;

use inferometer_model::metrics::Fate;
use inferometer_model::{Bound, Nanos, PassPlan, RequestFigures};
use inferometer_plan::search::Over;
use inferometer_plan::sweep::SweepPlan;

use super::{LevelTrial, NextLevel, Sweep, SweepEnding, answer, plan, trial};
use crate::sweep::{FigureEstimate, LevelFold};

fn within(seconds: u64) -> SweepPlan {
    SweepPlan { max_time: Some(Duration::from_secs(seconds)), ..plan() }
}

/// A trial of a server that completes at most `most` requests per second. A request takes at least `fastest_s`
/// seconds.
fn slow(asked: NextLevel, fastest_s: f64, most: f64) -> LevelTrial {
    let throughput = (asked.load / fastest_s).min(most);
    let exactly = |value: f64| {
        Some(FigureEstimate { value, variance: (0.002 * value).powi(2), degrees: 4.0 })
    };
    LevelTrial {
        latency_s: asked.load / throughput,
        span_s: asked.requests as f64 / throughput,
        requests_per_s: exactly(throughput),
        latency_ms: exactly(1e3 * asked.load / throughput),
        ..trial(asked, 1.0)
    }
}

#[test]
fn a_sweep_of_a_slow_server_ends_within_its_time_limit_and_has_an_answer() {
    // In each case: the duration of a request that is alone, in seconds; the most requests per second; a load that
    // the sweep must at least reach.
    for (fastest_s, most, top) in
        [(1.6, 2.0, 4.0), (1.0, 1e3, 32.0), (1.0, 1.0, 2.0), (0.1, 20.0, 4.0)]
    {
        let mut sweep = Sweep::new(&within(60));
        while let Some(asked) = sweep.next() {
            sweep.add_trial(slow(asked, fastest_s, most));
        }
        assert!(sweep.time_s() <= 60.0, "{fastest_s}, {most}: {}", sweep.time_s());
        let highest = sweep.levels().last().map(|level| level.load);
        assert!(highest.is_some_and(|highest| highest >= top), "{fastest_s}, {most}: {highest:?}");
        let told = answer(&sweep).answer;
        let has_answer =
            told.contains("The server saturates at") || told.contains("so the knee lies above");
        assert!(has_answer, "{told}");
    }
}

#[test]
fn without_saturation_the_answer_states_the_growth_and_bounds_of_knee_and_throughput() {
    let mut sweep = Sweep::new(&within(60));
    for load in [1.0, 2.0, 4.0] {
        let asked = NextLevel { by: Over::Concurrency, load, requests: 24 };
        sweep.add_trial(slow(asked, 1.6, 2.0));
    }
    sweep.time_is_over();
    let found = answer(&sweep);
    assert_eq!((found.outcome, found.knee_above), (SweepEnding::TimeSpent, Some(2.0)));
    for words in [
        "up to 4 in flight, ",
        "time limit left too little for another trial: throughput is 2",
        "at this load (60.0 % more than with 2 in flight)",
        "the knee lies above 2 in flight",
        "at saturation is at least 1.99",
    ] {
        assert!(found.answer.contains(words), "{words}: {}", found.answer);
    }
}

#[test]
fn a_load_without_a_steady_state_is_not_repeated_while_throughput_clearly_grows() {
    let mut sweep = Sweep::new(&plan());
    let mut loads = Vec::new();
    while let Some(asked) = sweep.next().filter(|_| loads.len() < 8) {
        loads.push(asked.load);
        let is_settled = asked.load != 4.0 || asked.requests > 48;
        sweep.add_trial(LevelTrial { is_settled, ..trial(asked, 1.0) });
    }
    assert_eq!(loads[..6], [1.0, 2.0, 4.0, 8.0, 16.0, 32.0], "{loads:?}");
}

#[test]
fn time_outside_of_trials_counts_for_the_time_limit() {
    let mut sweep = Sweep::new(&within(60));
    let first = sweep.next().expect("a trial");
    sweep.add_trial(trial(first, 1.0));
    let before = sweep.next().expect("a trial");
    sweep.set_time(50.0);
    let after = sweep.next().expect("a trial");
    assert!(after.requests < before.requests, "{before:?}, {after:?}");
    sweep.set_time(58.0);
    assert_eq!((sweep.next(), sweep.outcome()), (None, SweepEnding::TimeSpent));
}

/// A closed loop of `all` requests with two requests in flight. Each of the first `ended` requests takes 1 s. The
/// next two are cut off after 0.4 s, and the others are never sent.
fn requests(ended: u32, all: u32) -> LevelFold {
    let pass = PassPlan::closed(2, Bound::requests(all));
    let mut fold = LevelFold::of(&pass, 0.95).expect("a load");
    for index in 0..all {
        let due = Nanos::ZERO + Duration::from_secs(u64::from(index / 2));
        let fate = match index {
            _ if index < ended => Fate::Ended,
            _ if index < ended + 2 => Fate::CutOff,
            _ => Fate::NeverSent,
        };
        let end = due + Duration::from_millis(if fate == Fate::Ended { 1_000 } else { 400 });
        fold.add(&RequestFigures {
            index,
            fate,
            due,
            sent: Some(due),
            ended: Some(end),
            complete: fate == Fate::Ended,
            output_tokens: 8,
            ..RequestFigures::default()
        });
    }
    fold
}

#[test]
fn requests_in_flight_at_the_time_limit_count_as_if_they_took_the_mean_time() {
    let cut = requests(24, 48).finish_cut().expect("figures");
    let counts = (cut.requests, cut.completed, cut.cancelled, cut.unfinished);
    assert_eq!(counts, (26, 24, 2, 0));
    assert_eq!(LevelTrial { completed: 26, cancelled: 0, ..cut }, requests(26, 26).finish());
    // Four completed requests are too few for figures.
    assert_eq!(requests(4, 48).finish_cut(), None);
}

#[test]
fn a_long_request_in_flight_at_the_time_limit_lowers_the_throughput() {
    let pass = PassPlan::closed(2, Bound::requests(48));
    let mut fold = LevelFold::of(&pass, 0.95).expect("a load");
    // Two requests are in flight, and each takes 1 s. One request is an exception: it is due at 5 s, and is still in
    // flight at 20 s.
    let short = (0..20).chain(0..5).map(|due| (due, 1));
    for (index, (due, taken)) in (0..).zip(short.chain([(5, 15)])) {
        let due = Nanos::ZERO + Duration::from_secs(due);
        let is_long = taken > 1;
        fold.add(&RequestFigures {
            index,
            fate: if is_long { Fate::CutOff } else { Fate::Ended },
            due,
            sent: Some(due),
            ended: Some(due + Duration::from_secs(taken)),
            complete: !is_long,
            output_tokens: 8,
            ..RequestFigures::default()
        });
    }
    let cut = fold.finish_cut().expect("figures");
    assert_eq!(cut.completed, 25);
    // Without the long request, the throughput would be two requests per second.
    let found = cut.requests_per_s.expect("a figure").value;
    assert!((1.1..1.5).contains(&found), "{found}");
}

#[test]
fn in_little_time_each_load_is_tried_on_the_way_up_and_again_on_the_way_down() {
    let mut sweep = Sweep::new(&within(60));
    let mut loads = Vec::new();
    while let Some(asked) = sweep.next() {
        loads.push(asked.load);
        sweep.add_trial(slow(asked, 0.4, 8.0));
    }
    assert_eq!(loads[..6], [1.0, 4.0, 16.0, 4.0, 16.0, 1.0], "{loads:?}");
    assert!(sweep.time_s() <= 60.0, "{}", sweep.time_s());
}

#[test]
fn the_intervals_of_a_sweep_in_little_time_hold_although_the_server_is_faster_in_some_trials() {
    use inferometer_model::stats::seed::{normal, rng};
    let (mut held, mut stated) = (0, 0);
    for seed in 0..200 {
        let mut rng = rng(seed, &["changes"]);
        let mut sweep = Sweep::new(&within(60));
        while let Some(asked) = sweep.next() {
            let speed = (0.05 * normal(&mut rng)).exp();
            sweep.add_trial(slow(asked, 0.4 / speed, 8.0 * speed));
        }
        for level in sweep.levels().iter().filter(|level| level.by == Over::Concurrency) {
            let [low, high] = level.requests_per_s.expect("a rate").interval(0.95);
            stated += 1;
            held += u32::from((low..=high).contains(&(level.load / 0.4).min(8.0)));
        }
    }
    assert!(f64::from(held) >= 0.9 * f64::from(stated), "{held} of {stated}");
}
