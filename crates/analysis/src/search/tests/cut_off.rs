//! Tests trials that are cut off because their result is certain, and loads that are abandoned early.

use super::*;

/// One request is due each millisecond. Each is answered `each_ms` after the one before, and its first token arrives
/// together with the whole answer.
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
fn a_trial_far_beyond_the_edge_is_cut_off_as_soon_as_enough_misses_are_certain() {
    let pass = PassPlan::open(1_000.0, Bound::requests(120));
    let hopeless = plan("ttft_p99<50ms");
    let watcher = watcher(&hopeless, &pass).expect("a load");
    let requests = queued(120, 13.0);
    let at = certain_at(&watcher, &requests).expect("far beyond");
    // 4 of 12 blocks are 40 of 120 requests. The fifth request is the first that misses, so the 40th miss is due at 43
    // ms. This miss is certain 50 ms later.
    assert_eq!(at.ms_after(Nanos::ZERO), 93.0);
    let trial = |at: Nanos| {
        let mut fold = TrialFold::of(&pass, &hopeless.criteria).unwrap();
        requests.iter().for_each(|one| fold.add(&one.as_of(at)));
        fold.finish()
    };
    let mut search = Search::new(hopeless.clone());
    search.tell(trial(at));
    assert_eq!((search.requests(), search.tiers()[0].bad), (94, Some(1_000.0)));
    assert_eq!(search.loads()[0].claim(&[0]), Claim::NotMet);
    assert!(search.next().expect("a lower load").load < 1_000.0);
    // One miss fewer is not enough. A trial that was cut off at that time is ignored.
    let mut search = Search::new(hopeless.clone());
    search.tell(trial(Nanos(at.0 - 1)));
    assert_eq!(search.trials(), 0);
}

#[test]
fn a_trial_continues_while_one_tier_may_still_meet_its_criteria() {
    let pass = PassPlan::open(1_000.0, Bound::requests(120));
    let criteria = of_slo("ttft_p99<50ms,ttft_p99<2s");
    let requests = queued(120, 13.0);
    let is_cut = |tiers: &[Vec<usize>]| {
        certain_at(&Watcher::new(&criteria, tiers, &pass), &requests).is_some()
    };
    assert!(is_cut(&[vec![0, 1]]) && !is_cut(&[vec![0], vec![1]]));
}

#[test]
fn a_load_is_far_beyond_the_edge_with_more_misses_than_12_independent_requests_have_by_chance() {
    let needed = |text: &str| misses_to_claim(&of_slo(text), 1_200)[0];
    assert_eq!(needed("ttft_p99<1s"), Some(400));
    assert_eq!(needed("ttft_p95<1s"), Some(600));
    assert_eq!(needed("ttft_p90<1s"), Some(700));
    // 50 requests correspond to only 6 independent ones, and 7 requests to none.
    let of_few = |planned| misses_to_claim(&of_slo("ttft_p90<1s"), planned)[0];
    assert_eq!((of_few(50), of_few(7)), (Some(42), None));
    assert_eq!((needed("ttft_p50<1s"), needed("ttft_mean<1s")), (None, None));
}

/// Runs a search on a server that answers one request after the other, each in `each_ms` milliseconds.
fn of_queue(plan: &SearchPlan, each_ms: f64, seed: u64) -> (Search, Vec<(Trial, NextTrial)>) {
    let (mut search, mut trials) = (Search::new(plan.clone()), Vec::new());
    while let Some(asked) = search.next() {
        let pass = PassPlan::open(asked.load, Bound::requests(asked.requests as u32));
        let watcher = watcher(plan, &pass).expect("a load");
        let mut rng = rng(seed, &["server", &search.trials().to_string()]);
        let (mut due, mut free) = (0.0_f64, 0.0_f64);
        let mut one = |index: u32| {
            due += -unit(&mut rng).max(1e-12).ln() / asked.load * 1e3;
            free = free.max(due) + each_ms;
            let origin = figures(due, free, free - due);
            RequestFigures { index, sent: Some(origin.due), first: origin.ended, ..origin }
        };
        let requests: Vec<RequestFigures> = (0..asked.requests as u32).map(&mut one).collect();
        let at = certain_at(&watcher, &requests).unwrap_or(Nanos(u64::MAX));
        let mut fold = TrialFold::of(&pass, &plan.criteria).unwrap();
        requests.iter().for_each(|one| fold.add(&one.as_of(at)));
        trials.push((fold.finish(), asked));
        search.tell(trials[trials.len() - 1].0.clone());
    }
    (search, trials)
}

#[test]
fn a_search_that_starts_far_too_high_descends_with_few_requests_and_always_answers() {
    for seed in 0..20 {
        let plan = SearchPlan { start: 1_600.0, max_requests: 3_000, ..plan("ttft_p90<500ms") };
        let (search, trials) = of_queue(&plan, 50.0, seed);
        let far = trials.iter().filter(|(trial, _)| trial.load > 30.0);
        let at_first: u64 = far.map(|(trial, _)| trial.requests).sum();
        assert!(at_first <= 600, "{seed}: {at_first} requests far beyond the edge");
        let estimate = search.estimate(0).expect("an estimate");
        assert!((13.0..21.0).contains(&estimate), "{seed}: {estimate}");
        assert!(search.interval(0).0.is_some(), "{seed}: no lower end");
    }
}

#[test]
fn a_trial_that_cannot_count_is_followed_by_a_longer_trial_or_another_load() {
    let plan = SearchPlan { max_requests: 6_000, ..plan("ttft_p90<5s") };
    let (search, trials) = of_queue(&plan, 100.0, 3);
    for pair in trials.windows(2) {
        let [(first, asked), (_, next)] = pair else { continue };
        if first.counted == 0 || !first.is_settled {
            assert!(
                next.load != asked.load || next.requests > asked.requests,
                "{asked:?} {next:?}"
            );
        }
    }
    assert!((8.0..11.0).contains(&search.estimate(0).unwrap()));
}
