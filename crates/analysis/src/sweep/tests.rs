//! Tests sweeps of simulated servers with known curves.

mod time;

use std::time::Duration;

use inferometer_plan::search::Over;
use inferometer_plan::sweep::SweepPlan;

use super::{
    FigureEstimate, KneeAnswer, LevelTrial, NextLevel, Sweep, SweepAnswer, SweepEnding, sentence,
};
use inferometer_model::CellPlan;

fn plan() -> SweepPlan {
    SweepPlan {
        by: Over::Concurrency,
        knee: 0.95,
        confidence: 0.95,
        precision: 0.25,
        highest: Some(1_024.0),
        max_requests: 30_000,
        max_trials: 40,
        max_time: None,
        gpus: Some(2),
    }
}

/// A trial of a server that completes 1 request per second for each request in flight, at most 20 per second. Above 100
/// in flight, the throughput falls to the share `falls_to` of this maximum.
fn trial(asked: NextLevel, falls_to: f64) -> LevelTrial {
    let most = if asked.load > 100.0 { 20.0 * falls_to } else { 20.0 };
    let requests_per_s = asked.load.min(most);
    let latency_s = asked.load / requests_per_s;
    let exactly = |value: f64| {
        Some(FigureEstimate { value, variance: (0.002 * value).powi(2), degrees: 4.0 })
    };
    LevelTrial {
        by: asked.by,
        load: asked.load,
        requests: asked.requests,
        unfinished: 0,
        completed: asked.requests,
        rate_limited: 0,
        cancelled: 0,
        counted: asked.requests / 2,
        latency_s,
        span_s: asked.requests as f64 / requests_per_s,
        is_settled: true,
        has_equal_outputs: false,
        growth: None,
        requests_per_s: exactly(requests_per_s),
        output_tokens_per_s: exactly(10.0 * requests_per_s),
        ttft_ms: exactly(100.0),
        tpot_ms: exactly(1e3 * latency_s / 10.0),
        latency_ms: exactly(1e3 * latency_s),
    }
}

fn swept(plan: &SweepPlan, falls_to: f64) -> Sweep {
    let mut sweep = Sweep::new(plan);
    while let Some(asked) = sweep.next() {
        sweep.add_trial(trial(asked, falls_to));
    }
    sweep
}

fn answer(sweep: &Sweep) -> SweepAnswer {
    SweepAnswer::of_sweep(CellPlan { input_length: 64, output_length: 10 }, sweep, None)
}

#[test]
fn a_sweep_doubles_the_load_and_then_refines_around_the_knee() {
    let sweep = swept(&plan(), 1.0);
    assert_eq!(sweep.outcome(), SweepEnding::Found);
    let loads: Vec<f64> = sweep.levels().iter().map(|level| level.load).collect();
    assert!(
        [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0].iter().all(|load| loads.contains(load)),
        "{loads:?}"
    );
    assert!(loads.iter().all(|load| *load <= 64.0), "{loads:?}");
    // 95 % of the throughput at saturation need 19 in flight.
    let knee = sweep.knee().expect("a knee");
    assert!((18.5..19.5).contains(&knee.load), "{knee:?}");
    assert!(knee.low.is_some_and(|low| low <= 19.0) && knee.high >= 19.0, "{knee:?}");
    let found = answer(&sweep);
    let told = sentence(&found);
    assert!(
        told.starts_with("One user: first token after 100 ms (99 to 101), then 10.0 tokens/s (")
            && told.contains("The server saturates at 20.0 requests/s (95 % interval: 19."),
        "{told}"
    );
    assert!(
        told.contains("the knee is at 19 in flight (") || told.contains("the knee is at 20"),
        "{told}"
    );
    // Up to 20 in flight, every request takes one second.
    assert!(told.contains("throughput is 95 % of") && told.contains(" takes 1 s (1 s"), "{told}");
    assert_eq!(found.levels[0].tokens_per_s_per_gpu.map(|ends| ends.value), Some(5.0));
    // Up to 20 in flight each user has the same speed, so more in flight is better. Above 20, each user gets less.
    let front = found.levels.iter().filter(|level| level.is_on_front).map(|level| level.load);
    let front: Vec<f64> = front.collect();
    assert!(!front.is_empty() && front.iter().all(|load| (17.0..32.0).contains(load)), "{front:?}");
}

