//! Tests intervals with simulated servers. The mean over many seeds is taken as the true value. The intervals must
//! cover the true value about as often as they state.

use inferometer_model::fixture::steady;
use inferometer_model::load::Level;
use inferometer_model::load::arrival::Arrivals;
use inferometer_model::metrics::{e2e, ttft};
use inferometer_model::stats::{Distribution, seed};
use inferometer_model::{Bound, OpenPlan, OverLimit, PassPlan, Timeline};

use super::series::of_edge;
use crate::{PassFold, PassSummary};

mod groups;
mod random_lengths;

/// A closed loop on a server whose speed drifts. The duration of a request is its own random length times the current
/// speed, which is an autoregression over requests.
fn wandering(plan: &PassPlan, in_flight: usize, requests: usize, seed: u64) -> PassSummary {
    let mut rng = seed::rng(seed, &["wandering"]);
    let mut free_ms = vec![0.0_f64; in_flight];
    let (mut speed, mut prompts_ms, mut fold) = (0.0, 0.0, PassFold::new(plan));
    for index in 0..requests {
        let slot = (0..in_flight).min_by(|a, b| free_ms[*a].total_cmp(&free_ms[*b])).unwrap();
        let start_ms = free_ms[slot];
        speed = 0.9 * speed + 0.02 * seed::normal(&mut rng);
        let length = 1.0 + 0.5 * (seed::unit(&mut rng) - 0.5);
        // The prompts of the first wave are processed one after the other, so each request waits longer than the one
        // before.
        let varies = 1.0 + 0.1 * seed::normal(&mut rng).tanh();
        let ttft_ms = if index < in_flight { prompts_ms } else { 2.0 * varies } + 5.0 * varies;
        prompts_ms += 4.0 * varies;
        let gap_ms = 10.0 * length * speed.exp();
        let mut record = steady(start_ms, ttft_ms, gap_ms, 4);
        record.index = index as u32;
        fold.add(&Timeline::new(&record));
        free_ms[slot] = start_ms + ttft_ms + 3.0 * gap_ms;
    }
    fold.finish()
}

/// Poisson arrivals at a server that takes longer per request if more requests are in flight. On average, about
/// `in_flight` requests are in flight.
fn arriving(requests: usize, in_flight: usize, seed: u64) -> PassSummary {
    const GAP_MS: f64 = 20.0;
    let mut rng = seed::rng(seed, &["arriving"]);
    let plan = PassPlan::open(1_000.0 / GAP_MS, Bound::requests(requests as u32));
    let (mut now_ms, mut ends_ms, mut fold) = (0.0, Vec::new(), PassFold::new(&plan));
    for index in 0..requests {
        now_ms -= GAP_MS * (1.0 - seed::unit(&mut rng)).ln();
        ends_ms.retain(|end| *end > now_ms);
        let alone_ms = GAP_MS * in_flight as f64 / 2.0;
        let gap_ms = (alone_ms + GAP_MS / 2.0 * ends_ms.len() as f64) / 10.0;
        let mut record = steady(now_ms, gap_ms, gap_ms, 10);
        record.index = index as u32;
        fold.add(&Timeline::new(&record));
        ends_ms.push(now_ms + 10.0 * gap_ms);
    }
    fold.finish()
}

/// Among 200 passes: the number of passes whose interval covers the mean over all passes, and the number of passes that
/// have an interval.
fn held(
    requests: usize,
    in_flight: u32,
    of: impl Fn(&PassSummary) -> (f64, Option<[f64; 2]>),
) -> (usize, usize) {
    let plan = match in_flight {
        1 => PassPlan::one_by_one(Bound::requests(requests as u32)),
        _ => PassPlan::closed(in_flight, Bound::requests(requests as u32)),
    };
    held_in(|seed| of(&wandering(&plan, in_flight as usize, requests, seed)))
}

/// Like `held`, but for any value and interval that `of` computes from a seed.
fn held_in(of: impl Fn(u64) -> (f64, Option<[f64; 2]>)) -> (usize, usize) {
    let found: Vec<(f64, Option<[f64; 2]>)> = (0..200).map(of).collect();
    let truth = found.iter().map(|one| one.0).sum::<f64>() / found.len() as f64;
    let stated: Vec<[f64; 2]> = found.iter().filter_map(|one| one.1).collect();
    (stated.iter().filter(|[low, high]| *low <= truth && truth <= *high).count(), stated.len())
}

