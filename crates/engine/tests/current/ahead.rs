//! Tests an engine that schedules one step ahead, and its front end, in virtual time.

use inferometer_engine::profile::{StepConstants, profile};
use inferometer_engine::{Engine, EngineConfig, simulate};
use inferometer_model::load::{Bound, Open};
use inferometer_model::time::Nanos;

#[test]
fn with_asynchronous_scheduling_a_request_that_arrives_during_a_step_waits_one_more_step() {
    let waits = |ahead: bool| {
        let mut config = EngineConfig::of_model("qwen3-14b").expect("a known model");
        config.profile = profile("vllm-0.23-h100-sxm").expect("a known profile");
        let steps = config.profile.steps.as_mut().expect("a profile with costs of steps");
        steps.asynchronous = Some(ahead);
        let front_ns = (steps.front_us * 1e3) as u64;
        let mut engine = Engine::new(config).expect("an engine");
        // The second request arrives after 300 ms, while the first decodes.
        let due = [Nanos(0), Nanos(300_000_000)].into_iter();
        let mut lengths = [(100, 100), (1000, 2)].into_iter();
        let load = &mut Open::new(due, Bound::requests(2));
        let found = simulate(&mut engine, load, &mut lengths);
        let first = found[1].first_token.expect("a token").since(found[1].sent);
        (first.as_nanos() as u64 - front_ns) as f64 / 1e6
    };
    // The wait is the rest of a step of 11 ms, and the prompt step of 41 ms. An engine that schedules ahead adds a
    // step.
    let (alone, ahead) = (waits(false), waits(true));
    assert!((40.0..54.0).contains(&alone), "{alone}");
    assert!((9.0..13.0).contains(&(ahead - alone)), "{ahead} {alone}");
}

/// TTFT in ms of requests of 1,000 tokens that arrive at these times in ms, one sequence after the other.
fn ttft_at(at_ms: &[u64], change: impl Fn(&mut StepConstants)) -> Vec<f64> {
    let mut config = EngineConfig::of_model("qwen3-14b").expect("a known model");
    config.profile = profile("vllm-0.23-h100-sxm").expect("a known profile");
    let steps = config.profile.steps.as_mut().expect("a profile with costs of steps");
    (steps.front_us, steps.front_sequence_us, steps.waking_us) = (0.0, 0.0, 0.0);
    change(steps);
    let mut engine = Engine::new(config).expect("an engine");
    let mut lengths = std::iter::repeat((1000, 1));
    let due = at_ms.iter().map(|ms| Nanos(ms * 1_000_000));
    let load = &mut Open::new(due, Bound::requests(at_ms.len() as u32));
    let found = simulate(&mut engine, load, &mut lengths);
    found.iter().map(|it| it.first_token.expect("a token").ms_after(it.sent)).collect()
}

#[test]
fn a_prompt_soon_after_others_takes_longer_and_after_a_long_rest_it_does_not() {
    let alone = ttft_at(&[0], |_| ())[0];
    // The second prompt begins 2 ms, 60 ms or 1 s after the end of the first one.
    for (begin_ms, longer) in [(2, 2.7..4.0), (60, 0.4..1.2), (1000, 0.0..0.001)] {
        let second = ttft_at(&[0, alone as u64 + begin_ms], |_| ())[1];
        assert!(longer.contains(&(second - alone)), "{begin_ms}: {second} {alone}");
    }
    // Prompts with short breaks: the time of a step approaches a limit.
    let steady = ttft_at(&(0..12).map(|at| at * 50).collect::<Vec<_>>(), |_| ());
    let last = steady[11] - alone;
    assert!(last > 3.5 && last < 6.0 && steady[11] - steady[10] < 0.1, "{steady:?}");
}

#[test]
fn only_the_first_step_after_a_time_without_requests_wakes_the_engine() {
    let waking = |steps: &mut StepConstants| steps.waking_us = 500_000.0;
    let (with, without) = (ttft_at(&[0, 10, 3000], waking), ttft_at(&[0, 10, 3000], |_| ()));
    let more: Vec<f64> = with.iter().zip(&without).map(|(with, without)| with - without).collect();
    // The second request waits for the first one.
    for (more, expected) in more.iter().zip([500.0, 500.0, 500.0]) {
        assert!((more - expected).abs() < 5.0, "{more}");
    }
}

/// TTFT in ms of three requests that are sent at once. `of` sets the times of the front end.
fn first_tokens(of: fn(&mut StepConstants)) -> Vec<f64> {
    let mut config = EngineConfig::of_model("qwen3-14b").expect("a known model");
    config.profile = profile("vllm-0.23-h100-sxm").expect("a known profile");
    let steps = config.profile.steps.as_mut().expect("a profile with costs of steps");
    (steps.front_us, steps.front_sequence_us) = (10_000.0, 0.0);
    of(steps);
    let mut engine = Engine::new(config).expect("an engine");
    let mut lengths = std::iter::repeat((100, 2));
    let load = &mut Open::new([Nanos(0); 3].into_iter(), Bound::requests(3));
    let found = simulate(&mut engine, load, &mut lengths);
    found.iter().map(|it| it.first_token.expect("a token").ms_after(it.sent)).collect()
}

#[test]
fn a_front_end_delays_a_request_by_its_own_time_and_by_that_of_earlier_requests() {
    let own = first_tokens(|steps| steps.front_service_us = 200_000.0);
    let others = first_tokens(|steps| steps.front_sequence_us = 200_000.0);
    for first in [own, others] {
        // Each request leaves the front end 200 ms after the previous one, and finds an idle engine.
        assert!((10.0..40.0).contains(&first[0]), "{first:?}");
        for (one, next) in first.iter().zip(&first[1..]) {
            assert!((next - one - 200.0).abs() < 0.001, "{first:?}");
        }
    }
}
