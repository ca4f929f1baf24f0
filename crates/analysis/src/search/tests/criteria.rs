//! Tests how a criterion judges one request, and which objectives a search accepts.

use super::*;

#[test]
fn a_percentile_objective_is_judged_per_request_and_failed_requests_miss_it() {
    let judged = |text: &str, figures: &RequestFigures| of_slo(text)[0].judge(figures).met;
    let good = figures(0.0, 1.0, 40.0)
        .with(&tpot::DEFINITION, Some(20.0))
        .with(&e2e::FROM_SENT, Some(900.0));
    assert!(judged("ttft_p99<41ms", &good) && !judged("ttft_p99<40ms", &good));
    assert!(judged("ttft_p99<=40ms", &good) && judged("e2e_p50<1s", &good));
    let failed = RequestFigures { complete: false, ..good };
    assert!(!judged("ttft_p99<41ms", &failed) && !judged("failures<1%", &failed));
    // A stream with one event has no time between tokens. A response without streaming has no first token.
    let single = stream(0.0, &[(5.0, EventKind::Text, Some(1))]);
    let of = |streamed| RequestFigures::of(&Timeline::new(&Record { streamed, ..single.clone() }));
    assert!(judged("tpot_p90<1ms", &of(true)) && !judged("tpot_p90<1ms", &of(false)));
    let needed = |text: &str| of_slo(text)[0].needed();
    assert_eq!([needed("ttft_p99<1s"), needed("ttft_p50<1s")], [Some(0.99), Some(0.5)]);
    assert!((needed("failures<2%").unwrap() - 0.98).abs() < 1e-12);
}

#[test]
fn goodput_objectives_form_one_criterion_and_a_mean_adds_a_criterion_on_failures() {
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
fn objectives_that_a_load_search_cannot_use_are_refused() {
    let refused = |text: &str| criteria(&slo::parse(text).unwrap(), &[], 0.99, None).unwrap_err();
    for (text, word) in [
        ("requests_per_s>5", "a search needs upper limits"),
        ("output_tokens_per_s<5", "a search needs upper limits"),
        ("ttft_p99>5ms", "a search needs upper limits"),
        ("ttft_max<5ms", "p999"),
        ("itl_p99<5ms", "tpot"),
    ] {
        let told = refused(text)[0].to_string();
        assert!(told.contains(word) && told.contains(text), "{told}");
    }
    assert_eq!(refused("itl_p99<5ms,ttft_max<5ms").len(), 2);
}

#[test]
fn a_given_share_of_failures_adds_a_criterion_to_any_objective() {
    let slo = slo::parse("ttft_p99<1s").unwrap();
    let given = criteria(&slo, &[], 0.99, Some(0.02)).unwrap();
    assert_eq!((given.len(), given[1].needed()), (2, Some(0.98)));
    assert_eq!(criteria(&slo, &[], 0.99, None).unwrap().len(), 1);
}

#[test]
fn objectives_that_every_request_must_meet_are_refused() {
    let goodput = goodput::parse("ttft<50ms").unwrap();
    let slo = |text: &str| slo::parse(text).unwrap();
    for (refused, words) in [
        (criteria(&slo("failures<=0%"), &[], 0.99, None), "`failures<=0%`"),
        (criteria(&slo("ttft_p99<1s"), &[], 0.99, Some(0.0)), "--max-failures"),
        (criteria(&[], &goodput, 1.0, None), "`100% of requests at ttft<50ms`"),
    ] {
        let told = refused.unwrap_err()[0].to_string();
        assert!(told.contains(words) && told.contains("give a share"), "{told}");
    }
}

#[test]
fn requests_in_flight_are_judged_optimistically_and_a_closed_loops_first_burst_is_ignored() {
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
        let watcher = Watcher::new(&of_slo("ttft_p99<50ms"), &[vec![0]], &pass);
        watcher.is_certain((0..44).map(late))
    };
    assert!(certain(PassPlan::open(40.0, Bound::requests(100))));
    assert!(!certain(PassPlan::closed(8, Bound::requests(100))));
    assert!(certain(PassPlan::closed(4, Bound::requests(100))));
}

