//! Searches against servers that are a formula: the edge is known exactly.

use std::time::Duration;

use super::*;
use inferometer_load::{Bound, PassPlan};
use inferometer_metrics::{
    RequestFigures, Timeline, e2e, request_objective as goodput, slo, tpot, ttft,
};
use inferometer_model::cell::CellPlan;
use inferometer_model::fixture::stream;
use inferometer_model::record::{EventKind, Record};
use inferometer_model::time::Nanos;
use inferometer_plan::search::{Criterion, Judged, Over, SearchPlan, criteria};
use inferometer_stats::seed::{rng, unit};

fn of_slo(text: &str) -> Vec<Criterion> {
    criteria(&slo::parse(text).unwrap(), &[], 0.99, None).unwrap()
}

fn settings(text: &str) -> Settings {
    Settings {
        criteria: of_slo(text),
        start: 1.0,
        stride: 2.0,
        lowest: 0.01,
        highest: None,
        whole: false,
        confidence: 0.95,
        precision: 0.05,
        max_requests: 1_000_000,
        max_trials: 40,
        latency_s: Some(0.1),
    }
}

/// A trial of independent requests, of which each misses each criterion with this probability.
fn trial(search: &Search, asked: NextTrial, misses: f64, seed: u64) -> Trial {
    let mut rng = rng(seed, &["trial", &search.trials().to_string()]);
    let criteria = search.settings().criteria.len();
    let judged = |_| {
        (0..asked.requests)
            .map(|_| {
                let value = unit(&mut rng);
                Judged { value, met: value >= misses }
            })
            .collect()
    };
    let judged: Vec<Vec<Judged>> = (0..criteria).map(judged).collect();
    let missed = |judged: &Vec<Judged>| judged.iter().filter(|one| !one.met).count() as u64;
    Trial {
        load: asked.load,
        requests: asked.requests,
        planned: asked.requests,
        cut_off: 0,
        missed: judged.iter().map(missed).collect(),
        startup: 0,
        drain: 0,
        latency_s: 0.1,
        judged,
        saturation: None,
    }
}

/// Searches a server whose share of misses is a function of the load.
fn search(settings: Settings, misses: impl Fn(f64) -> f64, seed: u64) -> Search {
    let mut search = Search::new(settings);
    while let Some(asked) = search.next() {
        let trial = trial(&search, asked, misses(asked.load), seed);
        search.tell(trial);
    }
    search
}

/// 1 % of requests miss at the edge, and more by this power of the load.
fn curve(edge: f64, power: f64) -> impl Fn(f64) -> f64 {
    move |load| (0.01 * (load / edge).powf(power)).min(1.0)
}

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

/// A request that was due and ended at these milliseconds.
fn figures(due: f64, ended: f64, ttft: f64) -> RequestFigures {
    let at = |ms: f64| Nanos::ZERO + Duration::from_secs_f64(ms * 1e-3);
    RequestFigures {
        due: at(due),
        ended: Some(at(ended)),
        complete: true,
        ..RequestFigures::default()
    }
    .with(&ttft::FROM_SENT, Some(ttft))
}

