//! Tests of load models. They call the models step by step, without a server.

use crate::load::arrival::Arrivals;
use crate::{CellPlan, Nanos, OverLimit};

use proptest::prelude::*;
use std::time::Duration;

use super::*;

const ENDED: EndedRequest = EndedRequest { conversation: 0, call: 0, complete: true };

fn ms(value: u64) -> Nanos {
    Nanos(value * 1_000_000)
}

#[test]
fn a_closed_loop_makes_the_next_request_due_when_one_ends() {
    let mut load = Closed::new(&2.into(), Bound::requests(3));
    assert_eq!(load.next_due(), Due::At(Nanos::ZERO));
    load.take();
    assert_eq!(load.next_due(), Due::At(Nanos::ZERO));
    load.take();
    assert_eq!(load.next_due(), Due::AfterEnd);
    load.ended(ms(7), ENDED);
    assert_eq!(load.next_due(), Due::At(ms(7)));
    load.take();
    load.ended(ms(9), ENDED);
    assert_eq!(load.next_due(), Due::Never);
}

#[test]
fn a_faster_load_has_the_same_arrivals_compressed_in_time() {
    let dues = |pass: &PassPlan| -> Vec<f64> {
        let mut load = load_model(pass, 7);
        std::iter::from_fn(|| {
            let Due::At(due) = load.next_due() else { return None };
            load.take();
            Some(due.0 as f64)
        })
        .collect()
    };
    let of_time = Bound { requests: None, duration: Some(Duration::from_secs(3)) };
    for bound in [Bound::requests(50), of_time] {
        let pass = PassPlan::open(20.0, bound);
        let faster = pass.faster(1.25).expect("an open load");
        let (dues, faster) = (dues(&pass), dues(&faster));
        assert!(dues.len() > 10 && dues.len() == faster.len(), "{} {}", dues.len(), faster.len());
        for (due, sooner) in dues.iter().zip(&faster) {
            assert!((due / 1.25 - sooner).abs() < 10.0, "{due} {sooner} ns");
        }
    }
    assert_eq!(PassPlan::closed(4, Bound::requests(50)).faster(1.25), None);
}

#[test]
fn a_closed_loop_starts_no_more_requests_than_its_count() {
    let mut load = Closed::new(&8.into(), Bound::requests(2));
    load.take();
    load.take();
    assert_eq!(load.next_due(), Due::Never);
}

#[test]
fn a_time_bound_ends_a_closed_loop() {
    let duration = Some(Duration::from_millis(10));
    let mut load = Closed::new(&1.into(), Bound { requests: None, duration });
    load.take();
    load.ended(ms(9), ENDED);
    assert_eq!(load.next_due(), Due::At(ms(9)));
    load.take();
    load.ended(ms(10), ENDED);
    assert_eq!(load.next_due(), Due::Never);
}

#[test]
fn the_at_once_load_has_all_requests_due_at_the_start() {
    let mut load = AtOnce::new(2);
    load.take();
    load.ended(ms(5), ENDED);
    assert_eq!(load.next_due(), Due::At(Nanos::ZERO));
    load.take();
    assert_eq!(load.next_due(), Due::Never);
}

#[test]
fn an_open_loop_does_not_wait_for_requests_to_end() {
    let arrivals = [ms(1), ms(4), ms(4), ms(9)].into_iter();
    let mut load = Open::new(arrivals, Bound::requests(3));
    for expected in [1, 4, 4] {
        assert_eq!(load.next_due(), Due::At(ms(expected)));
        load.take();
    }
    assert_eq!(load.next_due(), Due::Never);
}

/// Runs a model with requests that each take the time `takes`. Returns the due times and the highest
/// number of requests in flight.
fn played(load: &mut dyn LoadModel, takes: Duration) -> (Vec<Nanos>, usize) {
    let (mut due, mut ends) = (Vec::new(), std::collections::VecDeque::new());
    let mut most = 0;
    loop {
        let next_end = ends.front().copied();
        match load.next_due() {
            // The end of a request at the same instant is processed first, because it frees a place.
            Due::At(at) if next_end.is_none_or(|end| at < end) => {
                load.take();
                due.push(at);
                ends.push_back(at + takes);
            }
            _ => match ends.pop_front() {
                Some(end) => load.ended(end, ENDED),
                None => break,
            },
        }
        most = most.max(ends.len());
    }
    (due, most)
}

fn stage(seconds: u64, from: f64, to: f64) -> Stage {
    Stage { duration: Duration::from_secs(seconds), from, to, curve: Curve::Linear }
}

#[test]
fn a_concurrency_ramp_adds_requests_at_its_own_times_even_if_none_ends() {
    // The concurrency rises from 1 to 3 in 4 s, and each request takes 10 s. The concurrency is rounded to the
    // nearest whole number: from 1 s on (1.5) it is 2, from 3 s on (2.5) it is 3.
    let mut load = Closed::new(&Level::Stages(vec![stage(4, 1.0, 3.0)]), Bound::none());
    let (due, most) = played(&mut load, Duration::from_secs(10));
    assert_eq!((due, most), (vec![ms(0), ms(1_000), ms(3_000)], 3));
}

