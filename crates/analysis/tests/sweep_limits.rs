//! Tests how often the limits of a sweep are wrong: sweeps of simulated servers with a known curve and noisy figures.

use inferometer_analysis::sweep::{FigureEstimate, LevelTrial, NextLevel, Sweep, SweepAnswer};
use inferometer_model::cell::CellPlan;
use inferometer_plan::search::Over;
use inferometer_plan::sweep::SweepPlan;
use inferometer_stats::seed;
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
        counted: asked.requests / 2,
        latency_s,
        span_s: asked.requests as f64 * latency_s / asked.load,
        is_settled: true,
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
