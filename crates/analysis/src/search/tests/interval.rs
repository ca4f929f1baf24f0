//! Compares the interval of the answer with a known edge, and tests how whole trials are judged.

use super::*;

#[test]
fn search_intervals_cover_the_true_limit_at_their_nominal_rate_and_always_have_an_estimate() {
    for (edge, power) in [(13.7, 9.0), (0.9, 30.0), (700.0, 3.0)] {
        let (mut held, mut near) = (0, 0);
        for seed in 0..100 {
            let asked = SearchPlan { max_requests: 6_000, ..plan("ttft_p95<1s") };
            let found = search(asked, curve(edge, power), seed);
            let (Some(low), Some(high)) = found.interval(0) else { panic!("{edge}, {seed}") };
            held += u32::from(low <= edge && edge <= high);
            near += u32::from((found.estimate(0).unwrap() / edge).ln().abs() < 0.1);
        }
        assert!(held >= 95, "{edge}: {held} of 100");
        assert!(near >= if power > 5.0 { 98 } else { 75 }, "{edge}: {near} of 100");
    }
}

#[test]
fn fewer_requests_give_a_wider_interval() {
    let mut before = f64::INFINITY;
    for max_requests in [3_000, 20_000, 200_000] {
        let mut width = 0.0;
        for seed in 0..15 {
            let plan = SearchPlan { max_requests, precision: 0.01, ..plan("ttft_p95<1s") };
            let found = search(plan, curve(13.7, 9.0), seed);
            assert!(found.requests() <= max_requests);
            let (Some(low), Some(high)) = found.interval(0) else { panic!("{max_requests}") };
            width += (high / low).ln();
        }
        assert!(width < 0.7 * before, "{max_requests}: {width}");
        before = width;
    }
}

#[test]
fn a_search_reports_a_limit_outside_its_bounds_without_many_requests() {
    let bounded = |lowest, highest, edge| {
        let plan =
            SearchPlan { lowest, highest: Some(highest), start: lowest, ..plan("ttft_p95<1s") };
        search(plan, curve(edge, 9.0), 3)
    };
    let found = bounded(2.0, 8.0, 1.0);
    assert_eq!((found.outcome(), found.estimate(0)), (SearchEnding::NotMetAtLowest, None));
    assert!(found.requests() < 3_000, "{}", found.requests());
    let found = bounded(2.0, 8.0, 20.0);
    assert_eq!((found.outcome(), found.estimate(0)), (SearchEnding::MetAtHighest, Some(8.0)));
    assert!(found.interval(0).0.unwrap() >= 8.0 && found.interval(0).1.is_none());
    assert!(found.requests() < 10_000, "{}", found.requests());
}

#[test]
fn a_search_over_integer_loads_narrows_down_to_adjacent_loads() {
    for edge in [1.5, 12.4, 200.5] {
        for seed in 0..10 {
            let whole = SearchPlan {
                over: Over::Concurrency,
                start: 8.0,
                lowest: 1.0,
                max_requests: 20_000,
                ..plan("e2e_p90<9s")
            };
            let misses = |load: f64| 0.1 * (load / edge).powf(12.0);
            let found = search(whole, |load| misses(load).min(1.0), seed);
            assert!(found.loads().iter().all(|load| load.load.fract() == 0.0 && load.load >= 1.0));
            let (Some(low), Some(high)) = found.interval(0) else { panic!("{edge}") };
            let truth = edge.floor();
            assert!(low <= truth && truth <= high, "{edge}, {seed}: {low} to {high}");
            assert!(high - low <= 1.0 || high / low <= 1.06, "{edge}, {seed}: {low} to {high}");
        }
    }
}

/// Runs a search on a server that reaches the limit of the first criterion at a load of 40, and of the second at 11.
fn of_two(plan: SearchPlan) -> Search {
    let mut search = Search::new(plan);
    while let Some(asked) = search.next() {
        let mut both = trial(&search, asked, curve(40.0, 9.0)(asked.load), 1);
        let second = trial(&search, asked, 0.5 * (asked.load / 11.0).powf(6.0), 2);
        both.measured[1] = second.measured[1];
        search.tell(both);
    }
    search
}

#[test]
fn the_criterion_that_fails_at_the_lowest_load_decides() {
    let found = of_two(plan("ttft_p95<1s,tpot_p50<1s"));
    let (low, high) = found.interval(0);
    assert!(low.unwrap() <= 11.0 && 11.0 <= high.unwrap() && high.unwrap() < 12.0);
    assert_eq!(found.tiers()[0].first, Some(1));
}

