//! Sweeps on the embedded engine with noise, in virtual time. Tests how often the intervals contain the true
//! value. Also tests how often growth of the number of requests in flight is reported, for rates below and above the
//! capacity of the server.

#[path = "support/search.rs"]
#[expect(dead_code, reason = "the tests of searches use the other functions")]
mod support;

use inferometer_analysis::stop::{GrowthFold, StopWatch};
use inferometer_analysis::sweep::{LevelFold, Sweep, SweepEnding};
use inferometer_engine::{EngineConfig, Noise, NoiseState};
use inferometer_model::load::{Bound, PassPlan};
use inferometer_model::metrics::RequestFigures;
use inferometer_model::stats::seed::{below, rng};
use inferometer_plan::search::Over;
use inferometer_plan::stop::StopPlan;
use inferometer_plan::sweep::SweepPlan;
use support::Server;

fn server(whole: bool) -> Server {
    let noise = Some(Noise::parse("step=0.05").expect("noise"));
    // A small limit of sequences, so that a low load saturates the server.
    let mut config =
        EngineConfig { noise, ..EngineConfig::of_model("chatglm3-6b").expect("a model") };
    config.max_num_seqs = Some(32);
    Server { config, lengths: (128, 32), random: false, whole }
}

fn plan(by: Over) -> SweepPlan {
    SweepPlan {
        by,
        knee: 0.95,
        confidence: 0.95,
        precision: if by == Over::Rate { 0.05 } else { 0.25 },
        highest: Some(1_024.0),
        max_requests: 30_000,
        max_trials: 40,
        max_time: None,
        gpus: None,
    }
}

/// Simulates requests with outputs of 8 to 56 tokens. With equal lengths, all requests would end together.
fn play(
    server: &Server,
    noise: &mut Option<NoiseState>,
    load: f64,
    requests: u64,
    seed: u64,
) -> Vec<RequestFigures> {
    let mut draw = rng(seed, &["lengths"]);
    let lengths: Vec<(u32, u32)> =
        (0..requests).map(|_| (128, 8 + below(&mut draw, 49) as u32)).collect();
    server.play_lengths(noise, (load, requests, seed), &mut lengths.into_iter())
}

/// Runs a sweep on a server. The seed determines the arrivals and the noise.
fn sweep(by: Over, seed: u64) -> Sweep {
    let (mut sweep, mut noise) = (Sweep::new(&plan(by)), None);
    while let Some(asked) = sweep.next() {
        let server = server(asked.by == Over::Concurrency).seeded(seed);
        let draw = below(&mut rng(seed, &["trial", &sweep.trials().to_string()]), u64::MAX);
        let played = play(&server, &mut noise, asked.load, asked.requests, draw);
        let of_plan = PassPlan::open(1.0, Bound::requests(1));
        let mut fold = LevelFold::of(&asked.pass(&of_plan), 0.95).expect("a load");
        played.iter().for_each(|figures| fold.add(figures));
        let before = sweep.trials();
        sweep.add_trial(fold.finish());
        assert_eq!(sweep.trials(), before + 1, "each trial counts");
    }
    sweep
}

/// Returns the requests/s with `in_flight` requests in flight, from a very long run.
fn throughput(in_flight: f64) -> f64 {
    let played = play(&server(true).seeded(1 << 40), &mut None, in_flight, 60_000, 7);
    let counted = &played[2_000..58_000];
    let stay = |one: &RequestFigures| one.ended.expect("an end").seconds_after(one.due);
    in_flight * counted.len() as f64 / counted.iter().map(stay).sum::<f64>()
}

/// Returns the completed requests/s at a rate above capacity, from a very long run.
fn capacity(rate: f64) -> f64 {
    let played = play(&server(false).seeded(1 << 40), &mut None, rate, 60_000, 7);
    let mut ends: Vec<_> = played.iter().map(|one| one.ended.expect("an end")).collect();
    ends.sort();
    let [from, until] = [2_000, 40_000].map(|at: usize| ends[at]);
    38_000.0 / until.seconds_after(from)
}

#[test]
fn saturation_and_knee_intervals_cover_the_values_of_very_long_runs() {
    let (closed, open) = (throughput(128.0), capacity(60.0));
    let knee = (1..64).map(f64::from).find(|load| throughput(*load) >= 0.95 * closed).unwrap();
    const SEEDS: u64 = 100;
    for by in [Over::Concurrency, Over::Rate] {
        let (mut saturated, mut bent, mut found) = (0, 0, 0);
        let mut requests = 0;
        let most = if by == Over::Rate { open } else { closed };
        for seed in 0..SEEDS {
            let sweep = sweep(by, seed);
            found += u64::from(sweep.outcome() == SweepEnding::Found);
            requests += sweep.requests();
            let [low, high] = sweep
                .saturation()
                .and_then(|level| level.requests_per_s)
                .map_or([0.0; 2], |it| it.interval(0.95));
            saturated += u64::from(low <= most && most <= high);
            let Some(at) = sweep.knee() else { continue };
            let truth = if by == Over::Rate { 0.95 * most } else { knee };
            // Numbers in flight are whole: round the bounds of the knee up.
            let up = |load: f64| if by == Over::Rate { load } else { (load - 1e-6).ceil() };
            bent += u64::from(at.low.is_none_or(|low| up(low) <= truth) && truth <= up(at.high));
        }
        println!(
            "{by}: {saturated} contain {most}, {bent} the knee {knee}, {found} found, {} requests",
            requests / SEEDS
        );
        assert!(saturated * 100 >= 93 * SEEDS, "{by}: {saturated} of {SEEDS} contain {most}");
        assert!(bent * 100 >= 93 * SEEDS, "{by}: {bent} of {SEEDS} contain the knee");
        assert!(found * 10 >= 9 * SEEDS, "{by}: {found} of {SEEDS} sweeps found the knee");
    }
}

#[test]
fn growth_is_detected_beyond_capacity_but_not_on_a_server_that_keeps_up() {
    let capacity = capacity(60.0);
    const SEEDS: u64 = 200;
    const REQUESTS: u64 = 2_000;
    let rule = StopPlan { when_saturated: true, at_error_rate: None };
    for (load, is_beyond) in [(0.7, false), (0.9, false), (1.2, true), (2.0, true), (5.0, true)] {
        let (mut claimed, mut stopped, mut sent) = (0, 0, 0);
        let pass = PassPlan::open(load * capacity, Bound::requests(REQUESTS as u32));
        for seed in 0..SEEDS {
            let played =
                play(&server(false).seeded(seed), &mut None, load * capacity, REQUESTS, seed);
            let mut fold = GrowthFold::of(&pass).expect("a rate");
            played.iter().for_each(|one| fold.add(one.due, one.first, one.ended, one.complete));
            claimed += u64::from(fold.finish().is_some_and(|growth| growth.is_shown()));
            let watch = StopWatch::of(rule, &pass).expect("a rule");
            if let Some((at, _)) = watch.stops_at(&played) {
                stopped += 1;
                sent += played.iter().filter(|one| one.due <= at).count();
            }
        }
        println!(
            "{load}: {claimed} claimed, {stopped} stopped after {} requests",
            sent / (stopped as usize).max(1)
        );
        for (what, count) in [("claimed", claimed), ("stopped", stopped)] {
            match is_beyond {
                true => assert!(count * 100 >= 95 * SEEDS, "{load}: {count} of {SEEDS} {what}"),
                false => assert!(count * 100 <= 5 * SEEDS, "{load}: {count} of {SEEDS} {what}"),
            }
        }
    }
}
