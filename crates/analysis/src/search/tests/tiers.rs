//! Searches with several tiers, and objectives that no load meets.

use super::*;
use inferometer_metrics::Gaps;

fn tiers(texts: &[&str]) -> Settings {
    Settings {
        criteria: of_slo(&texts.join(",")),
        tiers: (0..texts.len()).map(|index| vec![index]).collect(),
        ..settings(texts[0])
    }
}

#[test]
fn a_trial_that_settles_no_question_of_an_open_tier_becomes_longer() {
    let mut search = Search::new(tiers(&["ttft_p95<300ms", "ttft_p95<2s"]));
    let mut requests = Vec::new();
    // Half of the requests miss the limit of the first tier. None misses that of the second one, but it is unknown
    // whether the trial is long enough.
    for _ in 0..6 {
        let asked = search.next().expect("a trial");
        requests.push(asked.requests);
        let judged = |missed: u64| -> Vec<CriterionResult> {
            (0..asked.requests)
                .map(|at| CriterionResult { value: 1.0, met: at >= missed })
                .collect()
        };
        let [gold, bronze] = [judged(asked.requests / 2), judged(0)];
        let measured = search.settings().criteria.iter().zip([&gold, &bronze]);
        let measured = measured.map(|(criterion, judged)| Measure::of(criterion, judged)).collect();
        let short = trial(&search, asked, 0.0, 0);
        search.tell(Trial { is_settled: false, measured, ..short });
    }
    assert_eq!(search.tiers()[0].bad, Some(16.0));
    assert!(requests.windows(2).all(|pair| pair[1] > pair[0]), "{requests:?}");
}

#[test]
fn a_stricter_tier_is_never_estimated_to_bear_a_higher_load_than_a_wider_one() {
    for seed in 0..20 {
        // Both limits are missed by the same share of requests, so the two estimates differ only by chance.
        let search = search(tiers(&["ttft_p95<300ms", "ttft_p95<2s"]), curve(20.0, 6.0), seed);
        let [gold, bronze] = [0, 1].map(|tier| search.estimate(tier).expect("an estimate"));
        assert!(gold <= bronze + 1e-9, "seed {seed}: {gold} above {bronze}");
    }
}

#[test]
fn three_nested_tiers_are_in_order_whatever_the_order_in_which_they_are_given() {
    let texts = ["ttft_p95<300ms", "ttft_p95<1s", "ttft_p95<2s"];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let given = order.map(|index| texts[index]);
        for seed in 0..5 {
            let search = search(tiers(&given), curve(20.0, 6.0), seed);
            let estimate = |text: &str| {
                let tier = given.iter().position(|it| *it == text).expect("a tier");
                let (low, high) = search.interval(tier);
                let estimate = search.estimate(tier).expect("an estimate");
                assert!(low.is_none_or(|low| low <= estimate + 1e-9), "{low:?} {estimate}");
                assert!(high.is_none_or(|high| high >= estimate - 1e-9), "{high:?} {estimate}");
                estimate
            };
            let found = texts.map(estimate);
            assert!(found.is_sorted(), "{given:?}, seed {seed}: {found:?}");
        }
    }
}

#[test]
fn a_longer_trial_of_a_tier_is_not_above_the_load_that_showed_nothing() {
    let mut search = Search::new(tiers(&["ttft_p95<300ms", "ttft_p95<2s"]));
    let asked = search.next().expect("a trial");
    let good = trial(&search, asked, 0.0, 0);
    search.tell(good);
    for _ in 0..4 {
        let asked = search.next().expect("a trial");
        let before = search.last().expect("a trial").0.clone();
        if !before.is_settled {
            assert!(asked.load <= before.load, "{} after {}", asked.load, before.load);
        }
        // Far fewer requests ended than arrived, so the load of the next trial is lower.
        let short = trial(&search, asked, 0.0, 0);
        search.tell(Trial { is_settled: false, span_s: 4.0 * short.span_s, ..short });
    }
}

/// Requests of which each takes `takes_s` and misses `ttft_p99<50ms`, one every `every_s`.
fn missed(every_s: f64, takes_s: f64, count: u32) -> Alone {
    let one = |index: u32| {
        let due_ms = f64::from(index) * every_s * 1e3;
        RequestFigures { index, ..figures(due_ms, due_ms + takes_s * 1e3, 90.0) }
    };
    folded((0..count).map(one)).alone
}

#[test]
fn a_request_is_alone_if_no_other_is_in_flight_from_its_arrival_to_its_end() {
    assert_eq!(missed(2.0, 1.0, 10), Alone { requests: 10, missed: vec![10], failed: 0 });
    // Each request arrives at an idle server only after the one before it. Here, none does, except for the first one,
    // and others join it.
    assert_eq!(missed(1.0, 1.5, 10), Alone { requests: 0, missed: vec![0], failed: 0 });
    // Times in seconds: due, end. The second request is joined by the third one.
    let times = [(0.0, 1.0), (1.5, 3.0), (2.0, 2.5), (3.0, 4.0)];
    let one = |(index, (due, end)): (u32, (f64, f64))| {
        let ttft = if index == 3 { 10.0 } else { 90.0 };
        RequestFigures { index, ..figures(due * 1e3, end * 1e3, ttft) }
    };
    let found = folded((0..).zip(times).map(one)).alone;
    assert_eq!(found, Alone { requests: 2, missed: vec![1], failed: 0 });
}

