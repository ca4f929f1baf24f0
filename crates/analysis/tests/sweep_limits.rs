//! Tests how often the saturation that a sweep finds is wrong. The simulated servers have a known curve and noisy
//! figures.

use inferometer_analysis::growth::Growth;
use inferometer_analysis::sweep::{
    FigureEstimate, LevelTrial, NextLevel, Sweep, SweepAnswer, SweepEnding,
};
use inferometer_model::cell::CellPlan;
use inferometer_model::stats::seed;
use inferometer_plan::search::Over;
use inferometer_plan::sweep::SweepPlan;
use rand_chacha::ChaCha8Rng;

const SWEEPS: u64 = 200;

fn plan() -> SweepPlan {
    SweepPlan {
        by: Over::Concurrency,
        knee: 0.95,
        confidence: 0.95,
        precision: 0.25,
        highest: Some(1_024.0),
        max_requests: 1_000_000,
        max_trials: 40,
        max_time: None,
        gpus: None,
    }
}

/// A trial with these measured figures. Without a latency, each request takes 1 s.
fn trial(
    asked: NextLevel,
    completed: u64,
    requests_per_s: Option<FigureEstimate>,
    latency_ms: Option<FigureEstimate>,
) -> LevelTrial {
    let latency_s = latency_ms.map_or(1.0, |found| found.value / 1e3);
    LevelTrial {
        by: asked.by,
        load: asked.load,
        requests: asked.requests,
        unfinished: 0,
        completed,
        rate_limited: 0,
        cancelled: 0,
        counted: asked.requests / 2,
        latency_s,
        span_s: asked.requests as f64 * latency_s / asked.load,
        is_settled: true,
        has_equal_outputs: false,
        growth: None,
        requests_per_s,
        output_tokens_per_s: None,
        ttft_ms: None,
        tpot_ms: None,
        latency_ms,
    }
}

/// A figure that was measured with a random relative error.
fn measured(value: f64, error: f64, rng: &mut ChaCha8Rng) -> Option<FigureEstimate> {
    let found = value * (1.0 + error * seed::normal(rng));
    Some(FigureEstimate { value: found, variance: (error * found).powi(2), degrees: 4.0 })
}

/// A trial of a server whose throughput at concurrency N is N / (a + N / 20): at most 20 requests per second.
fn soft(asked: NextLevel, a: f64, rng: &mut ChaCha8Rng) -> LevelTrial {
    let throughput = asked.load / (a + asked.load / 20.0);
    // Longer trials have smaller errors.
    let error = 0.3 / (asked.requests as f64).sqrt();
    let requests_per_s = measured(throughput, error, rng);
    let latency_ms = measured(1e3 * asked.load / throughput, error, rng);
    trial(asked, asked.requests, requests_per_s, latency_ms)
}

#[test]
fn saturation_intervals_cover_the_limit_of_soft_curves_in_95_percent_of_sweeps() {
    for a in [0.1, 0.5, 2.0] {
        let holds = |trial: u64| {
            let mut rng = seed::rng(trial, &["soft", &a.to_string()]);
            let mut sweep = Sweep::new(&plan());
            // Later trials only search for the knee.
            while let Some(asked) = sweep.next().filter(|_| sweep.saturation().is_none()) {
                sweep.add_trial(soft(asked, a, &mut rng));
            }
            let cell = CellPlan { input_length: 64, output_length: 10 };
            let answer = SweepAnswer::of_sweep(cell, &sweep, None);
            let most = answer.saturation.expect("saturated").requests_per_s;
            most.low <= 20.0 && 20.0 <= most.high
        };
        let held = (0..SWEEPS).filter(|one| holds(*one)).count();
        assert!(held as u64 >= SWEEPS * 95 / 100, "a = {a}: {held} of {SWEEPS}");
    }
}

/// A trial of a server that works at 19, 20 or 21 requests per second. It keeps the same speed for a whole trial, so
/// the errors within the trial are small. At lower rates, the server keeps up with the arrivals.
fn of_several_speeds(asked: NextLevel, rng: &mut ChaCha8Rng) -> LevelTrial {
    let speed = [19.0, 20.0, 21.0][seed::below(rng, 3) as usize];
    let is_over = asked.by == Over::Rate && asked.load > 22.0;
    let throughput = if asked.by == Over::Rate { asked.load.min(speed) } else { 1.0 };
    let growth = is_over.then_some(Growth {
        per_s: asked.load - speed,
        low: 0.9 * (asked.load - speed),
        high: 1.1 * (asked.load - speed),
        arrived_per_s: asked.load,
        ended_per_s: speed,
        failed_per_s: 0.0,
        served_per_s: None,
        span_s: 60.0,
        before: 5.0,
        after: 500.0,
    });
    let latency_ms = if is_over { None } else { measured(1e3, 0.01, rng) };
    let found = trial(asked, asked.requests, measured(throughput, 0.002, rng), latency_ms);
    LevelTrial { growth, ..found }
}

#[test]
fn a_sweep_by_rate_covers_the_mean_speed_of_a_server_whose_trials_have_several_speeds() {
    let plan = SweepPlan { by: Over::Rate, precision: 0.05, max_requests: 30_000, ..plan() };
    let [mut held, mut found] = [0, 0];
    for number in 0..SWEEPS {
        let mut rng = seed::rng(number, &["speeds"]);
        let mut sweep = Sweep::new(&plan);
        while let Some(asked) = sweep.next() {
            sweep.add_trial(of_several_speeds(asked, &mut rng));
        }
        let cell = CellPlan { input_length: 64, output_length: 10 };
        let most = SweepAnswer::of_sweep(cell, &sweep, None).saturation.expect("saturated");
        held += u64::from(most.requests_per_s.low <= 20.0 && 20.0 <= most.requests_per_s.high);
        found += u64::from(sweep.outcome() == SweepEnding::Found);
    }
    assert!(held >= SWEEPS * 85 / 100, "{held} of {SWEEPS} intervals contain the mean");
    assert!(found >= SWEEPS * 95 / 100, "{found} of {SWEEPS} sweeps ended with an answer");
}

#[test]
fn a_constant_share_of_failures_is_seldom_taken_for_saturation() {
    for share in [0.05, 0.1, 0.3, 0.5] {
        let is_called = |number: u64| {
            let mut rng = seed::rng(number, &["shed", &share.to_string()]);
            let mut sweep = Sweep::new(&SweepPlan { highest: None, ..plan() });
            for doublings in 0..11 {
                let load = f64::from(1_u32 << doublings);
                let requests = ((12.0 * load) as u64).max(24);
                let asked = NextLevel { by: Over::Concurrency, load, requests };
                let failed = (0..requests)
                    .filter(|_| (seed::below(&mut rng, 1_000) as f64) < 1e3 * share)
                    .count();
                let completed = requests - failed as u64;
                let exactly = |value: f64| {
                    Some(FigureEstimate { value, variance: (0.002 * value).powi(2), degrees: 4.0 })
                };
                sweep.add_trial(trial(asked, completed, exactly(load), exactly(1e3)));
            }
            sweep.saturation().is_some()
        };
        let called = (0..SWEEPS).filter(|one| is_called(*one)).count();
        assert!(called as u64 <= SWEEPS * 5 / 100, "{share}: {called} of {SWEEPS}");
    }
}
