//! Searches of the embedded engine in virtual time: how often the interval holds the edge that a fine
//! sweep finds, and what it costs beside one. `examples/search_coverage.rs` prints more of it.

#[path = "support/search.rs"]
mod support;

use inferometer_analysis::search::{Settings, misses_to_claim};
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
    println!("{held} of {SEEDS} hold {edge:.2}: {mean_requests} requests, a factor of {width:.2}");
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
    println!("a sweep of {} requests: a factor of {of_sweep:.2}", each * loads.len() as u64);
    assert!(
        of_sweep > width,
        "the sweep's factor of {of_sweep} for {} requests, the search's of {width} for \
         {mean_requests}",
        each * loads.len() as u64
    );
}

#[test]
fn a_load_at_the_edge_is_taken_for_a_hopeless_one_no_more_often_than_is_set_aside_for_it() {
    const TRIALS: u64 = 20_000;
    let config = EngineConfig::of_model("chatglm3-6b").unwrap();
    let server = Server { config, lengths: (64, 16), whole: false };
    // The edges by a fine sweep; requests of a trial are few, so that they share one crowd most.
    for (slo, edge, requests) in [
        ("tpot_p95<25ms", 18.1, 50),
        ("tpot_p95<25ms", 18.1, 100),
        ("tpot_p90<25ms", 20.2, 50),
        ("tpot_p90<25ms", 20.2, 100),
    ] {
        let criteria = wanted(slo, "", 0.99);
        let level = 0.05 / 40.0;
        let needed = misses_to_claim(&criteria, requests, level)[0].unwrap();
        let trial = |seed| server.trial(&criteria, edge, requests, seed);
        let wrong = (0..TRIALS).filter(|&seed| trial(seed).missed[0] >= needed).count();
        let allowed = 0.1 * level * TRIALS as f64;
        assert!(wrong as f64 <= allowed, "{slo}, {requests} requests: {wrong} of {TRIALS}");
        // Three times as high it is one.
        let beyond = |seed| server.trial(&criteria, 3.0 * edge, 2 * requests, seed);
        let needed = misses_to_claim(&criteria, 2 * requests, level)[0].unwrap();
        assert!((0..20).all(|seed| beyond(seed).missed[0] >= needed), "{slo}");
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