fn e2e_of(pass: &PassSummary) -> &Distribution {
    pass.latency(&e2e::FROM_SENT).unwrap()
}

#[test]
fn confidence_intervals_cover_the_true_value_at_about_their_nominal_rate() {
    let of_mean = |pass: &PassSummary| (e2e_of(pass).mean, e2e_of(pass).mean_ci);
    let of_median = |pass: &PassSummary| (e2e_of(pass).p50, e2e_of(pass).p50_ci);
    let of_rate = |pass: &PassSummary| (pass.requests_per_s.unwrap(), pass.requests_per_s_ci);
    let of_ttft = |pass: &PassSummary| {
        let values = pass.latency(&ttft::FROM_SENT).unwrap();
        (values.mean, values.mean_ci)
    };
    for (requests, in_flight) in [(100, 1), (400, 8), (400, 64)] {
        for (what, (held, stated)) in [
            ("mean", held(requests, in_flight, of_mean)),
            ("median", held(requests, in_flight, of_median)),
            ("requests/s", held(requests, in_flight, of_rate)),
            ("TTFT", held(requests, in_flight, of_ttft)),
        ] {
            // 190 of 200 intervals should cover the mean; three standard deviations are 9.
            let enough = stated >= 195 && 10 * held >= 9 * stated;
            assert!(enough, "{what}, {in_flight} in flight: {held} of {stated}");
        }
    }
}

#[test]
fn open_loop_intervals_cover_the_true_value_even_if_a_pass_is_hardly_longer_than_its_requests() {
    let of = |requests, seed| arriving(requests, 30, seed);
    let mean = |pass: PassSummary| (e2e_of(&pass).mean, e2e_of(&pass).mean_ci);
    let median = |pass: PassSummary| (e2e_of(&pass).p50, e2e_of(&pass).p50_ci);
    for (what, requests, (held, stated)) in [
        ("mean", 130, held_in(|seed| mean(of(130, seed)))),
        ("mean", 200, held_in(|seed| mean(of(200, seed)))),
        ("mean", 400, held_in(|seed| mean(of(400, seed)))),
        ("median", 400, held_in(|seed| median(of(400, seed)))),
    ] {
        let enough = stated >= 190 && 10 * held >= 9 * stated;
        assert!(enough, "{what} of {requests} requests: {held} of {stated}");
    }
    // Between the edges, fewer than 50 requests are left.
    let short = of(90, 1);
    assert_eq!(e2e_of(&short).mean_ci, None);
    let why = short.intervals.none_because.unwrap();
    let numbers: Vec<usize> = why.split([' ', ':']).filter_map(|word| word.parse().ok()).collect();
    let [90, in_flight, enough] = numbers[..] else { panic!("{why}") };
    assert_eq!(enough, 50 + 2 * in_flight);
    // There are too few groups of extreme values.
    let tails = (0..20).filter(|&seed| e2e_of(&of(400, seed)).p90_ci.is_some());
    assert_eq!(tails.count(), 0);
}

#[test]
fn the_width_of_an_interval_matches_the_expected_effect_of_slow_fluctuations() {
    let plan = PassPlan::closed(8, Bound::requests(400));
    let widths = (0..50).map(|seed| {
        let pass = wandering(&plan, 8, 400, seed);
        let [low, high] = e2e_of(&pass).mean_ci.unwrap();
        (high - low) / 2.0 / e2e_of(&pass).mean
    });
    // 30 of the 40 ms of a request vary: independently with a standard deviation of 0.144 from the length, and in the
    // long run with 0.02 / (1 - 0.9) from the speed. The mean is over 400 requests.
    let expected = 1.96 * 0.75 * (0.144_f64.powi(2) + 0.2_f64.powi(2)).sqrt() / 20.0;
    let mean = widths.sum::<f64>() / 50.0;
    assert!((0.9..1.6).contains(&(mean / expected)), "{mean} for {expected}");
}

#[test]
fn a_percentile_inside_the_first_wave_is_as_certain_as_the_times_of_its_prompts() {
    // The first 64 of 400 requests wait for the prompts before them, so the 90th percentile is one of their values.
    let plan = PassPlan::closed(64, Bound::requests(400));
    let p90 = |seed| {
        let pass = wandering(&plan, 64, 400, seed);
        let values = pass.latency(&ttft::FROM_SENT).unwrap();
        assert!(values.p99_ci.is_none() && values.effective_n <= Some(400.0), "{values:?}");
        (values.p90, values.p90_ci.unwrap())
    };
    let found: Vec<(f64, [f64; 2])> = (0..50).map(p90).collect();
    let truth = found.iter().map(|(value, _)| value).sum::<f64>() / 50.0;
    let half_ms = found.iter().map(|(_, [low, high])| (high - low) / 2.0).sum::<f64>() / 50.0;
    let held = found.iter().filter(|(_, [low, high])| (*low..=*high).contains(&truth)).count();
    // A prompt takes 4 ms. With independent values, the interval would extend over 13 prompts on each side.
    assert!(held >= 45 && half_ms < 6.0 * 4.0, "{held} of 50 hold, half the width is {half_ms} ms");
}

