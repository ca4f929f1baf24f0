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