#[test]
fn a_trial_with_bundled_streams_cannot_judge_tpot_and_ends_the_search() {
    let plan = plan("ttft_p50<1s,tpot_p99<50ms");
    let pass = PassPlan::open(1.0, Bound::requests(200));
    let at_once = |sent: f64| stream(sent, &[0.0; 4].map(|_| (sent + 20.0, EventKind::Text, None)));
    let trial = |bundled: u32| {
        let mut fold = TrialFold::of(&pass, &plan.criteria).unwrap();
        for index in 0..200 {
            let sent = f64::from(index) * 1_000.0;
            let mut record = match index < bundled {
                true => at_once(sent),
                false => steady(sent, 20.0, 10.0, 4),
            };
            record.index = index;
            fold.add(&RequestFigures::of(&Timeline::new(&record)));
        }
        fold.finish()
    };
    let few = trial(20);
    assert!(!few.lacks_gaps && few.measured[1].counted == few.measured[0].counted);
    let many = trial(21);
    assert!(many.lacks_gaps && many.measured[1].counted == 0 && many.measured[0].counted > 0);
    assert_eq!(many.counted, many.measured[0].counted);
    let mut search = Search::new(plan.clone());
    search.tell(many.clone());
    assert_eq!((search.outcome(), search.next()), (SearchEnding::NotMeasurable, None));
    assert_eq!(search.interval(0).0, None);
    // An objective that does not depend on times between tokens is judged as usual.
    let mut fold = TrialFold::of(&pass, &of_slo("ttft_p50<1s")).unwrap();
    fold.add(&RequestFigures::of(&Timeline::new(&at_once(0.0))));
    assert!(!fold.finish().lacks_gaps);
}

#[test]
fn an_answer_that_may_be_the_limit_of_the_client_says_so() {
    let mut search = Search::new(plan("ttft_p99<1s"));
    while let Some(asked) = search.next() {
        let misses = if asked.load > 50.0 { 1.0 } else { 0.0 };
        let told = trial(&search, asked, misses, 0);
        search.tell(told);
    }
    let answer = SearchAnswer::of_search(CELL, &search).remove(0);
    let missed = answer.loads.iter().find(|load| load.claim == Claim::NotMet).expect("a load");
    for (dropped, is_limited) in [(0, false), (1, true)] {
        let pass = PassPlan::open(missed.load, Bound::requests(1));
        let mut pass = crate::fold::PassFold::new(&pass).finish();
        (pass.outcomes.complete, pass.outcomes.dropped) = (1, dropped);
        let cells = [crate::cell::cell(CELL.input_length, CELL.output_length, vec![pass])];
        let mut answers = [answer.clone()];
        mark_limits_of_client(&mut answers, &cells);
        let [marked] = answers;
        assert_eq!(marked.answer.contains("client"), is_limited, "{}", marked.answer);
        let found = findings(&[marked], &cells);
        let code = inferometer_model::finding::code::SEARCH_LIMITED_BY_CLIENT;
        assert_eq!(found.iter().any(|finding| finding.is(code)), is_limited, "{found:?}");
    }
}

#[test]
fn a_lower_bound_without_an_interval_has_the_words_or_more_after_the_load() {
    let search = Search::new(plan("ttft_p99<1s"));
    let answers = SearchAnswer::of_search(CELL, &search);
    let answer = SearchAnswer {
        estimate: Some(16.0),
        is_one_sided: true,
        outcome: SearchEnding::TimeSpent,
        ..answers[0].clone()
    };
    let told = sentence(&answer);
    let words =
        "about 16 requests/s or more with ttft_p99<1s (no confidence interval yet): no trial";
    assert!(told.contains(words), "{told}");
}