#[test]
fn the_latency_at_a_knee_is_stated_once_if_the_knee_is_the_load_with_which_it_is_compared() {
    let found = answer(&swept(&plan(), 20.0));
    let knee = found.knee.clone().expect("a knee");
    for (load, is_compared) in [(knee.latency_of, false), (knee.latency_of - 1.0, true)] {
        let knee = Some(KneeAnswer { load, latency_ratio: Some(1.0), ..knee.clone() });
        let told = sentence(&SweepAnswer { knee, ..found.clone() });
        let (_, latency) = told.split_once("and a request takes ").expect("a latency");
        assert_eq!(latency.contains(" in flight)"), is_compared, "{told}");
    }
}

#[test]
fn a_sweep_ends_when_the_server_limits_its_clients_and_says_so_instead_of_a_saturation() {
    let mut sweep = Sweep::new(&plan());
    while let Some(asked) = sweep.next() {
        // The server admits 8 requests at a time, and refuses a tenth of them from there on.
        let rate_limited = if asked.load < 8.0 { 0 } else { asked.requests / 10 };
        let completed = asked.requests - rate_limited;
        sweep.add_trial(LevelTrial { rate_limited, completed, ..trial(asked, 1.0) });
    }
    let mut found = answer(&sweep);
    assert_eq!(found.outcome, SweepEnding::RateLimited);
    assert_eq!(found.levels.last().map(|level| level.load), Some(8.0));
    found.set_rate_limit(Some("HTTP status 429: 8 requests at a time"));
    let words = " with 8 in flight (HTTP status 429: 8 requests at a time); without refusals: 4.00 requests/s";
    assert!(found.answer.contains(words), "{}", found.answer);
}

#[test]
fn a_load_at_which_throughput_pauses_is_not_saturated_if_more_load_clearly_adds_to_it() {
    let mut sweep = Sweep::new(&plan());
    for (load, most) in [(1.0, 2.93), (3.0, 3.08), (8.0, 3.5)] {
        let asked = NextLevel { by: Over::Concurrency, load, requests: 96 };
        let exactly = |value: f64| {
            Some(FigureEstimate { value, variance: (0.002 * value).powi(2), degrees: 4.0 })
        };
        let latency_ms = exactly(1e3 * load / most);
        sweep.add_trial(LevelTrial {
            requests_per_s: exactly(most),
            latency_ms,
            ..trial(asked, 1.0)
        });
    }
    assert_eq!(sweep.saturation().map(|level| level.load), Some(8.0));
}

#[test]
fn a_sweep_ends_at_each_limit_and_names_it() {
    let bounds: [(SweepPlan, SweepEnding, &str); 4] = [
        (
            SweepPlan { highest: Some(8.0), ..plan() },
            SweepEnding::NotSaturated,
            "the highest load tried: throughput is 8",
        ),
        (SweepPlan { max_requests: 200, ..plan() }, SweepEnding::RequestsSpent, "on requests"),
        (SweepPlan { max_trials: 3, ..plan() }, SweepEnding::TrialsSpent, "on trials"),
        (
            SweepPlan { max_time: Some(Duration::from_secs(60)), ..plan() },
            SweepEnding::TimeSpent,
            "the time limit",
        ),
    ];
    for (plan, outcome, words) in bounds {
        let sweep = swept(&plan, 1.0);
        assert_eq!(sweep.outcome(), outcome);
        let told = answer(&sweep).answer;
        assert!(told.contains(". No saturation "), "{told}");
        assert!(told.contains(words), "{told}");
        let codes = super::findings(&[answer(&sweep)], &[]);
        assert_eq!(codes.len(), 1, "{codes:?}");
    }
}

