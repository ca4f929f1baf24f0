//! Runs searches on five simulated engines with noise, in virtual time. Measures how often the interval of a search
//! contains the true value, how wide the interval is, and the error of the estimate. Prints a line for each objective.
//! `conformance/search` has the latest results.
//!
//! Usage: `cargo run --example search_coverage -- [SEEDS [WORDS [MAX_REQUESTS [FIRST_SEED]]]]`. Runs only the
//! cases whose names contain WORDS.

#[path = "../tests/support/search.rs"]
mod support;

use std::sync::Mutex;

use inferometer_analysis::search::SearchEnding;
use inferometer_engine::{EngineConfig, Noise};
use support::{Server, edge, plan, ratio, search, steps, wanted};

struct Machine {
    name: &'static str,
    model: &'static str,
    lengths: (u32, u32),
    /// Whether the outputs have random lengths with this mean.
    random: bool,
    noise: &'static str,
    /// The range of rates, in requests/s, that contains the true values of all objectives over rates.
    rates: (f64, f64),
    /// The range of numbers of requests in flight that contains the true values of the other objectives.
    in_flight: (u32, u32),
    /// The texts of [`OBJECTIVES`].
    objectives: [&'static str; 8],
}

/// The names of the objectives. The search for that of the concurrency is over numbers in flight instead of rates.
const OBJECTIVES: [&str; 8] =
    ["TTFT p50", "TTFT p90", "TTFT p99", "TPOT p95", "E2E", "goodput 90 %", "concurrency", "mean"];
const OVER_IN_FLIGHT: &str = "concurrency";

const MACHINES: [Machine; 5] = inferometer_model::table! {
    Machine { name, model, lengths, random, noise, rates, in_flight, objectives }
    ("plain", "chatglm3-6b", (128, 32), false, "step=0.05", (14.0, 34.0), (10, 30), [
        "ttft_p50<33ms", "ttft_p90<46ms", "ttft_p99<63ms", "tpot_p95<40ms",
        "e2e_p50<1200ms", "ttft<60ms,tpot<45ms", "e2e_p50<700ms", "e2e_mean<1100ms"])
    ("preempting", "qwen-14b", (512, 256), false, "step=0.05", (0.7, 1.5), (4, 26), [
        "ttft_p50<200ms", "ttft_p90<1s", "ttft_p99<3s", "tpot_p95<45ms",
        "e2e_p50<10s", "ttft<1s,tpot<45ms", "e2e_p90<14s", "ttft_mean<1s"])
    ("bursty", "chatglm3-6b", (128, 32), false, "step=0.05,drift=0.05:5s,burst=0.001:10", (12.0, 34.0), (10, 30), [
        "ttft_p50<33ms", "ttft_p90<50ms", "ttft_p99<85ms", "tpot_p95<45ms",
        "e2e_p50<1100ms", "ttft<100ms,tpot<45ms", "e2e_p50<700ms", "e2e_mean<1100ms"])
    ("cliff", "llama-3-8b", (512, 128), false, "step=0.05", (5.0, 11.0), (20, 400), [
        "ttft_p50<500ms", "ttft_p90<500ms", "ttft_p99<500ms", "tpot_p95<150ms",
        "e2e_p50<15s", "ttft<500ms,tpot<150ms", "e2e_p50<15s", "ttft_mean<500ms"])
    ("random", "chatglm3-6b", (128, 32), true, "step=0.05", (10.0, 34.0), (8, 40), [
        "ttft_p50<33ms", "ttft_p90<46ms", "ttft_p99<63ms", "tpot_p95<50ms",
        "e2e_p90<2500ms", "ttft<60ms,tpot<45ms", "e2e_p90<1800ms", "e2e_mean<1100ms"])
};

/// The number of requests at each rate from which the true ratio of the measured value to the limit is computed. For a
/// fixed number of requests in flight, a third of these requests is enough.
const REQUESTS: u64 = 300_000;
/// The factor from one rate to the next.
const STEP: f64 = 1.02;

fn main() {
    let argument = |at| std::env::args().nth(at);
    let seeds = argument(1).map_or(40, |seeds| seeds.parse().expect("a number"));
    let words = argument(2).unwrap_or_default();
    let max_requests = argument(3).map_or(6_000, |most| most.parse().expect("a number"));
    let first = argument(4).map_or(0, |first| first.parse().expect("a number"));
    let (mut held, mut searches) = (0, 0);
    for machine in &MACHINES {
        for whole in [false, true] {
            let all = OBJECTIVES.into_iter().zip(machine.objectives);
            let is_wanted = |(name, _): &(&str, &str)| {
                let is_over_in_flight = *name == OVER_IN_FLIGHT;
                is_over_in_flight == whole && format!("{} {name}", machine.name).contains(&words)
            };
            let wanted: Vec<_> = all.filter(is_wanted).collect();
            let found = measure(machine, whole, &wanted, first..first + seeds, max_requests);
            (held, searches) = (held + found, searches + seeds * wanted.len() as u64);
        }
    }
    println!("total: {held} of {searches} intervals contain the true value");
}

fn measure(
    machine: &Machine,
    whole: bool,
    objectives: &[(&str, &str)],
    seeds: std::ops::Range<u64>,
    max_requests: u64,
) -> u64 {
    let noise = Some(Noise::parse(machine.noise).expect("noise"));
    let Machine { lengths, random, .. } = *machine;
    let config = EngineConfig::of_model(machine.model).expect("a model");
    let server = Server { config: EngineConfig { noise, ..config }, lengths, random, whole };
    let criteria: Vec<_> = objectives
        .iter()
        .map(|(name, text)| match name.starts_with("goodput") {
            true => wanted("", text, 0.9).remove(0),
            false => wanted(text, "", 0.9).remove(0),
        })
        .collect();
    if criteria.is_empty() {
        return 0;
    }
    let loads: Vec<f64> = match whole {
        false => steps(machine.rates.0, machine.rates.1, STEP),
        true => (machine.in_flight.0..machine.in_flight.1).map(f64::from).collect(),
    };
    let requests = if whole { REQUESTS / 3 } else { REQUESTS };
    let ratios: Vec<Vec<f64>> = on_all_cores(0..loads.len() as u64, |number| {
        let load = loads[number as usize];
        let requests = server.seeded(1 << 40).play(&mut None, load, requests, number);
        criteria.iter().map(|criterion| ratio(criterion, &requests)).collect()
    });
    let mut all = 0;
    for (index, (name, text)) in objectives.iter().enumerate() {
        let ratios: Vec<f64> = ratios.iter().map(|of_load| of_load[index]).collect();
        let Some(edge) = edge(&loads, &ratios) else {
            println!(
                "{} {name}: the true highest load is not within {:?}; ratios: {ratios:?}",
                machine.name, machine.rates
            );
            continue;
        };
        let edge = if whole { edge.floor() } else { edge };
        let (mut held, mut found, mut early, mut high_is_wrong) = (0, 0, 0, 0);
        let (mut widths, mut errors, mut signed, mut trials) =
            (Vec::new(), Vec::new(), Vec::new(), 0);
        let count = seeds.end - seeds.start;
        let searches = on_all_cores(seeds.clone(), |seed| {
            search(&server, plan(vec![criteria[index].clone()], whole, max_requests), seed)
        });
        for search in searches {
            let (low, high) = search.interval(0);
            found += u64::from(low.is_some() && high.is_some());
            early += u64::from(search.outcome() == SearchEnding::Found);
            trials += search.trials();
            let (low, high) = (low.unwrap_or(0.0), high.unwrap_or(f64::INFINITY));
            held += u64::from(low <= edge && edge <= high);
            high_is_wrong += u64::from(high < edge);
            widths.push(if whole { (high - low) / 2.0 } else { high / low });
            let error = search.estimate(0).map_or(f64::INFINITY, |it| it / edge - 1.0);
            signed.push(error);
            errors.push(error.abs());
        }
        widths.sort_by(f64::total_cmp);
        errors.sort_by(f64::total_cmp);
        signed.sort_by(f64::total_cmp);
        let at = |sorted: &[f64], share: f64| sorted[((sorted.len() - 1) as f64 * share) as usize];
        println!(
            "{:<10} {name:<12} {text:<22} true value {edge:7.3}: {held} of {count} intervals \
                contain it ({high_is_wrong} are below it), {found} have both ends, {early} \
                searches reached the precision; width: median {:.3}, p90 {:.3}; error of the \
                estimate: median {:+.1} %, p90 of its absolute value {:.1} %; {:.1} trials",
            machine.name,
            at(&widths, 0.5),
            at(&widths, 0.9),
            100.0 * at(&signed, 0.5),
            100.0 * at(&errors, 0.9),
            trials as f64 / count as f64,
        );
        all += held;
    }
    all
}

/// The results of a function for each number, in their order, computed on all cores.
fn on_all_cores<T: Send>(numbers: std::ops::Range<u64>, of: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let next = Mutex::new(numbers);
    let take = || next.lock().expect("no panic").next();
    let some = || std::iter::from_fn(take).map(|number| (number, of(number))).collect::<Vec<_>>();
    let mut found: Vec<(u64, T)> = std::thread::scope(|scope| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let started: Vec<_> = (0..cores).map(|_| scope.spawn(some)).collect();
        started.into_iter().flat_map(|it| it.join().expect("no panic")).collect()
    });
    found.sort_by_key(|(number, _)| *number);
    found.into_iter().map(|(_, value)| value).collect()
}
