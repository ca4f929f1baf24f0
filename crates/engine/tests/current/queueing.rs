//! An engine that runs one sequence at a time is a single-server queue. Its utilisation and mean waiting time have
//! closed forms.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use inferometer_engine::profile::profile;
use inferometer_engine::{Engine, EngineConfig, VirtualRecord, simulate};
use inferometer_model::load::{Bound, PassPlan, load_model};
use inferometer_model::time::Nanos;

/// An engine with one sequence at a time, without front-end time, step-ahead scheduling and prefix cache. The time of a
/// step does not depend on earlier steps.
fn engine() -> Engine {
    let mut config = EngineConfig::of_model("llama-3.1-8b").expect("a known model");
    config.profile = profile("vllm-0.8-l40s").expect("a known profile");
    let steps = config.profile.steps.as_mut().expect("a profile with [steps]");
    (steps.front_us, steps.front_sequence_us, steps.waking_us) = (0.0, 0.0, 0.0);
    config.max_num_seqs = Some(1);
    config.prefix_caching = Some(false);
    Engine::new(config).expect("an engine")
}

/// Simulates requests with these prompt lengths and one output token each, with Poisson arrivals.
fn played(rate_per_s: f64, prompts: &[u32], seed: u64) -> Vec<VirtualRecord> {
    let requests = u32::try_from(prompts.len()).expect("few enough");
    let load = PassPlan::open(rate_per_s, Bound::requests(requests));
    let mut lengths = prompts.iter().map(|&prompt| (prompt, 1));
    simulate(&mut engine(), &mut *load_model(&load, seed), &mut lengths)
}

/// Returns the service times: how long each prompt takes on an idle engine, in nanoseconds.
fn services(prompts: &[u32]) -> Vec<u64> {
    let mut known: HashMap<u32, u64> = HashMap::new();
    let of = |&prompt: &u32| {
        *known.entry(prompt).or_insert_with(|| {
            let alone = played(1.0, &[prompt], 0);
            alone[0].ended.since(alone[0].sent).as_nanos() as u64
        })
    };
    prompts.iter().map(of).collect()
}

/// Returns varied lengths. Each is independent of the previous one, as the closed form requires.
fn varied(count: usize) -> Vec<u32> {
    let mut state = DefaultHasher::new();
    let next = |at: usize| {
        at.hash(&mut state);
        50 + (state.finish() % 1500) as u32
    };
    (0..count).map(next).collect()
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

#[test]
fn each_request_starts_at_its_arrival_or_at_the_end_of_the_previous_request() {
    let prompts = varied(3000);
    let services = services(&prompts);
    for (rate_per_s, seed) in [(10.0, 1), (40.0, 2), (90.0, 3)] {
        let mut free = Nanos::ZERO;
        for (record, service) in played(rate_per_s, &prompts, seed).iter().zip(&services) {
            free = Nanos(free.max(record.due).0 + service);
            assert_eq!(record.ended, free, "{rate_per_s}");
        }
    }
}

#[test]
fn mean_waiting_time_and_utilization_agree_with_the_pollaczek_khinchine_formula() {
    for prompts in [vec![700; 60_000], varied(60_000)] {
        let services: Vec<f64> =
            services(&prompts).into_iter().map(|service| service as f64 * 1e-9).collect();
        let first = mean(services.iter().copied());
        let second = mean(services.iter().map(|service| service * service));
        for asked in [0.3, 0.7] {
            let found = played(asked / first, &prompts, 7);
            let span = found[found.len() - 1].due.seconds_after(found[0].due);
            let rate = (found.len() - 1) as f64 / span;
            let utilisation = rate * first;
            let expected = rate * second / (2.0 * (1.0 - utilisation));
            let in_system = mean(found.iter().map(|it| it.ended.seconds_after(it.due)));
            let waited = in_system - first;
            let error = waited / expected - 1.0;
            assert!(error.abs() < 0.06, "{asked}: waited {waited}, expected {expected}");
            let busy: f64 = services.iter().sum();
            let end = found[found.len() - 1].ended.seconds_after(found[0].due);
            assert!((busy / end / asked - 1.0).abs() < 0.02, "{asked}: {}", busy / end);
        }
    }
}