#[test]
fn a_server_whose_throughput_falls_after_its_peak_is_saturated_at_the_peak() {
    let sweep = swept(&plan(), 0.8);
    // Loads above 100 in flight, where throughput falls, are not tried.
    assert_eq!(sweep.saturation().map(|level| level.load), Some(32.0));
    let beyond = NextLevel { by: Over::Concurrency, load: 128.0, requests: 1_024 };
    let (mut one, mut other) = (Sweep::new(&plan()), Sweep::new(&plan()));
    for load in [1.0, 64.0] {
        one.add_trial(trial(NextLevel { load, ..beyond }, 0.8));
        other.add_trial(trial(NextLevel { load, ..beyond }, 1.0));
    }
    one.add_trial(trial(beyond, 0.8));
    other.add_trial(trial(beyond, 1.0));
    assert_eq!(one.saturation().map(|level| level.load), Some(64.0));
    assert_eq!(one.falls_beyond().map(|level| level.load), Some(128.0));
    assert_eq!(other.saturation().map(|level| level.load), Some(128.0));
    assert_eq!(other.falls_beyond(), None);
    assert!(answer(&one).answer.contains("; at 128 in flight the throughput"));
}

#[test]
fn an_incomplete_trial_is_ignored_and_a_trial_without_completed_requests_ends_the_sweep() {
    let mut sweep = Sweep::new(&plan());
    let first = sweep.next().expect("a trial");
    sweep.add_trial(LevelTrial { unfinished: 1, ..trial(first, 1.0) });
    assert_eq!((sweep.trials(), sweep.next()), (0, Some(first)));
    let told = answer(&sweep).answer;
    assert!(told.starts_with("So far, nothing was measured: no trial "), "{told}");
    let nothing = LevelTrial { completed: 0, requests_per_s: None, ..trial(first, 1.0) };
    sweep.add_trial(nothing);
    assert_eq!(sweep.outcome(), SweepEnding::NothingCompleted);
}

/// A trial of a server with gradual saturation: X = N / (1 + N / 20) per second. The server refuses all requests above
/// `takes` in flight.
fn soft(asked: NextLevel, takes: f64) -> LevelTrial {
    let sent = asked.load.min(takes);
    let most = sent / (1.0 + sent / 20.0);
    let exactly = |value: f64| {
        Some(FigureEstimate { value, variance: (0.001 * value).powi(2), degrees: 4.0 })
    };
    let completed = (asked.requests as f64 * sent / asked.load) as u64;
    LevelTrial {
        completed,
        requests_per_s: exactly(most).filter(|_| completed > 0),
        latency_ms: exactly(1e3 * sent / most).filter(|_| completed > 0),
        ..trial(asked, 1.0)
    }
}

#[test]
fn the_saturation_interval_covers_the_limit_that_a_server_approaches_slowly() {
    let mut sweep = Sweep::new(&SweepPlan { max_requests: 1_000_000, ..plan() });
    while let Some(asked) = sweep.next() {
        sweep.add_trial(soft(asked, f64::INFINITY));
    }
    let found = answer(&sweep);
    let most = found.saturation.as_ref().expect("saturated").requests_per_s;
    assert!(most.low <= 20.0 && 20.0 <= most.high, "{}", found.answer);
    // The sentence says what was measured: nothing above 512 in flight was tried.
    for words in [
        "with 512 in flight (3.8 % more than with 256 in flight); ",
        "and a request takes 11.7 s (26.6 s with 512 in flight).",
    ] {
        assert!(found.answer.contains(words), "{}", found.answer);
    }
}

#[test]
fn a_server_that_refuses_excess_requests_is_saturated_at_the_load_below() {
    for takes in [40.0, 0.0] {
        let mut sweep = Sweep::new(&SweepPlan { max_requests: 1_000_000, ..plan() });
        while let Some(asked) = sweep.next() {
            // If `takes` is 0, all requests are refused as soon as more than 32 are in flight.
            let takes = if asked.load > 32.0 { takes } else { asked.load };
            sweep.add_trial(soft(asked, takes));
        }
        assert_eq!(sweep.outcome(), SweepEnding::Found, "{takes}");
        assert_eq!(sweep.saturation().map(|level| level.load), Some(32.0), "{takes}");
        let told = answer(&sweep).answer;
        assert!(told.contains("; at 64 in flight ") && told.contains("requests failed"), "{told}");
    }
}

