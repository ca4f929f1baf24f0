//! The interval of the answer against an edge that is known, and the judgement of whole trials.

use super::*;

#[test]
fn the_interval_holds_the_edge_as_often_as_it_says_and_is_as_narrow_as_asked() {
    for (edge, power) in [(13.7, 9.0), (0.9, 30.0), (700.0, 14.0)] {
        let (mut held, mut narrow) = (0, 0);
        for seed in 0..40 {
            let found = search(settings("ttft_p99<1s"), curve(edge, power), seed);
            let (low, high) = found.interval();
            held += u32::from(low.unwrap() <= edge && edge <= high.unwrap());
            narrow += u32::from(found.outcome() == Outcome::Found);
        }
        // 95 % are promised; what is shared out over all trials makes it more.
        assert!(held >= 39, "{edge}: {held} of 40");
        // The others have spent their requests before.
        assert!(narrow >= 33, "{edge}: {narrow} of 40");
    }
}

#[test]
fn fewer_requests_give_a_wider_interval_and_never_a_wrong_one() {
    let mut before = f64::INFINITY;
    for max_requests in [10_000, 60_000, 400_000] {
        let mut width = 0.0;
        for seed in 0..15 {
            let settings = Settings { max_requests, precision: 0.01, ..settings("ttft_p99<1s") };
            let found = search(settings, curve(13.7, 9.0), seed);
            assert!(found.requests() <= max_requests);
            let (Some(low), Some(high)) = found.interval() else { panic!("{max_requests}") };
            width += (high / low).ln();
        }
        assert!(width < 0.8 * before, "{max_requests}: {width}");
        before = width;
    }
}

#[test]
fn what_lies_outside_of_the_bounds_is_said_and_not_searched_for() {
    let bounded = |lowest, highest, edge| {
        let settings =
            Settings { lowest, highest: Some(highest), start: lowest, ..settings("ttft_p99<1s") };
        search(settings, curve(edge, 9.0), 3)
    };
    let found = bounded(2.0, 8.0, 1.0);
    assert_eq!((found.outcome(), found.interval()), (Outcome::NotMetAtLowest, (None, Some(2.0))));
    assert!(found.requests() < 3_000, "{}", found.requests());
    let found = bounded(2.0, 8.0, 20.0);
    assert_eq!((found.outcome(), found.interval()), (Outcome::MetAtHighest, (Some(8.0), None)));
    assert!(found.requests() < 20_000, "{}", found.requests());
}

#[test]
fn whole_loads_are_searched_to_neighbours() {
    for edge in [1.5, 12.4, 200.0] {
        for seed in 0..10 {
            let whole = Settings { whole: true, start: 8.0, lowest: 1.0, ..settings("e2e_p90<9s") };
            let misses = |load: f64| 0.1 * (load / edge).powf(6.0);
            let found = search(whole, |load| misses(load).min(1.0), seed);
            assert!(found.loads().iter().all(|load| load.load.fract() == 0.0 && load.load >= 1.0));
            let (Some(low), Some(high)) = found.interval() else { panic!("{edge}") };
            assert!(low <= edge && edge <= high, "{edge}: {low} to {high}");
            assert!(high - low <= 1.0 || high / low <= 1.051, "{edge}: {low} to {high}");
        }
    }
}

#[test]
fn the_criterion_that_gives_way_first_decides() {
    let found = {
        let mut search = Search::new(settings("ttft_p99<1s,tpot_p50<1s"));
        while let Some(asked) = search.next() {
            let mut trial = trial(&search, asked, curve(40.0, 9.0)(asked.load), 1);
            let half = 0.5 * (asked.load / 11.0).powf(3.0);
            trial.judged[1].iter_mut().for_each(|one| one.met = one.value >= half);
            search.tell(trial);
        }
        search
    };
    let (low, high) = found.interval();
    assert!(low.unwrap() <= 11.0 && 11.0 <= high.unwrap() && high.unwrap() < 12.0);
}

#[test]
fn claims_that_contradict_each_other_are_told_and_the_interval_holds_both() {
    let mut search = Search::new(settings("ttft_p99<1s"));
    for (load, misses) in [(1.0, 0.0), (2.0, 0.2), (4.0, 0.0), (8.0, 0.5)] {
        let asked = NextTrial { load, requests: 3_000 };
        let trial = trial(&search, asked, misses, 1);
        search.tell(trial);
    }
    assert!(search.contradicts());
    assert_eq!(search.interval(), (Some(1.0), Some(8.0)));
}

#[test]
fn what_a_search_asks_for_follows_from_what_it_was_told() {
    let of = |seed| search(settings("ttft_p99<1s"), curve(13.7, 9.0), seed);
    let (one, again) = (of(5), of(5));
    assert_eq!((one.interval(), one.requests()), (again.interval(), again.requests()));
    assert_ne!(one.requests(), of(6).requests());
}

#[test]
fn start_up_and_drain_do_not_count() {
    // One each 10 ms, each of 95 ms: the first 190 ms and the last 95 do not count.
    let trial = folded((0..100).map(|i| {
        let due = f64::from(i) * 10.0;
        figures(due, due + 95.0, f64::from(i))
    }));
    assert_eq!((trial.startup, trial.drain, trial.counted()), (19, 10, 71));
    assert_eq!(trial.judged[0].iter().filter(|one| one.met).count(), 50 - 19);
    assert_eq!((trial.latency_s, trial.saturation), (0.095, None));
}

#[test]
fn a_server_that_gets_ever_more_behind_is_found_out_before_a_limit_is_missed() {
    // One each 10 ms; it answers one each 13 ms.
    let behind = folded((0..1_200).map(|i| {
        let (due, ended) = (f64::from(i) * 10.0, f64::from(i + 1) * 13.0);
        figures(due, ended, 1.0)
    }));
    let saturation = behind.saturation.expect("it is behind");
    assert!(saturation.arrived > saturation.ended);
    assert!(saturation.in_flight_after > saturation.in_flight_before);
    let keeps_up = folded((0..400).map(|i| {
        let due = f64::from(i) * 10.0;
        // A queue that comes and goes.
        figures(due, due + 90.0 + 60.0 * (f64::from(i) / 30.0).sin(), 1.0)
    }));
    assert_eq!(keeps_up.saturation, None);
    // Too short to tell a server that is behind from one that has just begun.
    let short = folded((0..100).map(|i| figures(f64::from(i), f64::from(i) + 400.0, 1.0)));
    assert_eq!(short.saturation, None);
}

#[test]
fn a_mean_is_searched_by_its_interval() {
    let mean = Settings { max_requests: 100_000, ..settings("ttft_mean<50ms") };
    for seed in 0..10 {
        let mut search = Search::new(mean.clone());
        while let Some(asked) = search.next() {
            let mut trial = trial(&search, asked, 0.0, seed);
            // Uniform around a mean that passes 50 at a load of 10.
            let middle = 50.0 * (asked.load / 10.0).powi(2);
            trial.judged[0].iter_mut().for_each(|one| one.value *= middle * 2.0);
            search.tell(trial);
        }
        let (low, high) = search.interval();
        assert_eq!(search.outcome(), Outcome::Found, "{seed}");
        assert!(low.unwrap() <= 10.0 && 10.0 <= high.unwrap(), "{low:?} {high:?}");
    }
}
