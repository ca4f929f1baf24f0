//! Tests objectives on passes with known figures.

use inferometer_model::fixture::steady;
use inferometer_model::metrics::slo::parse;
use inferometer_model::metrics::{e2e, itl, send_delay, tpot, ttft};
use inferometer_model::stats::Distribution;
use inferometer_model::{Bound, Outcome, PassPlan, Timeline};

use super::*;
use crate::PassFold;
use crate::cell::cell;
use crate::range::Range;
use crate::verdict::Met;

/// A cell with a one_by_one pass (TTFT 40 ms, ITL 20 ms, 10 requests/s) and a saturated pass (TTFT 400 ms, ITL 10 ms,
/// one of four requests failed).
fn cells() -> Vec<Cell> {
    let one = PassPlan::one_by_one(Bound::requests(1));
    let mut alone = PassFold::new(&one);
    alone.add(&Timeline::new(&steady(0.0, 40.0, 20.0, 4)));
    let mut loaded = PassFold::new(&PassPlan::saturated(4));
    for index in 0..4 {
        let mut record = steady(0.0, 400.0, 10.0, 4);
        record.outcome = if index == 0 { Outcome::Truncated } else { Outcome::Complete };
        loaded.add(&Timeline::new(&record));
    }
    vec![cell(128, 32, vec![alone.finish(), loaded.finish()])]
}

fn judged(text: &str) -> Vec<(String, Option<f64>, bool)> {
    judge(&parse(text).expect("valid"), &cells())
        .into_iter()
        .map(|result| {
            let measured = result.measured.map(|value| (value * 1e6).round() / 1e6);
            assert_eq!(result.objective, text);
            (result.place, measured, result.met)
        })
        .collect()
}

#[test]
fn latencies_are_judged_on_every_pass_in_the_unit_of_the_objective() {
    let (alone, loaded) = ("128 x 32, one by one".to_owned(), "128 x 32, saturated".to_owned());
    assert_eq!(
        judged("ttft_p99<0.3s"),
        [(alone.clone(), Some(0.04), true), (loaded.clone(), Some(0.4), false)]
    );
    assert_eq!(
        judged("itl_p50<=10ms"),
        [(alone.clone(), Some(20.0), false), (loaded.clone(), Some(10.0), true)]
    );
    assert_eq!(judged("failures<1%"), [(alone, Some(0.0), true), (loaded, Some(25.0), false)]);
}

#[test]
fn throughput_is_judged_on_the_pass_that_loads_the_server() {
    let loaded = "128 x 32, saturated".to_owned();
    // Three completed requests of four tokens in 430 ms.
    assert_eq!(judged("requests_per_s>6.9"), [(loaded.clone(), Some(6.976744), true)]);
    assert_eq!(judged("output_tokens_per_s>28"), [(loaded, Some(27.906977), false)]);
    let mut only_alone = cells();
    only_alone[0].passes.truncate(1);
    let objectives = parse("requests_per_s>1").expect("valid");
    assert_eq!(judge(&objectives, &only_alone).len(), 1);
}

#[test]
fn a_figure_equal_to_its_limit_meets_only_inclusive_comparisons() {
    for (sign, met) in [("<", false), ("<=", true), (">", false), (">=", true)] {
        assert_eq!(judged(&format!("failures{sign}25%"))[1].2, met, "{sign}");
    }
}

#[test]
fn an_objective_without_a_figure_is_undecided_but_missed_if_no_request_completed() {
    let mut cells = cells();
    *cells[0].passes[0].latencies.entry(&ttft::FROM_SENT) = None;
    let of = |cells: &[Cell]| judge(&parse("ttft_p99<500ms").expect("valid"), cells).remove(0);
    let result = of(&cells);
    assert_eq!((result.measured, result.outcome()), (None, Met::Undecided));
    assert_eq!(result.notes().collect::<Vec<_>>(), ["ttft was not measured"]);
    // If no request completed, the objective is missed, not undecided.
    cells[0].passes[0].outcomes.complete = 0;
    assert_eq!(of(&cells).outcome(), Met::No);
}