#[test]
fn when_the_concurrency_falls_ended_requests_are_not_replaced() {
    let level = Level::Stages(vec![stage(2, 3.0, 3.0), stage(2, 1.0, 1.0)]);
    let (due, most) = played(&mut Closed::new(&level, Bound::none()), ms_span(1_500));
    // Three requests are due at 0 s and three at 1.5 s. At 3 s the concurrency is 1, and from 4 s on it is
    // zero.
    assert_eq!(due, [0, 0, 0, 1_500, 1_500, 1_500, 3_000].map(ms));
    assert_eq!(most, 3);
}

#[test]
fn a_stage_with_concurrency_zero_pauses_a_closed_loop_until_the_next_stage() {
    let level = Level::Stages(vec![stage(1, 1.0, 1.0), stage(9, 0.0, 0.0), stage(1, 2.0, 2.0)]);
    let (due, _) = played(&mut Closed::new(&level, Bound::none()), ms_span(600));
    assert_eq!(due, [0, 600, 10_000, 10_000, 10_600, 10_600].map(ms));
}

fn ms_span(value: u64) -> Duration {
    Duration::from_millis(value)
}

fn open(rate: Level, arrivals: Arrivals, bound: Bound) -> PassPlan {
    let (max_in_flight, over_limit) = (None, OverLimit::Queue);
    PassPlan::Open(OpenPlan { rate, arrivals, scaled: false, bound, max_in_flight, over_limit })
}

fn due(pass: &PassPlan) -> Vec<Nanos> {
    let mut load = load_model(pass, 5);
    played(&mut *load, Duration::from_secs(3600)).0
}

#[test]
fn constant_arrivals_do_not_drift_in_a_day() {
    let bound = Bound::requests(3 * 86_400);
    let pass = open(3.0.into(), Arrivals::Constant, bound);
    let mut load = load_model(&pass, 5);
    (0..3 * 86_400 - 1).for_each(|_| load.take());
    assert_eq!(load.next_due(), Due::At(Nanos(86_399_666_666_666)));
}

#[test]
fn the_number_of_arrivals_of_a_rate_ramp_is_the_area_under_it() {
    let rate = Level::Stages(vec![stage(10, 0.0, 20.0), stage(10, 20.0, 20.0)]);
    let pass = open(rate, Arrivals::Constant, Bound::none());
    let due = due(&pass);
    // There are 100 requests in the ramp and 200 after it. Request k of the ramp is due at sqrt(k) seconds.
    assert_eq!(due.len(), 300);
    assert_eq!(due[25], ms(5_000));
    assert_eq!(due[100..102], [ms(10_000), ms(10_050)]);
    assert_eq!(pass.last_due_s(1.0), 20.0);
}

#[test]
fn a_schedule_ends_at_its_count_or_its_duration_whichever_comes_first() {
    for (requests, duration, expected) in [
        (Some(7), None, 7),
        (None, Some(Duration::from_secs(3)), 30),
        (Some(7), Some(Duration::from_secs(3)), 7),
        (Some(70), Some(Duration::from_secs(3)), 30),
    ] {
        let pass = open(10.0.into(), Arrivals::Constant, Bound { requests, duration });
        assert_eq!(due(&pass).len(), expected, "{requests:?} {duration:?}");
    }
}

#[test]
fn scaled_arrivals_have_exactly_the_requested_rate_and_unscaled_ones_vary() {
    let pass = |scaled, rate: f64, bound| {
        PassPlan::Open(OpenPlan {
            rate: rate.into(),
            arrivals: Arrivals::Poisson,
            scaled,
            bound,
            max_in_flight: None,
            over_limit: OverLimit::Queue,
        })
    };
    let counted = |scaled| due(&pass(scaled, 60.0, Bound::requests(100)));
    assert_eq!(counted(true).last(), Some(&Nanos(1_666_666_666)));
    assert_ne!(counted(false).last(), counted(true).last());
    let bound = Bound { requests: None, duration: Some(Duration::from_secs(5)) };
    assert_eq!(due(&pass(true, 20.0, bound)).len(), 100);
    let at_once = due(&pass(true, f64::INFINITY, Bound::requests(3)));
    assert_eq!(at_once, [Nanos::ZERO; 3]);
    // In plans that were stored before this key existed, arrivals are not scaled.
    let stored = serde_json::to_string(&pass(false, 60.0, bound)).unwrap();
    assert!(!stored.contains("scaled"), "{stored}");
    assert_eq!(serde_json::from_str::<PassPlan>(&stored).unwrap(), pass(false, 60.0, bound));
}

