//! Tests of levels. They compare the computed times with a numerical integral of the level.

use super::*;
use proptest::prelude::*;

fn stage(seconds: f64, from: f64, to: f64, curve: Curve) -> Stage {
    Stage { duration: Duration::from_secs_f64(seconds), from, to, curve }
}

/// The level at a time, computed from its definition.
fn at(stage: &Stage, second: f64) -> f64 {
    let share = second / stage.duration.as_secs_f64();
    match stage.curve {
        Curve::Linear => stage.from + share * (stage.to - stage.from),
        Curve::Exponential => stage.from * (stage.to / stage.from).powf(share),
    }
}

fn any_stage() -> impl Strategy<Value = Stage> {
    let curve = prop_oneof![Just(Curve::Linear), Just(Curve::Exponential)];
    // Multiples of 1/8 have few digits, so that JSON stores them exactly.
    (0.5f64..60.0, 1u32..800, 1u32..800, curve).prop_map(|(seconds, from, to, curve)| {
        stage(seconds, f64::from(from) / 8.0, f64::from(to) / 8.0, curve)
    })
}

#[test]
fn a_request_belongs_to_the_stage_in_which_it_is_due() {
    let held = |seconds, level| stage(seconds, level, level, Curve::Linear);
    let stages = Stages::of(&Level::Stages(vec![held(2.0, 1.0), held(3.0, 8.0)]));
    let class = |seconds: u64, of: Option<&str>| {
        stages.class(Nanos(seconds * 1_000_000_000), of.map(Into::into)).expect("a class")
    };
    assert_eq!(
        [0, 1, 2, 4, 5].map(|second| class(second, None)).join("|"),
        "stage 1|stage 1|stage 2|stage 2|stage 2"
    );
    assert_eq!(&*class(2, Some("turn 3")), "stage 2, turn 3");
    let one = Stages::of(&Level::Stages(vec![held(2.0, 1.0)]));
    assert_eq!(
        (one.class(Nanos(5), None), one.class(Nanos(5), Some("cold".into()))),
        (None, Some("cold".into()))
    );
}

proptest! {
    #[test]
    fn the_time_of_an_area_is_when_the_integral_of_the_level_reaches_it(stage in any_stage(), share in 0.0f64..1.0) {
        let area = stage.area() * share;
        let until_s = Level::Stages(vec![stage]).time_of_area_s(area).expect("within the stage");
        // Simpson's rule over the level's definition.
        let n = 200;
        let width = until_s / f64::from(n);
        let sum: f64 = (0..=n)
            .map(|i| {
                let weight = if i == 0 || i == n { 1.0 } else if i % 2 == 1 { 4.0 } else { 2.0 };
                weight * at(&stage, width * f64::from(i))
            })
            .sum();
        prop_assert!((sum * width / 3.0 - area).abs() <= 1e-6 * stage.area().max(1.0));
    }

    #[test]
    fn integer_steps_equal_the_rounded_level_at_every_instant(stage in any_stage(), share in 0.0f64..1.0) {
        let second = share * stage.duration.as_secs_f64();
        let steps = Level::Stages(vec![stage]).whole_steps();
        prop_assert!(steps.iter().map(|step| step.0).is_sorted());
        let now = Nanos((second * 1e9) as u64);
        let (_, held) = *steps.iter().rfind(|(from, _)| *from <= now).expect("the first is at 0");
        prop_assert!((f64::from(held) - at(&stage, second)).abs() < 0.5 + 1e-3);
    }

    #[test]
    fn a_level_is_deserialized_as_it_was_serialized(stages in prop::collection::vec(any_stage(), 1..4)) {
        let level = Level::Stages(stages);
        let text = serde_json::to_string(&level).expect("plain data");
        let read: Level = serde_json::from_str(&text).expect("what was written");
        // Durations are created and stored in whole nanoseconds, so they are read back exactly.
        prop_assert_eq!(read, level);
    }
}

#[test]
fn constant_levels_are_serialized_as_numbers_and_infinity_as_inf() {
    for (level, text) in [(8.0, "8"), (2.5, "2.5"), (f64::INFINITY, "\"inf\"")] {
        assert_eq!(serde_json::to_string(&Level::Constant(level)).unwrap(), text);
        assert_eq!(serde_json::from_str::<Level>(text).unwrap(), Level::Constant(level));
    }
    assert_eq!(Level::Constant(f64::INFINITY).time_of_area_s(1e9), Some(0.0));
}

#[test]
fn stages_follow_one_another_and_after_the_last_one_nothing_is_due() {
    let hold = |seconds, level| stage(seconds, level, level, Curve::Linear);
    let level = Level::Stages(vec![hold(10.0, 2.0), hold(5.0, 0.0), hold(10.0, 8.0)]);
    for (area, second) in [(0.0, 0.0), (10.0, 5.0), (19.9, 9.95), (20.0, 15.0), (60.0, 20.0)] {
        let got = level.time_of_area_s(area).expect("within the stages");
        assert!((got - second).abs() < 1e-9, "{area}: {got}");
    }
    assert_eq!(level.time_of_area_s(100.0), None);
    let s = |seconds: u64| Nanos(seconds * 1_000_000_000);
    assert_eq!(level.whole_steps(), [(s(0), 2), (s(10), 0), (s(15), 8), (s(25), 0)]);
    assert_eq!(level.to_string(), "10s@2+5s@0+10s@8");
    let ramp = Level::Stages(vec![stage(4.0, 1.0, 3.0, Curve::Linear)]);
    assert_eq!(ramp.whole_steps(), [(s(0), 1), (s(1), 2), (s(3), 3), (s(4), 0)]);
    assert_eq!((ramp.to_string(), ramp.peak()), ("4s@1..3".to_owned(), 3.0));
}
