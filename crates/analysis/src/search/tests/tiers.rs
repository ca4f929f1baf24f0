//! Searches with several tiers, and objectives that no load meets.

use super::*;

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

/// A trial at `load` of which `alone` requests arrived at an idle server and needed `latency_s`; all requests missed.
fn all_missed(search: &Search, asked: NextTrial, alone: u64, latency_s: f64) -> Trial {
    let missed = vec![alone; search.settings().criteria.len()];
    let alone = Alone { requests: alone, missed, fastest_s: Some(latency_s) };
    Trial { alone, latency_s, ..trial(search, asked, 2.0, 0) }
}

#[test]
fn an_objective_that_requests_at_an_idle_server_miss_ends_the_search_soon() {
    // A request alone takes 30 s: 16/s is far above any useful load. Half of the requests find an idle server at 1/60 s.
    for text in ["e2e_p50<1s", "e2e_mean<1s"] {
        let mut search = Search::new(settings(text));
        let mut loads = Vec::new();
        while let Some(asked) = search.next() {
            let alone = if asked.load * 30.0 > 1.0 { 1 } else { asked.requests / 2 };
            loads.push(asked.load);
            let missed = all_missed(&search, asked, alone, 30.0);
            // A mean of 30 s.
            let late = CriterionResult { value: 30e3, met: false };
            let late = vec![late; asked.requests as usize];
            let measured =
                search.settings().criteria.iter().map(|it| Measure::of(it, &late)).collect();
            search.tell(Trial { measured, ..missed });
        }
        assert!(loads.len() <= 3 && loads.last().is_some_and(|last| *last <= 0.02), "{loads:?}");
        let answer = &SearchAnswer::of_search(&plan_of(search.settings()), CELL, &search)[0];
        assert_eq!((answer.outcome, answer.best()), (SearchEnding::NotMetAtLowest, None));
        assert!(
            answer.answer.contains("requests that arrived at an idle server missed"),
            "{}",
            answer.answer
        );
    }
}

#[test]
fn requests_that_arrive_while_no_other_is_in_flight_are_counted_as_alone() {
    // Times in seconds: due, end. The third request arrives while the second one is in flight.
    let times = [(0.0, 1.0), (1.5, 3.0), (2.0, 2.5), (3.0, 4.0)];
    let one = |(index, (due, end)): (u32, (f64, f64))| {
        let ttft = if index == 3 { 10.0 } else { 90.0 };
        RequestFigures { index, ..figures(due * 1e3, end * 1e3, ttft) }
    };
    let found = folded((0..).zip(times).map(one)).alone;
    assert_eq!(found, Alone { requests: 3, missed: vec![2], fastest_s: Some(1.0) });
}
