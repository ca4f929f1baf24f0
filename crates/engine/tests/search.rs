//! Searches on the embedded engine with noise, in virtual time. Tests how often the interval contains the true
//! value. `examples/search_coverage.rs` counts with more seeds and engines.

#[path = "support/search.rs"]
mod support;

use inferometer_engine::{EngineConfig, Noise};
use support::{Server, edge, plan, ratio, search, steps, wanted};

const SEEDS: u64 = 200;

#[test]
fn searches_on_a_noisy_engine_cover_the_limit_that_very_long_runs_show() {
    let noise = Some(Noise::parse("step=0.05").unwrap());
    let config = EngineConfig { noise, ..EngineConfig::of_model("chatglm3-6b").unwrap() };
    for (objective, whole) in [("ttft_p90<46ms", false), ("e2e_p50<700ms", true)] {
        let server = Server { config: config.clone(), lengths: (128, 32), random: false, whole };
        let criteria = wanted(objective, "", 0.9);
        let loads = match whole {
            true => (14..22).map(f64::from).collect(),
            false => steps(22.0, 28.0, 1.03),
        };
        let requests = if whole { 10_000 } else { 100_000 };
        let truths: Vec<f64> = (0..)
            .zip(&loads)
            .map(|(seed, &load)| {
                let played = server.seeded(1 << 40).play(&mut None, load, requests, seed);
                ratio(&criteria[0], &played)
            })
            .collect();
        let truth = edge(&loads, &truths).expect("an edge");
        let truth = if whole { truth.floor() } else { truth };
        let (mut held, mut near, mut narrow) = (0, 0, 0);
        for seed in 0..SEEDS {
            let found = search(&server, plan(criteria.clone(), whole, 6_000), seed);
            let (low, high) = found.interval(0);
            let (low, high) = (low.unwrap_or(0.0), high.unwrap_or(f64::INFINITY));
            held += u64::from(low <= truth && truth <= high);
            narrow += u64::from(high - low <= 2.0 || high < 1.5 * low);
            let estimate = found.estimate(0).expect("a load was met, so there is an answer");
            near += u64::from((estimate / truth).ln().abs() < 0.1);
        }
        // The intervals have a confidence of 95 %.
        assert!(held * 100 >= 93 * SEEDS, "{objective}: {held} of {SEEDS} contain {truth}");
        assert!(near * 10 >= 9 * SEEDS, "{objective}: {near} of {SEEDS} are near {truth}");
        assert!(narrow * 10 >= 9 * SEEDS, "{objective}: {narrow} of {SEEDS} are narrow");
    }
}