#[test]
fn arrivals_of_the_first_repeat_are_those_of_vllm_for_each_cell_and_rate() {
    let pass = |rate: f64| {
        PassPlan::Open(OpenPlan {
            rate: rate.into(),
            arrivals: Arrivals::of_vllm(1.0),
            scaled: true,
            bound: Bound::requests(4),
            max_in_flight: None,
            over_limit: OverLimit::Queue,
        })
    };
    let cell = |input_length| CellPlan { input_length, output_length: 32 };
    // The first gaps of numpy.random.exponential() after numpy.random.seed(0).
    let gaps = [0.79587450816311, 1.2559307629658378, 0.9232231458040688, 0.7872011523172707];
    let sum: f64 = gaps.iter().sum();
    for (rate, input_length) in [(2.0, 128), (8.0, 512)] {
        let pass = pass(rate);
        let mut load = load_model(&pass, pass.seed(0, cell(input_length), 1));
        let mut expected_s = 0.0;
        for gap in gaps {
            expected_s += gap * 4.0 / rate / sum;
            let Due::At(at) = load.next_due() else { panic!("an arrival") };
            assert!((at.seconds_after(Nanos::ZERO) - expected_s).abs() < 2e-9, "{at:?}");
            load.take();
        }
    }
    // The second repeat of one seed must not have the arrivals of the first repeat of the next seed.
    // Otherwise, runs with neighbouring seeds would share arrivals.
    assert_eq!(pass(2.0).seed(5, cell(128), 1), 5);
    assert_ne!(pass(2.0).seed(5, cell(128), 2), pass(2.0).seed(6, cell(128), 1));
    assert_ne!(pass(2.0).seed(5, cell(128), 2), pass(2.0).seed(5, cell(512), 2));
    // Versions of vLLM that do not scale the gaps send the first request at the start.
    let PassPlan::Open(open) = pass(2.0) else { panic!("an open loop") };
    let due_of = |open: OpenPlan| {
        let mut load = load_model(&PassPlan::Open(OpenPlan { scaled: false, ..open }), 0);
        played(&mut *load, Duration::from_secs(3600)).0
    };
    // vLLM does not scale the gaps of a ramp. The first request of a ramp is due after the first gap.
    let ramp = Level::Stages(vec![stage(10, 2.0, 4.0)]);
    assert!(due_of(OpenPlan { rate: ramp, ..open.clone() })[0] > Nanos(100_000_000));
    let due = due_of(open);
    let after = [0.0, gaps[0] / 2.0, (gaps[0] + gaps[1]) / 2.0];
    for (due, expected_s) in due.iter().zip(after) {
        assert!((due.seconds_after(Nanos::ZERO) - expected_s).abs() < 2e-9, "{due:?}");
    }
}

#[test]
fn each_pass_of_a_plan_has_its_own_seed() {
    let cell = |input_length| CellPlan { input_length, output_length: 32 };
    let load = |rate| PassPlan::open(rate, Bound::requests(10));
    let seeds = [
        load(2.0).seed(0, cell(128), 1),
        load(2.0).seed(0, cell(512), 1),
        load(3.0).seed(0, cell(128), 1),
        load(2.0).seed(0, cell(128), 2),
        load(2.0).seed(1, cell(128), 1),
    ];
    for (at, seed) in seeds.iter().enumerate() {
        assert!(!seeds[..at].contains(seed), "{seeds:?}");
    }
    assert_eq!(load(2.0).seed(0, cell(128), 1), seeds[0]);
}

proptest! {
    #[test]
    fn multiplying_the_rate_divides_all_due_times_by_the_same_factor(rate in 0.5f64..2_000.0, shape in 0.3f64..9.0) {
        let arrivals = Arrivals::Gamma { shape };
        let pass = |rate: f64| open(rate.into(), arrivals, Bound::requests(200));
        for (one, scaled) in due(&pass(1.0)).into_iter().zip(due(&pass(rate))) {
            let expected = one.0 as f64 / rate;
            prop_assert!((scaled.0 as f64 - expected).abs() <= 2.0 + expected * 1e-12);
        }
    }

    #[test]
    fn a_closed_loop_never_starts_a_request_above_its_level(
        levels in prop::collection::vec((1u64..5, 0.0f64..9.0, 0.0f64..9.0), 1..5),
        takes_ms in 50u64..4_000,
    ) {
        let stages: Vec<Stage> = levels.iter().map(|&(s, a, b)| stage(s, a, b)).collect();
        let level = Level::Stages(stages);
        let steps = level.whole_steps();
        let takes = Duration::from_millis(takes_ms);
        let (due, _) = played(&mut Closed::new(&level, Bound::none()), takes);
        prop_assert!(due.is_sorted());
        for &at in &due {
            let held = steps.iter().rfind(|step| step.0 <= at).map_or(0, |step| step.1);
            let running = due.iter().filter(|&&start| start <= at && at < start + takes).count();
            // Requests that were in flight when the level fell continue; no request is added.
            let older = due.iter().filter(|&&start| start < at && at < start + takes).count();
            prop_assert!(running <= (held as usize).max(older), "{running} {held} {older}");
        }
    }
}
