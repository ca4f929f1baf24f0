//! Tests searches with several tiers, and searches with objectives that no load meets.

use super::*;
use inferometer_model::metrics::Gaps;

fn tiers(texts: &[&str]) -> SearchPlan {
    SearchPlan {
        criteria: of_slo(&texts.join(",")),
        tiers: (0..texts.len()).map(|index| tier(texts[index], &[index])).collect(),
        ..plan(texts[0])
    }
}

#[test]
fn a_trial_that_shows_nothing_about_an_undecided_tier_is_followed_by_a_longer_trial() {
    let mut search = Search::new(tiers(&["ttft_p95<300ms", "ttft_p95<2s"]));
    let mut requests = Vec::new();
    // Half of the requests miss the limit of the first tier. No request misses the limit of the second tier, but the
    // trial is too short for a steady state.
    for _ in 0..6 {
        let asked = search.next().expect("a trial");
        requests.push(asked.requests);
        let judged = |missed: u64| -> Vec<CriterionResult> {
            (0..asked.requests)
                .map(|at| CriterionResult { value: 1.0, met: at >= missed })
                .collect()
        };
        let [gold, bronze] = [judged(asked.requests / 2), judged(0)];
        let measured = search.plan().criteria.iter().zip([&gold, &bronze]);
        let measured = measured.map(|(criterion, judged)| Measure::of(criterion, judged)).collect();
        let short = trial(&search, asked, 0.0, 0);
        search.tell(Trial { is_settled: false, measured, ..short });
    }
    assert_eq!(search.tiers()[0].bad, Some(16.0));
    assert!(requests.windows(2).all(|pair| pair[1] > pair[0]), "{requests:?}");
}

#[test]
fn the_estimate_of_a_stricter_tier_is_never_above_that_of_a_less_strict_tier() {
    for seed in 0..20 {
        // Both limits are missed by the same share of requests, so the two estimates differ only by chance.
        let search = search(tiers(&["ttft_p95<300ms", "ttft_p95<2s"]), curve(20.0, 6.0), seed);
        let [gold, bronze] = [0, 1].map(|tier| search.estimate(tier).expect("an estimate"));
        assert!(gold <= bronze + 1e-9, "seed {seed}: {gold} above {bronze}");
    }
}

#[test]
fn the_estimates_of_three_tiers_increase_with_their_limits_in_any_order_of_the_tiers() {
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
fn the_load_of_a_longer_trial_is_not_above_that_of_the_trial_that_was_too_short() {
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
        // Requests ended four times more slowly than they arrived, so the next load must not be higher.
        let short = trial(&search, asked, 0.0, 0);
        search.tell(Trial { is_settled: false, span_s: 4.0 * short.span_s, ..short });
    }
}

/// The requests that were alone in a trial of `count` requests. A request is due every `every_s` seconds and takes
/// `takes_s` seconds. Its TTFT of 90 ms misses the limit of 50 ms.
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
    // Each request arrives before the request before it has ended, so no request is alone.
    assert_eq!(missed(1.0, 1.5, 10), Alone { requests: 0, missed: vec![0], failed: 0 });
    // Times in seconds: due, end. The third request arrives while the second one is in flight.
    let times = [(0.0, 1.0), (1.5, 3.0), (2.0, 2.5), (3.0, 4.0)];
    let one = |(index, (due, end)): (u32, (f64, f64))| {
        let ttft = if index == 3 { 10.0 } else { 90.0 };
        RequestFigures { index, ..figures(due * 1e3, end * 1e3, ttft) }
    };
    let found = folded((0..).zip(times).map(one)).alone;
    assert_eq!(found, Alone { requests: 2, missed: vec![1], failed: 0 });
}