fn folded(requests: impl Iterator<Item = RequestFigures>) -> Trial {
    let pass = PassPlan::open(1.0, Bound::requests(1));
    let mut fold = TrialFold::of(&pass, &of_slo("ttft_p99<50ms")).unwrap();
    requests.for_each(|figures| fold.add(&figures));
    fold.finish()
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
fn a_percentile_is_a_share_of_requests_and_failures_miss_it() {
    let judged = |text: &str, figures: &RequestFigures| of_slo(text)[0].judge(figures).met;
    let good = figures(0.0, 1.0, 40.0)
        .with(&tpot::DEFINITION, Some(20.0))
        .with(&e2e::FROM_SENT, Some(900.0));
    assert!(judged("ttft_p99<41ms", &good) && !judged("ttft_p99<40ms", &good));
    assert!(judged("ttft_p99<=40ms", &good) && judged("e2e_p50<1s", &good));
    let failed = RequestFigures { complete: false, ..good };
    assert!(!judged("ttft_p99<41ms", &failed) && !judged("failures<1%", &failed));
    // One event has no time between tokens; a whole body has no first token.
    let single = stream(0.0, &[(5.0, EventKind::Text, Some(1))]);
    let of = |streamed| RequestFigures::of(&Timeline::new(&Record { streamed, ..single.clone() }));
    assert!(judged("tpot_p90<1ms", &of(true)) && !judged("tpot_p90<1ms", &of(false)));
    let needed = |text: &str| of_slo(text)[0].needed();
    assert_eq!([needed("ttft_p99<1s"), needed("ttft_p50<1s")], [Some(0.99), Some(0.5)]);
    assert!((needed("failures<2%").unwrap() - 0.98).abs() < 1e-12);
}

#[test]
fn objectives_on_requests_are_one_criterion_and_a_mean_has_one_on_failures_beside_it() {
    let goodput = goodput::parse("ttft<50ms,tpot<25ms").unwrap();
    let both = criteria(&[], &goodput, 0.9, None).unwrap();
    assert_eq!((both.len(), both[0].needed()), (1, Some(0.9)));
    let slow = figures(0.0, 1.0, 40.0).with(&tpot::DEFINITION, Some(26.0));
    assert!(!both[0].judge(&slow).met);
    assert!(both[0].judge(&slow.with(&tpot::DEFINITION, Some(24.0))).met);
    let mean = of_slo("ttft_mean<50ms");
    assert_eq!((mean.len(), mean[0].needed(), mean[1].needed()), (2, None, Some(0.99)));
}

#[test]
fn objectives_without_a_highest_load_are_refused() {
    let refused = |text: &str| criteria(&slo::parse(text).unwrap(), &[], 0.99, None).unwrap_err();
    for (text, word) in [
        ("requests_per_s>5", "asks for more"),
        ("output_tokens_per_s<5", "asks for more"),
        ("ttft_p99>5ms", "asks for more"),
        ("ttft_max<5ms", "p999"),
        ("itl_p99<5ms", "tpot"),
    ] {
        let told = refused(text)[0].to_string();
        assert!(told.contains(word) && told.contains(text), "{told}");
    }
    assert_eq!(refused("itl_p99<5ms,ttft_max<5ms").len(), 2);
}

#[test]
fn failures_are_a_criterion_beside_any_objective_where_their_share_is_given() {
    let slo = slo::parse("ttft_p99<1s").unwrap();
    let given = criteria(&slo, &[], 0.99, Some(0.02)).unwrap();
    assert_eq!((given.len(), given[1].needed()), (2, Some(0.98)));
    assert_eq!(criteria(&slo, &[], 0.99, None).unwrap().len(), 1);
}

#[test]
fn that_every_request_meets_an_objective_is_refused_for_nothing_can_show_it() {
    let goodput = goodput::parse("ttft<50ms").unwrap();
    let slo = |text: &str| slo::parse(text).unwrap();
    for (refused, words) in [
        (criteria(&slo("failures<=0%"), &[], 0.99, None), "`failures<=0%`"),
        (criteria(&slo("ttft_p99<1s"), &[], 0.99, Some(0.0)), "--max-failures"),
        (criteria(&[], &goodput, 1.0, None), "`100% with ttft<50ms`"),
    ] {
        let told = refused.unwrap_err()[0].to_string();
        assert!(told.contains(words) && told.contains("give a share"), "{told}");
    }
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

/// 1 request each ms, of which each is answered so many ms after the last, and its first token as late.
fn queued(requests: u32, each_ms: f64) -> Vec<RequestFigures> {
    let one = |index: u32| {
        let (due, ended) = (f64::from(index), f64::from(index + 1) * each_ms);
        let origin = figures(due, ended, ended - due);
        RequestFigures { index, sent: Some(origin.due), first: origin.ended, ..origin }
            .with(&e2e::FROM_SENT, Some(ended - due))
    };
    (0..requests).map(one).collect()
}

#[test]
fn a_hopeless_trial_is_cut_off_as_soon_as_its_claim_is_certain_and_claims_what_the_whole_would() {
    let pass = PassPlan::open(1_000.0, Bound::requests(120));
    let hopeless = Settings { start: 1_000.0, ..settings("ttft_p99<50ms") };
    let watcher = Watcher::new(&hopeless.criteria, &pass, hopeless.claim_level());
    let requests = queued(120, 13.0);
    let at = certain_at(&watcher, &requests).expect("it is hopeless");
    // 4 of 12 blocks are 40 of 120, and the fifth is the first that misses: the 40th, due at 43 ms.
    assert_eq!(at.ms_after(Nanos::ZERO), 93.0);
    let trial = |pass: &PassPlan, requests: &[RequestFigures]| {
        let mut fold = TrialFold::of(pass, &hopeless.criteria).unwrap();
        requests.iter().for_each(|figures| fold.add(figures));
        fold.finish()
    };
    let cut_off = |at| requests.iter().map(|one| one.as_of(at)).collect::<Vec<_>>();
    let twice = PassPlan::open(1_000.0, Bound::requests(240));
    for (first, sent) in [(requests.clone(), 120), (cut_off(at), 94)] {
        let mut search = Search::new(hopeless.clone());
        search.tell(trial(&pass, &first));
        // One excursion of a queue can do that: it takes two trials, the second one twice as long.
        assert_eq!(search.loads()[0].claim(), Claim::Open);
        assert_eq!((search.requests(), search.interval()), (sent, (None, None)));
        search.tell(trial(&pass, &first));
        assert_eq!(search.loads()[0].claim(), Claim::Open);
        search.tell(trial(&twice, &queued(240, 13.0)));
        assert_eq!(search.loads()[0].claim(), Claim::NotMet);
        assert_eq!(search.interval(), (None, Some(1_000.0)));
    }
    // One miss less is not enough, and a trial that was cut off then is none.
    let mut search = Search::new(hopeless.clone());
    search.tell(trial(&pass, &cut_off(Nanos(at.0 - 1))));
    assert_eq!(search.trials(), 0);
}

/// A trial of the given requests, of which so many missed for certain where it was cut off.
fn overwhelmed(planned: u64, missed: u64) -> Trial {
    Trial {
        load: 8.0,
        requests: planned / 2,
        planned,
        cut_off: planned / 2,
        missed: vec![missed],
        startup: 0,
        drain: 0,
        latency_s: 1.0,
        judged: vec![Vec::new()],
        saturation: None,
    }
}

#[test]
fn an_excursion_is_forgotten_and_its_load_is_never_claimed_to_be_met() {
    let mut search = Search::new(settings("ttft_p99<1s"));
    search.tell(overwhelmed(100, 60));
    for _ in 0..20 {
        let good = trial(&search, NextTrial { load: 8.0, requests: 1_000 }, 0.0, 1);
        search.tell(good);
    }
    let load = &search.loads()[0];
    assert_eq!((load.overwhelmed, load.is_hopeless, load.claim()), (None, false, Claim::Open));
    // What is pooled would do for the claim if a bad trial were not missing there.
    assert_eq!(load.evidence.claim(), Claim::Met);
}

#[test]
fn what_is_in_flight_is_judged_at_its_best_and_the_first_crowd_of_a_closed_loop_not_at_all() {
    let criteria = of_slo("ttft_p99<50ms,tpot_p99<5ms,e2e_p99<90ms");
    let at = |ms: u64| Nanos(ms * 1_000_000);
    let met = |first: Option<Nanos>, now: u64| -> Vec<bool> {
        let figures = RequestFigures::in_flight(0, at(10), Some(at(20)), first, at(now));
        criteria.iter().map(|criterion| criterion.judge(&figures).met).collect()
    };
    assert_eq!(met(None, 69), [true, true, true]);
    assert_eq!(met(None, 70), [false, true, true]);
    assert_eq!(met(Some(at(60)), 109), [true, true, true]);
    assert_eq!(met(Some(at(60)), 110), [true, true, false]);
    let late = |index| RequestFigures { index, ..figures(0.0, 400.0, 400.0) };
    let certain = |pass: PassPlan| {
        let watcher = Watcher::new(&of_slo("ttft_p99<50ms"), &pass, 0.001);
        watcher.is_certain((0..44).map(late))
    };
    assert!(certain(PassPlan::open(40.0, Bound::requests(100))));
    assert!(!certain(PassPlan::closed(8, Bound::requests(100))));
    assert!(certain(PassPlan::closed(4, Bound::requests(100))));
}

#[test]
fn as_many_misses_make_a_load_hopeless_as_twelve_independent_requests_cannot_have_by_chance() {
    // At a level of 0.05 / 40: a tenth of it for this claim.
    let needed = |text: &str| misses_to_claim(&of_slo(text), 1_200, 0.00125)[0];
    assert_eq!(needed("ttft_p99<1s"), Some(400));
    assert_eq!(needed("ttft_p95<1s"), Some(600));
    assert_eq!(needed("ttft_p90<1s"), Some(700));
    // 50 are worth 6 only, and 7 none.
    let of_few = |planned| misses_to_claim(&of_slo("ttft_p90<1s"), planned, 0.00125)[0];
    assert_eq!((of_few(50), of_few(7)), (Some(42), None));
    assert_eq!((needed("ttft_p50<1s"), needed("ttft_mean<1s")), (None, None));
}

#[test]
fn loads_of_which_no_trial_can_be_long_enough_are_left_for_lower_ones_and_the_finding_names_them() {
    // Nothing is ever missed, and each request takes 5 s.
    let settings = Settings {
        start: 1_600.0,
        max_requests: 3_000,
        latency_s: None,
        ..settings("ttft_p90<30s")
    };
    let mut search = Search::new(settings.clone());
    let mut trials = Vec::new();
    while let Some(asked) = search.next() {
        let pass = PassPlan::open(asked.load, Bound::requests(asked.requests as u32));
        let mut fold = TrialFold::of(&pass, &settings.criteria).unwrap();
        for index in 0..asked.requests as u32 {
            let due = f64::from(index) / asked.load * 1e3;
            fold.add(&RequestFigures { index, ..figures(due, due + 5_000.0, 5_000.0) });
        }
        trials.push(fold.finish());
        search.tell(trials[trials.len() - 1].clone());
    }
    // One short trial each: from 1600 down to where 15 s are worth less than half of what is left.
    let of = |load: f64| search.loads().iter().find(|known| known.load == load).unwrap();
    for load in [1_600.0, 800.0, 400.0, 200.0, 100.0] {
        assert_eq!((of(load).trials, of(load).requests, of(load).counted()), (1, 50, 0), "{load}");
    }
    let low = search.interval().0.expect("a load that was tried for long enough");
    assert!(low < 100.0, "{low}");
    let answer = SearchAnswer::of(&plan_of(&settings), CELL, &trials);
    let told = findings(&[answer], &[]);
    assert!(told.iter().all(|finding| finding.is_one_of(&CODES)), "{told:?}");
    assert!(told[0].message.contains("before any load was found"), "{}", told[0].message);
    let cause = "at 100 and 200 and 400 and 800 and 1600 requests/s, where none counted";
    assert!(told[0].message.contains(cause), "{}", told[0].message);
}

const CELL: CellPlan = CellPlan { input_length: 64, output_length: 16 };

fn plan_of(settings: &Settings) -> SearchPlan {
    SearchPlan {
        over: Over::Rate,
        criteria: settings.criteria.clone(),
        confidence: settings.confidence,
        precision: settings.precision,
        start: settings.start,
        stride: settings.stride,
        lowest: settings.lowest,
        highest: settings.highest,
        max_requests: settings.max_requests,
        max_trials: settings.max_trials,
    }
}

#[test]
fn a_search_that_begins_far_too_high_comes_down_for_few_requests() {
    // A server that answers 20 each second, one after the other.
    let settings = Settings {
        start: 1_600.0,
        max_requests: 4_000,
        latency_s: None,
        precision: 0.3,
        ..settings("ttft_p90<500ms")
    };
    let mut search = Search::new(settings.clone());
    let mut at_first = 0;
    while let Some(asked) = search.next() {
        let pass = PassPlan::open(asked.load, Bound::requests(asked.requests as u32));
        let watcher = Watcher::new(&settings.criteria, &pass, settings.claim_level());
        let mut rng = rng(7, &["server", &search.trials().to_string()]);
        let (mut due, mut free) = (0.0_f64, 0.0_f64);
        let mut one = |index: u32| {
            due += -unit(&mut rng).max(1e-12).ln() / asked.load * 1e3;
            free = free.max(due) + 50.0;
            let ttft = free - due;
            let origin = figures(due, free, ttft);
            RequestFigures { index, sent: Some(origin.due), first: origin.ended, ..origin }
        };
        let requests: Vec<RequestFigures> = (0..asked.requests as u32).map(&mut one).collect();
        let at = certain_at(&watcher, &requests).unwrap_or(Nanos(u64::MAX));
        let mut fold = TrialFold::of(&pass, &settings.criteria).unwrap();
        requests.iter().for_each(|one| fold.add(&one.as_of(at)));
        search.tell(fold.finish());
        at_first += asked.requests * u64::from(asked.load > 100.0);
    }
    assert!(at_first <= 750, "{at_first} requests far beyond the edge");
    let (guess, high) = (search.guess().unwrap(), search.interval().1.unwrap());
    assert!((14.0..25.0).contains(&guess) && high < 40.0, "{guess} {high}");
}
