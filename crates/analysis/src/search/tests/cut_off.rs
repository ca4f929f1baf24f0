//! Trials that are cut off because their claim is certain, and loads that are left early.

use super::*;

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
        lacks_gaps: false,
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