#[test]
fn objectives_on_times_between_tokens_are_not_missed_if_these_times_are_unknown() {
    let pass = PassPlan::open(1.0, Bound::requests(1));
    let mut fold = TrialFold::of(&pass, &of_slo("tpot_p95<50ms")).unwrap();
    for index in 0..20 {
        let due_ms = f64::from(index) * 2e3;
        let one = RequestFigures { index, ..figures(due_ms, due_ms + 1e3, 10.0) };
        // Several tokens arrived in each read of the socket (`hidden`). So a TPOT of 90 ms does not count as a miss.
        fold.add(
            &RequestFigures { gaps: Gaps { streams: 1, hidden: 1, unknown: 0 }, ..one }
                .with(&tpot::DEFINITION, Some(90.0)),
        );
    }
    let trial = fold.finish();
    assert_eq!(
        (trial.lacks_gaps, trial.alone),
        (true, Alone { requests: 20, missed: vec![0], failed: 0 })
    );
}

/// The answer of a search on a server on which every request misses the objective. In each trial, `alone` requests are
/// alone on the server.
fn never_met(text: &str, alone: u64) -> SearchAnswer {
    let mut search = Search::new(plan(text));
    while let Some(asked) = search.next() {
        let late = vec![CriterionResult { value: 30e3, met: false }; asked.requests as usize];
        let criteria = &search.plan().criteria;
        let measured = criteria.iter().map(|it| Measure::of(it, &late)).collect();
        // A search for a mean has two criteria: latency (index 0) and failures (index 1). All requests completed, so
        // the requests that were alone missed only the first one.
        let missed = (0..criteria.len()).map(|index| if index == 0 { alone } else { 0 });
        let alone = Alone { requests: alone, missed: missed.collect(), failed: 0 };
        let missed = trial(&search, asked, 2.0, 0);
        search.tell(Trial { measured, alone, latency_s: 0.001, ..missed });
    }
    SearchAnswer::of_search(CELL, &search).remove(0)
}

#[test]
fn no_load_meets_an_objective_that_enough_requests_miss_while_alone() {
    // Half of the requests may miss, so 13 misses of 13 requests are still possible by chance: with a probability of 1
    // in 8,192.
    let answer = never_met("e2e_p50<1s", 13);
    assert!(!answer.is_missed_alone);
    // The search ends at its first load of 16 requests/s. The trials state a median latency (`latency_s`) of 1 ms, so
    // the server counts as nearly idle, and lower loads are not tried.
    assert!(answer.answer.starts_with("The server does not sustain even 16 "), "{}", answer.answer);
    let answer = never_met("e2e_p50<1s", 14);
    assert!(answer.is_missed_alone);
    assert!(answer.answer.starts_with("No load meets e2e_p50<1s: "), "{}", answer.answer);
    // A mean is not judged by requests that were alone: other requests may be far faster.
    let answer = never_met("e2e_mean<1s", 40);
    assert!(!answer.is_missed_alone, "{}", answer.answer);
}

#[test]
fn a_search_ends_if_all_requests_failed_even_those_that_were_alone() {
    let mut search = Search::new(plan("ttft_p99<50ms"));
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
fn a_closed_loop_whose_requests_all_fail_is_not_reported_as_bursts() {
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
    let mut search = Search::new(SearchPlan { over: Over::Concurrency, ..plan("ttft_p99<50ms") });
    search.tell(trial(true));
    let mut answer = SearchAnswer::of_search(CELL, &search).remove(0);
    let has_bursts = |answer: &SearchAnswer| {
        let found = findings(std::slice::from_ref(answer), &[]);
        found.iter().any(|finding| finding.code == "search_in_bursts")
    };
    assert!(has_bursts(&answer));
    answer.set_refusal(Some("HTTP 404".to_owned()));
    assert!(!has_bursts(&answer));
}

#[test]
fn a_search_does_not_end_as_missed_if_a_nearly_idle_load_meets_the_objectives() {
    let nearly_idle = SearchPlan { start: 0.02, lowest: 0.001, ..plan("e2e_p90<1s") };
    let mut search = Search::new(nearly_idle);
    for misses in [0.05, 0.12, 0.12] {
        let Some(asked) = search.next() else { break };
        let idle = trial(&search, asked, misses, 3);
        search.tell(Trial { latency_s: 0.9, ..idle });
    }
    assert_ne!(search.outcome(), SearchEnding::NotMetAtLowest, "{:?}", search.interval(0));
}