#[test]
fn passes_with_too_few_requests_have_no_interval_and_state_the_reason() {
    let of = |plan: PassPlan, requests: usize| wandering(&plan, 8, requests, 1);
    let short = of(PassPlan::closed(8, Bound::requests(20)), 20);
    assert_eq!((e2e_of(&short).mean_ci, short.requests_per_s_ci), (None, None));
    let why = short.intervals.none_because.unwrap();
    assert!(why.contains("20 requests") && why.contains("8 in flight: 32 are"), "{why}");
    let burst = of(PassPlan::saturated(100), 100);
    assert_eq!(e2e_of(&burst).mean_ci, None);
    assert!(burst.intervals.none_because.unwrap().contains("--repeat"));
    let long = of(PassPlan::closed(8, Bound::requests(400)), 400);
    let values = e2e_of(&long);
    assert_eq!((values.p99_ci, &long.intervals.none_because), (None, &None));
    assert!(values.p99_needs.unwrap() > 1_000 && values.effective_n.unwrap() < 400.0, "{values:?}");
}

/// One request at a time; an eighth of the requests are slow, and slow requests come in groups of `group`.
fn in_groups(group: usize, seed: u64) -> PassSummary {
    let mut rng = seed::rng(seed, &["groups"]);
    let plan = PassPlan::one_by_one(Bound::requests(2_000));
    let (mut now_ms, mut slow_left, mut fold) = (0.0, 0, PassFold::new(&plan));
    for index in 0..2_000 {
        if slow_left == 0 && seed::unit(&mut rng) < 1.0 / 7.0 / group as f64 {
            slow_left = group;
        }
        let (ttft_ms, varies_ms) = if slow_left > 0 { (36.0, 1.0) } else { (5.0, 30.0) };
        slow_left = slow_left.saturating_sub(1);
        let mut record = steady(now_ms, ttft_ms, varies_ms * seed::unit(&mut rng) / 3.0, 4);
        record.index = index;
        fold.add(&Timeline::new(&record));
        now_ms += 100.0;
    }
    fold.finish()
}

#[test]
fn a_99th_percentile_has_no_interval_if_slow_requests_come_in_too_few_groups() {
    let stated = |group| {
        let of = |seed: &u64| e2e_of(&in_groups(group, *seed)).p99_ci.is_some();
        (0..20_u64).filter(of).count()
    };
    let many = stated(1);
    assert!(many >= 18, "{many} of 20");
    let few = stated(10);
    assert!(few <= 2, "{few} of 20");
    // About 80 groups are too few for the 90th percentile too, and they increase the number of needed requests.
    let needs = e2e_of(&in_groups(30, 1)).p99_needs;
    assert!(needs > Some(12_000), "{needs:?}");
}

#[test]
fn equal_values_have_a_confidence_interval_of_width_zero() {
    let plan = PassPlan::open(100.0, Bound::requests(300));
    let mut fold = PassFold::new(&plan);
    for index in 0..300 {
        let mut record = steady(f64::from(index) * 10.0, 20.0, 15.0, 4);
        record.index = index;
        fold.add(&Timeline::new(&record));
    }
    let pass = fold.finish();
    let same = pass.latency(&inferometer_model::metrics::send_delay::DEFINITION).unwrap();
    assert_eq!((same.mean, same.mean_ci, same.effective_n), (0.0, Some([0.0; 2]), Some(300.0)));
    assert!(same.p99_needs < Some(2_000), "{:?}", same.p99_needs);
}

