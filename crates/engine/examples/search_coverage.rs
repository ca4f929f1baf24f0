//! How often a search's interval holds the edge that a fine sweep finds, how wide it is, and what it
//! costs beside a sweep that reaches the same precision: prints the figures of docs/search.md.
//!
//! `cargo run --release --example search_coverage -- [SEEDS [no-sweep]]`

#[path = "../tests/support/search.rs"]
mod support;

use inferometer_analysis::search::Settings;
use inferometer_engine::EngineConfig;
use support::{Server, search, steps, sweep, truth, wanted};

/// Seeds that a sweep is judged by.
const SWEEPS: u64 = 20;

struct Case {
    name: &'static str,
    slo: &'static str,
    goodput: &'static str,
    whole: bool,
    model: &'static str,
    lengths: (u32, u32),
    /// The loads between which the edge lies.
    around: (f64, f64),
    /// The bounds of the sweep.
    bounds: (f64, f64),
    max_requests: u64,
    precision: f64,
}

fn main() {
    let seeds = std::env::args().nth(1).map_or(200, |seeds| seeds.parse().expect("a number"));
    let base = Case {
        name: "tpot p95",
        slo: "tpot_p95<25ms",
        goodput: "",
        whole: false,
        model: "chatglm3-6b",
        lengths: (64, 16),
        around: (14.0, 24.0),
        bounds: (1.0, 64.0),
        max_requests: 20_000,
        precision: 0.05,
    };
    let cases = [
        Case { ..base },
        Case { name: "tpot p99", slo: "tpot_p99<25ms", around: (12.0, 17.0), ..base },
        Case {
            name: "ttft p99",
            slo: "ttft_p99<100ms",
            around: (68.0, 85.0),
            bounds: (1.0, 128.0),
            ..base
        },
        Case {
            name: "goodput 90 %",
            slo: "",
            goodput: "ttft<60ms,tpot<22ms",
            around: (8.0, 24.0),
            ..base
        },
        Case {
            name: "concurrency",
            slo: "tpot_p95<25ms",
            whole: true,
            around: (2.0, 100.0),
            bounds: (1.0, 64.0),
            ..base
        },
    ];
    for case in &cases {
        measure(case, seeds);
    }
}

fn measure(case: &Case, seeds: u64) {
    let config = EngineConfig::of_model(case.model).expect("a model");
    let server = Server { config, lengths: case.lengths, whole: case.whole };
    let share = if case.goodput.is_empty() { 0.99 } else { 0.9 };
    let criteria = wanted(case.slo, case.goodput, share);
    let around = match case.whole {
        true => steps(case.around.0, case.around.1, 1.0001).into_iter().map(f64::round).fold(
            Vec::new(),
            |mut loads, load| {
                if loads.last() != Some(&load) {
                    loads.push(load);
                }
                loads
            },
        ),
        false => steps(case.around.0, case.around.1, 1.01),
    };
    let edge = truth(&server, &criteria[0], &around, 400_000);
    let settings = Settings {
        criteria: criteria.clone(),
        start: if case.whole { 8.0 } else { 1.0 },
        stride: 2.0,
        lowest: if case.whole { 1.0 } else { 1e-3 },
        highest: None,
        whole: case.whole,
        confidence: 0.95,
        precision: case.precision,
        max_requests: case.max_requests,
        max_trials: 40,
        latency_s: None,
    };
    let (mut held, mut whole) = (0, 0);
    let (mut requests, mut trials, mut widths) = (0, 0, Vec::new());
    for seed in 0..seeds {
        let found = search(&server, settings.clone(), seed);
        requests += found.requests();
        trials += found.trials();
        if let (Some(low), Some(high)) = found.interval() {
            whole += 1;
            held += u64::from(low <= edge && edge <= high);
            widths.push(high / low - 1.0);
        } else {
            widths.push(f64::INFINITY);
        }
    }
    widths.sort_by(f64::total_cmp);
    let median = widths[widths.len() / 2];
    println!(
        "{}: edge {edge:.3}; {held} of {seeds} hold it ({whole} have both ends); width median \
         {:.1} %, p90 {:.1} %; {} requests, {:.1} trials in the mean",
        case.name,
        100.0 * median,
        100.0 * widths[widths.len() * 9 / 10],
        requests / seeds,
        trials as f64 / seeds as f64
    );
    if case.whole || std::env::args().nth(2).is_some() {
        return;
    }
    let loads = steps(case.bounds.0, case.bounds.1, 1.0 + case.precision);
    let mut each = 250;
    loop {
        let mut widths: Vec<f64> = (0..SWEEPS)
            .map(|seed| match sweep(&server, &criteria, &loads, each, seed) {
                (Some(low), Some(high)) => high / low - 1.0,
                _ => f64::INFINITY,
            })
            .collect();
        widths.sort_by(f64::total_cmp);
        let width = widths[widths.len() / 2];
        let all = each * loads.len() as u64;
        let times = all as f64 / (requests as f64 / seeds as f64);
        println!(
            "  sweep of {} loads x {each}: width median {:.1} %, {all} requests, {times:.1} times",
            loads.len(),
            100.0 * width
        );
        if width <= median || each > 60_000 {
            return;
        }
        each *= 2;
    }
}