#[test]
fn each_objective_is_judged_on_the_figure_that_it_names() {
    let mut cells = cells();
    let pass = &mut cells[0].passes[1];
    let mut next = 0.0;
    let mut figure = || {
        next += 10.0;
        let part = |part: f64| next + part;
        let [mean, p50, p90, p95, p99, p999, max] = [1.0, 2.0, 3.0, 3.5, 4.0, 4.5, 5.0].map(part);
        Some(Distribution {
            mean,
            p50,
            p90,
            p95: Some(p95),
            p99,
            p999: Some(p999),
            max,
            exact: true,
            n: 9,
            ..Distribution::default()
        })
    };
    *pass.latencies.entry(&ttft::FROM_SENT) = figure();
    *pass.latencies.entry(&tpot::DEFINITION) = figure();
    *pass.latencies.entry(&itl::DEFINITION) = figure();
    *pass.latencies.entry(&e2e::FROM_SENT) = figure();
    *pass.latencies.entry(&ttft::FROM_DUE) = figure();
    *pass.latencies.entry(&e2e::FROM_DUE) = figure();
    *pass.latencies.entry(&send_delay::DEFINITION) = figure();
    pass.requests_per_s = Some(81.0);
    pass.output_tokens_per_s = Some(91.0);
    for (objective, measured) in [
        ("ttft_mean<1ms", 11.0),
        ("tpot_p50<1ms", 22.0),
        ("itl_p90<1ms", 33.0),
        ("e2e_p99<1ms", 44.0),
        ("ttft_from_due_max<1ms", 55.0),
        ("e2e_from_due_mean<1ms", 61.0),
        ("send_delay_mean<1ms", 71.0),
        ("requests_per_s<1", 81.0),
        ("output_tokens_per_s<1", 91.0),
    ] {
        let results = judge(&parse(objective).expect(objective), &cells);
        assert_eq!(results.last().expect("judged").measured, Some(measured), "{objective}");
    }
}

#[test]
fn an_objective_is_undecided_if_its_limit_lies_within_the_clients_error_range() {
    // In the one_by_one pass, the p99 of TTFT is 40 ms.
    for (low, high, limit, is_open) in [
        (40.0, 40.0, "41ms", false),
        (30.0, 40.0, "39ms", true),
        (30.0, 40.0, "41ms", false),
        (30.0, 40.0, "29ms", false),
        (0.0, 400.0, "41ms", true),
        // The figure is unreliable, but both ends of its range meet the objective.
        (0.0, 400.0, "500ms", false),
        // The limit is inside the range, but the range is so narrow that the figure is trusted.
        (39.9, 40.0, "39.95ms", false),
    ] {
        let mut cells = cells();
        let ranges = &mut cells[0].passes[0].instrument.ranges;
        ranges.set(&ttft::FROM_SENT, Statistic::P99, Range::of(40.0, low, high, 0.05));
        let objectives = parse(&format!("ttft_p99<{limit}")).expect("valid");
        let result = &judge(&objectives, &cells)[0];
        assert_eq!(result.undecided.is_some(), is_open, "{low} {high} {limit} {result:?}");
    }
}

#[test]
fn too_few_values_can_show_that_a_percentile_misses_its_limit_but_not_that_it_meets_it() {
    let mut cells = cells();
    let values = |n, p50| {
        Some(Distribution { p50, p90: 30.0, p99: 40.0, max: 41.0, n, ..Distribution::default() })
    };
    for (objective, n, p50, expected) in [
        ("ttft_p99<35ms", 10, 20.0, Met::No),
        ("ttft_p99<50ms", 10, 20.0, Met::Undecided),
        ("ttft_p99<35ms", 100, 20.0, Met::No),
        ("ttft_p99<50ms", 100, 20.0, Met::Yes),
        ("ttft_p99<15ms", 10, 20.0, Met::No),
        ("ttft_p90<50ms", 2, 20.0, Met::Undecided),
        ("ttft_p50<15ms", 2, 20.0, Met::No),
        ("ttft_p50<25ms", 2, 20.0, Met::Yes),
    ] {
        *cells[0].passes[0].latencies.entry(&ttft::FROM_SENT) = values(n, p50);
        let result = &judge(&parse(objective).expect("valid"), &cells)[0];
        assert_eq!(result.outcome(), expected, "{objective} of {n}: {result:?}");
    }
}

#[test]
fn if_prompts_may_be_cached_a_ttft_objective_can_be_missed_but_not_met() {
    let mut cells = cells();
    cells[0].passes.iter_mut().for_each(trust::doubt_ttft);
    for (objective, expected) in [("ttft_p50<60ms", Met::Undecided), ("ttft_p50<10ms", Met::No)] {
        let result = &judge(&parse(objective).expect("valid"), &cells)[0];
        assert_eq!(result.outcome(), expected, "{objective}: {result:?}");
    }
}

#[test]
fn a_percentile_of_too_few_values_gets_a_note_with_the_number_of_values_needed() {
    let of =
        |objective: &str| judge(&parse(objective).expect("valid"), &cells())[1].too_few.clone();
    let told = of("ttft_p99<500ms").expect("three requests completed");
    assert!(told.starts_with("a p99 of 3 values is close to their maximum"), "{told}");
    assert!(told.ends_with("100 values or more are needed"), "{told}");
    assert!(
        of("ttft_p90<500ms").is_some_and(|told| told.ends_with("10 values or more are needed"))
    );
    for objective in ["ttft_p50<500ms", "ttft_mean<500ms", "ttft_max<500ms", "failures<1%"] {
        assert_eq!(of(objective), None, "{objective}");
    }
}