#[test]
fn objectives_on_times_between_tokens_are_not_missed_by_bundled_answers() {
    let pass = PassPlan::open(1.0, Bound::requests(1));
    let mut fold = TrialFold::of(&pass, &of_slo("tpot_p95<50ms")).unwrap();
    for index in 0..20 {
        let due_ms = f64::from(index) * 2e3;
        let one = RequestFigures { index, ..figures(due_ms, due_ms + 1e3, 10.0) };
        fold.add(
            &RequestFigures { gaps: Gaps { streams: 1, hidden: 1 }, ..one }
                .with(&tpot::DEFINITION, Some(90.0)),
        );
    }
    let trial = fold.finish();
    assert_eq!(
        (trial.lacks_gaps, trial.alone),
        (true, Alone { requests: 20, missed: vec![0], failed: 0 })
    );
}

/// Searches on a server that all requests of every trial miss. `alone` of the requests of a trial are alone.
fn never_met(text: &str, alone: u64) -> SearchAnswer {
    let mut search = Search::new(settings(text));
    while let Some(asked) = search.next() {
        let late = vec![CriterionResult { value: 30e3, met: false }; asked.requests as usize];
        let criteria = &search.settings().criteria;
        let measured = criteria.iter().map(|it| Measure::of(it, &late)).collect();
        // All of them completed, so none missed a criterion on failures.
        let missed = (0..criteria.len()).map(|index| if index == 0 { alone } else { 0 });
        let alone = Alone { requests: alone, missed: missed.collect(), failed: 0 };
        let missed = trial(&search, asked, 2.0, 0);
        search.tell(Trial { measured, alone, latency_s: 0.001, ..missed });
    }
    SearchAnswer::of_search(&plan_of(search.settings()), CELL, &search).remove(0)
}

#[test]
fn no_load_meets_an_objective_that_enough_requests_miss_while_alone() {
    // Half of the requests may miss, so 13 misses of 13 requests are still possible by chance: 1 of 8,192.
    let answer = never_met("e2e_p50<1s", 13);
    assert!(!answer.is_missed_alone);
    // A request takes 1 ms, so the server is nearly idle.
    assert!(answer.answer.starts_with("The server does not sustain even 16 "), "{}", answer.answer);
    let answer = never_met("e2e_p50<1s", 14);
    let words = "No load meets e2e_p50<1s: requests that were alone on the server missed it.";
    assert_eq!((answer.is_missed_alone, answer.answer.as_str()), (true, words));
    // The requests that were not seen may be far faster than these, so nothing is said of a mean.
    let answer = never_met("e2e_mean<1s", 40);
    assert!(!answer.is_missed_alone, "{}", answer.answer);
}

#[test]
fn a_search_ends_if_all_requests_failed_even_those_that_were_alone() {
    let mut search = Search::new(settings("ttft_p99<50ms"));
    while let Some(asked) = search.next() {
        let one = |index: u32| {
            let due_ms = f64::from(index) * 1e3;
            RequestFigures { index, complete: false, ..figures(due_ms, due_ms + 2.0, 1.0) }
        };
        let refused = folded((0..asked.requests as u32).map(one));
        search.tell(Trial { load: asked.load, ..refused });
    }
    assert_eq!((search.outcome(), search.trials()), (SearchEnding::NotMetAtLowest, 1));
}

#[test]
fn requests_that_all_failed_start_together_but_show_nothing_about_bursts() {
    let trial = |completed: bool| {
        let pass = PassPlan::closed(4, Bound::requests(40));
        let mut fold = TrialFold::of(&pass, &of_slo("ttft_p99<50ms")).unwrap();
        for index in 0..40 {
            let due_ms = f64::from(index / 4) * 100.0;
            let one = figures(due_ms, due_ms + 100.0, 10.0);
            let output_tokens = if completed { 16 } else { 0 };
            fold.add(&RequestFigures { index, complete: completed, output_tokens, ..one });
        }
        fold.finish()
    };
    assert_eq!([true, false].map(|completed| trial(completed).starts_together), [true, false]);
    let plan = plan_of(&Settings { whole: true, ..settings("ttft_p99<50ms") });
    let mut answer = SearchAnswer::of(&plan, CELL, &[trial(true)]).remove(0);
    let has_bursts = |answer: &SearchAnswer| {
        let found = findings(std::slice::from_ref(answer), &[]);
        found.iter().any(|finding| finding.code == "search_in_bursts")
    };
    assert!(has_bursts(&answer));
    answer.set_refusal(Some("HTTP 404".to_owned()));
    assert!(!has_bursts(&answer));
}

#[test]
fn an_idle_load_that_meets_the_objectives_is_no_reason_to_fail() {
    let nearly_idle = Settings { start: 0.02, lowest: 0.001, ..settings("e2e_p90<1s") };
    let mut search = Search::new(nearly_idle);
    for misses in [0.05, 0.12, 0.12] {
        let Some(asked) = search.next() else { break };
        let idle = trial(&search, asked, misses, 3);
        search.tell(Trial { latency_s: 0.9, ..idle });
    }
    assert_ne!(search.outcome(), SearchEnding::NotMetAtLowest, "{:?}", search.interval(0));
}