/// Arrivals above the capacity with at most 16 in flight and equally long answers. The server processes up to `prompts`
/// prompts in each step. A step takes 20 ms, and `prompt_ms` more for each prompt.
fn in_lockstep(prompts: usize, prompt_ms: f64, seed: u64) -> PassSummary {
    const LIMIT: usize = 16;
    const REQUESTS: usize = 320;
    const TOKENS: u32 = 40;
    let plan = PassPlan::Open(OpenPlan {
        rate: Level::Constant(1e3 / 60.0),
        arrivals: Arrivals::Poisson,
        scaled: true,
        bound: Bound::requests(REQUESTS as u32),
        max_in_flight: Some(LIMIT as u32),
        over_limit: OverLimit::Queue,
    });
    let mut rng = seed::rng(seed, &["lockstep"]);
    // Later requests are due before the limit allows them.
    let (mut first_ms, mut due_ms) = (Vec::new(), 0.0);
    for _ in 0..LIMIT {
        due_ms -= 60.0 * (1.0 - seed::unit(&mut rng)).ln();
        first_ms.push(due_ms);
    }
    let (mut now_ms, mut prefilled, mut fold) = (0.0_f64, 0, PassFold::new(&plan));
    let mut sent_ms: Vec<f64> = Vec::new();
    // Number, time of the first token, missing tokens.
    let mut running: Vec<(usize, f64, u32)> = Vec::new();
    loop {
        while sent_ms.len() < REQUESTS && running.len() + sent_ms.len() - prefilled < LIMIT {
            match first_ms.get(sent_ms.len()) {
                Some(&due_ms) if due_ms > now_ms => break,
                due_ms => sent_ms.push(due_ms.copied().unwrap_or(now_ms)),
            }
        }
        let count = (sent_ms.len() - prefilled).min(prompts);
        if count == 0 && running.is_empty() {
            let Some(&next_ms) = first_ms.get(sent_ms.len()) else { break };
            now_ms = next_ms;
            continue;
        }
        now_ms += (20.0 + prompt_ms * count as f64) * (0.05 * seed::normal(&mut rng)).exp();
        for (request, first_ms, missing) in &mut running {
            *missing -= 1;
            if *missing == 0 {
                let ttft_ms = *first_ms - sent_ms[*request];
                let gap_ms = (now_ms - *first_ms) / f64::from(TOKENS - 1);
                let mut record = steady(sent_ms[*request], ttft_ms, gap_ms, TOKENS);
                record.index = *request as u32;
                fold.add(&Timeline::new(&record));
            }
        }
        running.retain(|(_, _, missing)| *missing > 0);
        running.extend((prefilled..prefilled + count).map(|at| (at, now_ms, TOKENS - 1)));
        prefilled += count;
    }
    fold.finish()
}

#[test]
fn in_lockstep_the_intervals_cover_patterns_that_one_pass_does_not_show() {
    let passes: Vec<PassSummary> = (0..200).map(|seed| in_lockstep(2, 50.0, seed)).collect();
    let ttft = |seed: u64| *passes[seed as usize].latency(&ttft::FROM_SENT).unwrap();
    let e2e = |seed: u64| *e2e_of(&passes[seed as usize]);
    for (what, (held, stated)) in [
        ("TTFT", held_in(|seed| (ttft(seed).mean, ttft(seed).mean_ci))),
        ("median of TTFT", held_in(|seed| (ttft(seed).p50, ttft(seed).p50_ci))),
        ("E2E", held_in(|seed| (e2e(seed).mean, e2e(seed).mean_ci))),
        ("median of E2E", held_in(|seed| (e2e(seed).p50, e2e(seed).p50_ci))),
    ] {
        assert!(stated >= 190 && 10 * held >= 9 * stated, "{what}: {held} of {stated}");
    }
    let mean = ttft(0);
    assert!(mean.effective_n < Some(50.0) && mean.p99_needs.is_none(), "{mean:?}");
    // If all waiting prompts are processed together, they stay together, and the pass shows one pattern of few phases.
    let few = in_lockstep(16, 100.0, 1);
    assert_eq!(e2e_of(&few).mean_ci, None);
    assert!(few.intervals.none_because.as_ref().unwrap().contains("lockstep"), "{few:?}");
}

#[test]
fn the_variance_of_a_first_wave_that_scatters_far_more_includes_what_its_values_share() {
    // Neighbours differ by 6, so the variance of independent values is 6^2 / 2 = 18.
    let values = [1.0, 7.0, 1.0, 7.0, 1.0];
    assert_eq!(of_edge(&values, 1.0, 5.0, 4.0), 4.0 * 18.0);
    assert_eq!(of_edge(&values, 1.0, 5.0, 1.0), 18.0);
    // Here the values scatter like those of the middle, whose variance is then used.
    assert_eq!(of_edge(&values, 18.0, 5.0, 4.0), 5.0);
}