#[test]
fn each_tier_gets_a_separate_limit_from_the_same_trials() {
    let tiers = vec![tier("gold", &[0]), tier("silver", &[1])];
    let found = of_two(SearchPlan { tiers, ..plan("ttft_p95<1s,tpot_p50<1s") });
    for (tier, edge) in [(0, 40.0), (1, 11.0)] {
        let (low, high) = found.interval(tier);
        assert!(low.unwrap() <= edge && edge <= high.unwrap(), "{low:?} {high:?}");
        assert!(high.unwrap() < 1.2 * low.unwrap(), "{low:?} {high:?}");
    }
}

#[test]
fn a_met_load_above_a_missed_load_marks_the_answer_as_contradictory() {
    let mut search = Search::new(plan("ttft_p95<1s"));
    for (load, misses) in [(1.0, 0.0), (2.0, 0.2), (4.0, 0.0), (8.0, 0.5)] {
        search.tell(trial(&search, NextTrial { load, requests: 3_000 }, misses, 1));
    }
    let answers = SearchAnswer::of_search(CELL, &search);
    assert!(answers[0].contradicts && answers[0].estimate.is_some());
    let found = findings(&answers, &[]);
    assert!(found.iter().all(|finding| finding.is_one_of(&CODES)));
}

#[test]
fn a_search_is_deterministic_for_the_same_trial_results() {
    let of = |seed| search(plan("ttft_p95<1s"), curve(13.7, 9.0), seed);
    let (one, again) = (of(5), of(5));
    assert_eq!((one.interval(0), one.requests()), (again.interval(0), again.requests()));
    assert_ne!(one.estimate(0), of(6).estimate(0));
}

#[test]
fn a_search_ends_at_its_time_limit_with_an_answer() {
    let asked = SearchPlan {
        max_time: Some(Duration::from_secs(60)),
        precision: 0.001,
        ..plan("ttft_p95<1s")
    };
    let found = search(asked, curve(13.7, 9.0), 1);
    assert_eq!(found.outcome(), SearchEnding::TimeSpent);
    assert!((55.0..62.0).contains(&found.time_s()), "{}", found.time_s());
    assert!(found.estimate(0).is_some() && found.interval(0).0.is_some());
}

#[test]
fn a_search_ends_when_its_time_limit_leaves_no_time_for_two_requests() {
    let asked =
        SearchPlan { start: 2.0, max_time: Some(Duration::from_secs(2)), ..plan("ttft_p50<10s") };
    let mut search = Search::new(asked);
    while let Some(asked) = search.next() {
        assert!(asked.requests >= 2, "{asked:?}");
        let mut short = trial(&search, asked, 0.0, 1);
        // The first of N requests is due at once, so N requests at a rate take less than N intervals.
        short.span_s = (asked.requests - 1) as f64 / asked.load;
        search.tell(short);
    }
    assert_eq!(search.outcome(), SearchEnding::TimeSpent);
}

#[test]
fn the_answer_is_a_sentence_with_the_interval_and_the_limit_that_ended_the_search() {
    let sentence = |plan: SearchPlan, edge: f64, words: &str| {
        let mut search = Search::new(plan.clone());
        while let Some(asked) = search.next() {
            search.tell(trial(&search, asked, curve(edge, 9.0)(asked.load), 2));
        }
        let answer = SearchAnswer::of_search(CELL, &search).remove(0).answer;
        assert!(answer.starts_with(words) && answer.ends_with('.'), "{answer}");
        answer
    };
    let all = plan("ttft_p95<1s");
    let found = sentence(all.clone(), 13.7, "The server sustains 13.");
    assert!(found.contains(" requests/s with ttft_p95<1s (95 % interval: 13."), "{found}");
    assert!(!found.contains("wider"), "{found}");
    // The sentence states which limit ended the search before its interval was narrow enough.
    let trials = SearchPlan { max_trials: 8, precision: 0.001, ..all.clone() };
    let time =
        SearchPlan { max_time: Some(Duration::from_secs(60)), precision: 0.001, ..all.clone() };
    let limits = [&["8 trials", "--max-trials"][..], &["--max-time"]];
    for (plan, limit) in [trials, time].into_iter().zip(limits) {
        let open = sentence(plan, 13.7, "The server sustains 1");
        for part in [&["wider than 0.1 % (--precision)"], limit].concat() {
            assert!(open.contains(part), "{part}: {open}");
        }
    }
    let few = SearchPlan { max_requests: 400, ..all.clone() };
    let least = sentence(few, 1e6, "The server sustains at least ");
    for part in [" or more): no trial", "400 requests", "--max-requests"] {
        assert!(least.contains(part), "{part}: {least}");
    }
    let bounded = SearchPlan { lowest: 4.0, start: 4.0, highest: Some(8.0), ..all };
    sentence(
        bounded.clone(),
        1.0,
        "The server does not sustain even 4 requests/s with ttft_p95<1s.",
    );
    sentence(bounded, 90.0, "The server sustains 8 requests/s with ttft_p95<1s (95 % interval: 8");
}

