//! Searches of the embedded engine in virtual time: how often the interval holds the edge that a fine
//! sweep finds, and what it costs beside one. `examples/search_coverage.rs` prints more of it.

#[path = "support/search.rs"]
mod support;

use inferometer_core::search::Settings;
use inferometer_engine::EngineConfig;
use support::{Server, search, steps, sweep, truth, wanted};

const SEEDS: u64 = 200;
/// A sweep is judged by as many: it costs more.
const SWEEPS: u64 = 9;

#[test]
fn the_interval_holds_the_edge_of_a_fine_sweep_for_a_fifth_of_its_requests() {
    let config = EngineConfig::of_model("chatglm3-6b").unwrap();
    let server = Server { config, lengths: (64, 16), whole: false };
    // Two objectives: the one on TTFT holds wherever the other does.
    let criteria = wanted("tpot_p95<25ms,ttft_p99<500ms", "", 0.99);
    let edge = truth(&server, &criteria[0], &steps(16.0, 21.0, 1.02), 100_000);
    let settings = Settings {
        criteria: criteria.clone(),
        start: 1.0,
        stride: 2.0,
        lowest: 1e-3,
        highest: None,
        whole: false,
        confidence: 0.95,
        precision: 0.05,
        max_requests: 10_000,
        max_trials: 40,
        latency_s: None,
    };
    let (mut held, mut requests, mut widths) = (0, 0, Vec::new());
    for seed in 0..SEEDS {
        let found = search(&server, settings.clone(), seed);
        requests += found.requests();
        let (low, high) = found.interval();
        let (low, high) = (low.unwrap_or(0.0), high.unwrap_or(f64::INFINITY));
        held += u64::from(low <= edge && edge <= high);
        widths.push(high / low);
    }
    let mean_requests = requests / SEEDS;
    let width = median(widths);
    // 95 % are promised of a server whose requests were as independent as they are taken for.
    eprintln!("{held} of {SEEDS} hold {edge}; {mean_requests} requests, a factor of {width}");
    assert!(held * 100 >= 93 * SEEDS, "{held} of {SEEDS} hold {edge}");
    assert!(width < 1.6, "an interval of a factor of {width}");

    // A sweep in steps of the same precision, over a range that somebody who does not know the edge
    // would choose, with five times as many requests: its interval is wider still.
    let loads = steps(1.0, 64.0, 1.05);
    let each = 5 * mean_requests / loads.len() as u64;
    let interval = |seed| sweep(&server, &criteria, &loads, each, seed);
    let of_sweep = median(
        (0..SWEEPS)
            .map(|seed| match interval(seed) {
                (Some(low), Some(high)) => high / low,
                _ => f64::INFINITY,
            })
            .collect(),
    );
    assert!(
        of_sweep > width,
        "the sweep's factor of {of_sweep} for {} requests, the search's of {width} for \
         {mean_requests}",
        each * loads.len() as u64
    );
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