#[test]
fn a_sweep_by_rate_finds_the_best_rate_at_which_the_server_kept_up_and_no_negative_knee_bound() {
    use crate::growth::Growth;
    let plan = SweepPlan { by: Over::Rate, ..plan() };
    let mut sweep = Sweep::new(&plan);
    let at = |by, load, gives: f64, error: f64| LevelTrial {
        requests_per_s: Some(FigureEstimate {
            value: gives,
            variance: error * error,
            degrees: 4.0,
        }),
        ..trial(NextLevel { by, load, requests: 500 }, 1.0)
    };
    let growth = Growth {
        per_s: 10.0,
        low: 5.0,
        high: 15.0,
        arrived_per_s: 32.0,
        ended_per_s: 20.0,
        failed_per_s: 0.0,
        served_per_s: None,
        span_s: 60.0,
        before: 5.0,
        after: 500.0,
    };
    sweep.add_trial(at(Over::Concurrency, 1.0, 1.0, 0.01));
    sweep.add_trial(LevelTrial { growth: Some(growth), ..at(Over::Rate, 32.0, 20.0, 10.0) });
    let low = sweep.knee().and_then(|knee| knee.low);
    assert!(low.is_some_and(|low| low >= 0.0), "{low:?}");
    // With outputs of equal length, all trials share an error of up to 2 %.
    let ends = |has_equal_outputs: bool| {
        let mut sweep = Sweep::new(&plan);
        let over = LevelTrial { growth: Some(growth), ..at(Over::Rate, 33.0, 20.0, 0.1) };
        sweep.add_trial(LevelTrial { has_equal_outputs, ..over });
        let found = answer(&sweep);
        let (most, knee) = (found.saturation.expect("saturated").requests_per_s, found.knee);
        let knee = knee.expect("a knee");
        [most.low, most.high, knee.low.expect("an end"), knee.high]
    };
    for ((wide, narrow), times) in ends(true).iter().zip(ends(false)).zip([0.98, 1.02, 0.98, 1.02])
    {
        assert!((wide / narrow - times).abs() < 1e-9, "{wide} {narrow}");
    }
    let mut sweep = Sweep::new(&plan);
    sweep.add_trial(LevelTrial { growth: Some(growth), ..at(Over::Rate, 33.0, 20.0, 0.1) });
    sweep.add_trial(at(Over::Rate, 31.0, 31.0, 0.1));
    let most = sweep.saturation().map(|level| level.load);
    assert_eq!(most, Some(31.0));
}

#[test]
fn the_time_limit_ends_a_sweep_even_within_its_first_trial() {
    let mut sweep = Sweep::new(&SweepPlan { max_time: Some(Duration::from_secs(60)), ..plan() });
    assert!(sweep.next().is_some());
    sweep.time_is_over();
    assert_eq!((sweep.outcome(), sweep.next()), (SweepEnding::TimeSpent, None));
    let told = answer(&sweep).answer;
    assert!(told.contains("the time limit was reached before enough"), "{told}");
}

#[test]
fn a_trial_at_a_rate_fits_into_the_remaining_time_or_the_sweep_ends() {
    let plan = |most: u64| SweepPlan {
        by: Over::Rate,
        max_time: Some(Duration::from_secs(most)),
        ..plan()
    };
    // The trial with one request in flight takes 12 s, 1 s for each request.
    for (most, ends) in [(118, false), (108, true)] {
        let mut sweep = Sweep::new(&plan(most));
        let first = sweep.next().expect("a trial");
        sweep.add_trial(trial(first, 1.0));
        match sweep.next() {
            Some(asked) => {
                assert!(!ends, "{most}: {asked:?}");
                assert!(sweep.time_s() + sweep.seconds(asked) <= most as f64, "{most}: {asked:?}");
            }
            None => assert!(ends, "{most}"),
        }
    }
}