#[test]
fn start_up_and_drain_do_not_count() {
    // One request is due every 10 ms, and each takes 95 ms. The first 3 x 95 ms and the last 95 ms do not count.
    let trial = folded((0..100).map(|i| {
        let due = f64::from(i) * 10.0;
        figures(due, due + 95.0, f64::from(i))
    }));
    // The requests 29 to 89 count; of these, 29 to 49 meet the limit.
    assert_eq!(trial.counted, 61);
    assert!((trial.measured[0].value - 21.0 / 61.0).abs() < 1e-12 && trial.is_settled);
    assert_eq!((trial.latency_s, trial.saturation), (0.095, None));
}

#[test]
fn an_overloaded_server_is_detected_by_its_growing_queue_before_it_misses_a_limit() {
    // One request is due every 10 ms; the server answers one every 13 ms.
    let behind = folded((0..1_200).map(|i| {
        let (due, ended) = (f64::from(i) * 10.0, f64::from(i + 1) * 13.0);
        figures(due, ended, 1.0)
    }));
    let saturation = behind.saturation.expect("the queue grows");
    assert!(saturation.arrived > saturation.ended);
    assert!(saturation.in_flight_after > saturation.in_flight_before);
    let keeps_up = folded((0..400).map(|i| {
        let due = f64::from(i) * 10.0;
        // A queue that grows and shrinks.
        figures(due, due + 90.0 + 60.0 * (f64::from(i) / 30.0).sin(), 1.0)
    }));
    assert_eq!(keeps_up.saturation, None);
    // The trial is too short to distinguish an overloaded server from one that has just started.
    let short = folded((0..100).map(|i| figures(f64::from(i), f64::from(i) + 400.0, 1.0)));
    assert_eq!(short.saturation, None);
}

#[test]
fn a_search_on_a_mean_covers_the_load_at_which_the_mean_reaches_its_limit() {
    let mean = SearchPlan { max_requests: 100_000, ..plan("ttft_mean<50ms") };
    for seed in 0..10 {
        let mut search = Search::new(mean.clone());
        while let Some(asked) = search.next() {
            let mut trial = trial(&search, asked, 0.0, seed);
            // The values are uniform around a mean that is 50 ms at a load of 10.
            let middle = 50.0 * (asked.load / 10.0).powi(2);
            trial.measured[0].value *= middle * 2.0;
            trial.measured[0].error *= middle * 2.0;
            search.tell(trial);
        }
        let (low, high) = search.interval(0);
        assert_eq!(search.outcome(), SearchEnding::Found, "{seed}");
        assert!(low.unwrap() <= 10.0 && 10.0 <= high.unwrap(), "{low:?} {high:?}");
    }
}

#[test]
fn a_server_that_immediately_refuses_most_requests_is_not_taken_for_an_idle_one() {
    let mut search = Search::new(plan("ttft_p90<1s"));
    let asked = search.next().unwrap();
    let mut refused = trial(&search, asked, 0.6, 1);
    (refused.latency_s, refused.completed) = (0.001, asked.requests * 2 / 5);
    search.tell(refused);
    assert_eq!(search.outcome(), SearchEnding::Unfinished);
    assert!(search.next().is_some_and(|next| next.load < asked.load));
}

#[test]
fn a_load_that_certainly_misses_bounds_the_interval_from_above() {
    for seed in 0..20 {
        let asked = SearchPlan { max_requests: 3_000, ..plan("ttft_p99<1s") };
        let found = search(asked, |load| if load < 11.0 { 0.0 } else { 1.0 }, seed);
        let loads = found.loads();
        let beyond = loads.iter().filter(|load| !load.overwhelmed.is_empty()).map(|load| load.load);
        let lowest = beyond.min_by(f64::total_cmp).expect("a load far beyond the edge was tried");
        let high = found.interval(0).1.expect("an upper end");
        assert!(high <= lowest, "{seed}: {high} of {lowest}");
    }
}

/// A trial on a server that answers each request after 0.1 s, and always misses the objectives.
fn never_in_time(search: &Search, asked: NextTrial) -> Trial {
    let whole = trial(search, asked, 1.0, 0);
    Trial { cut_off: 1, planned: whole.planned + 1, is_settled: false, ..whole }
}

#[test]
fn a_search_ends_soon_if_even_an_idle_server_misses_the_objective() {
    let mut search = Search::new(plan("ttft_p99<1ms"));
    while let Some(asked) = search.next() {
        let trial = never_in_time(&search, asked);
        search.tell(trial);
    }
    assert_eq!(search.outcome(), SearchEnding::NotMetAtLowest);
    // If each request takes 0.1 s, a server is nearly idle at one request per second.
    assert!(search.trials() <= 8, "{}", search.trials());
    let lowest = search.loads()[0].load;
    assert!((0.1..=1.0).contains(&lowest), "{lowest}");
    let answers = SearchAnswer::of_search(CELL, &search);
    assert!(answers[0].answer.contains("does not sustain even"), "{}", answers[0].answer);
}

#[test]
fn each_tier_reports_the_number_of_requests_that_missed_its_criteria() {
    let tiers = vec![tier("gold", &[0]), tier("silver", &[1])];
    let mut search = Search::new(SearchPlan { tiers, ..plan("ttft_p95<1s,e2e_p95<9s") });
    let next = search.next().expect("a trial");
    let mut trial = never_in_time(&search, next);
    trial.missed = vec![trial.planned, trial.planned - 3];
    search.tell(trial.clone());
    let answers = SearchAnswer::of_search(CELL, &search);
    for (answer, missed) in answers.iter().zip(&trial.missed) {
        let by = answer.loads[0].overwhelmed.expect("far beyond");
        assert_eq!((by.criterion, by.missed), (0, *missed));
        assert_eq!(answer.loads[0].claim, Claim::NotMet);
        assert!(answer.high.is_some_and(|high| high <= trial.load));
    }
}

#[test]
fn a_load_with_only_too_short_trials_stays_undecided() {
    let mut search = Search::new(plan("ttft_p50<1s"));
    let next = search.next().expect("a trial");
    let short = Trial { is_settled: false, ..trial(&search, next, 0.0, 0) };
    search.tell(short);
    let answers = SearchAnswer::of_search(CELL, &search);
    assert_eq!(answers[0].loads[0].claim, Claim::Open);
    assert!(answers[0].loads[0].is_too_short);
}

#[test]
fn the_first_loads_of_a_search_grow_by_the_given_factor() {
    for (stride, loads) in [(4.0, [16.0, 64.0, 256.0]), (2.0, [16.0, 32.0, 64.0])] {
        let mut search = Search::new(SearchPlan { stride, ..plan("ttft_p95<1s") });
        for load in loads {
            let asked = search.next().expect("a trial");
            assert_eq!(asked.load, load, "{stride}");
            let met = trial(&search, asked, 0.0, 1);
            search.tell(met);
        }
    }
}

#[test]
fn a_search_with_too_few_requests_or_trials_is_undecided_and_names_the_option_to_raise() {
    for (limits, told) in [
        (
            SearchPlan { max_requests: 40, ..plan("ttft_p99<1s") },
            ["40 requests", "raise --max-requests"],
        ),
        (SearchPlan { max_trials: 1, ..plan("ttft_p99<1s") }, ["--max-trials 1", "raise it"]),
    ] {
        let mut search = Search::new(limits);
        let next = search.next().expect("a trial");
        let short = Trial { is_settled: false, ..trial(&search, next, 0.0, 0) };
        search.tell(short);
        assert!(search.next().is_none(), "{told:?}");
        let answer = &SearchAnswer::of_search(CELL, &search)[0];
        assert!(!answer.is_missed());
        for part in ["No tried load is", "ttft_p99<1s (no confidence interval yet); undecided"] {
            assert!(answer.answer.contains(part), "{part}: {}", answer.answer);
        }
        assert!(told.iter().all(|part| answer.answer.contains(part)), "{}", answer.answer);
    }
}

#[test]
fn a_miss_at_the_only_tried_load_is_reported_but_undecided_while_lower_loads_are_allowed() {
    for (lowest, is_missed, words) in [
        (0.01, false, "No tried load meets ttft_p99<1s: 16 requests/s"),
        (16.0, true, "The server does not sustain even 16 requests/s with ttft_p99<1s."),
    ] {
        let limits = SearchPlan { max_requests: 40, lowest, ..plan("ttft_p99<1s") };
        let mut search = Search::new(limits);
        let next = search.next().expect("a trial");
        let missed = trial(&search, next, 1.0, 0);
        search.tell(missed);
        let answer = &SearchAnswer::of_search(CELL, &search)[0];
        assert_eq!(answer.is_missed(), is_missed, "from {lowest}");
        assert!(answer.answer.starts_with(words), "{}", answer.answer);
        assert_eq!(answer.answer.contains("undecided"), !is_missed, "{}", answer.answer);
    }
}

#[test]
fn the_objectives_in_an_answer_are_not_capitalized() {
    let search = Search::new(plan("ttft_p99<1s"));
    let answer = &SearchAnswer::of_search(CELL, &search)[0];
    let in_bundles =
        SearchAnswer { outcome: SearchEnding::NotMeasurable, tier: None, ..answer.clone() };
    for text in [answer.answer.clone(), sentence(&in_bundles)] {
        assert!(text.contains("ttft_p99<1s"), "{text}");
    }
}
