//! Tests of the charts of searches and sweeps: their answers, and the requests that a search cut off.

use inferometer_analysis::pass::PassSummary;
use inferometer_analysis::search::{
    Claim, CriterionEstimate, LoadAnswer, SearchAnswer, SearchEnding, SearchObjective,
};
use inferometer_analysis::summary::Summary;
use inferometer_analysis::sweep::SweepAnswer;
use inferometer_analysis::verdict::SloResult;
use inferometer_model::load::PassKind;
use inferometer_model::outcome::Outcome;
use inferometer_model::record::{Detail, Record, StopReason};
use inferometer_model::time::Nanos;
use inferometer_plan::search::Over;
use inferometer_report::chart::{Chart, Panel, Series, Shape};
use inferometer_report::charts;
use inferometer_report::plot::{self, Theme};
use inferometer_report::trace::{PassTrace, Traces};

use crate::charts::{beyond_the_grid, loads, page};
use crate::support::records::{Tracing, record};
use crate::support::{cell, empty, pass};

/// The trace of a pass with 90 completed requests, 9 cancelled requests, and one that was not sent. The arguments are
/// the details of the cancelled requests, and of the one that was not sent.
fn ended_early(summary: &Summary, cancelled: Option<Detail>, not_sent: Detail) -> PassTrace {
    let mut tracer = Tracing::new(summary.cells[0].plan());
    for index in 0..99 {
        let mut record = record(index, Nanos(0), 8);
        if index >= 90 {
            record.outcome = Outcome::Cancelled;
            record.detail = cancelled.clone();
        }
        tracer.add(&record);
    }
    let mut unsent = Record::planned(0, 99, Nanos(0));
    unsent.detail = Some(not_sent);
    tracer.add(&unsent);
    tracer.finish()
}

#[test]
fn a_request_that_was_not_sent_counts_as_failed_only_if_the_pass_was_not_ended_early() {
    let summary = loads();
    let out_of_time = Detail::Stopped(StopReason::MaxTime);
    for (cancelled, not_sent, counts) in [
        (Some(Detail::ResultCertain), Detail::ResultCertain, (0, 10)),
        (Some(out_of_time.clone()), out_of_time, (0, 10)),
        (None, Detail::Interrupted, (0, 10)),
        (None, Detail::earlier_turn(Outcome::Truncated), (1, 9)),
    ] {
        let trace = ended_early(&summary, cancelled, not_sent.clone());
        assert_eq!((trace.failed, trace.cut_off), counts, "{not_sent:?}");
        assert_eq!(trace.failures.len() as u64, trace.failed, "{not_sent:?}");
    }
}

#[test]
fn charts_do_not_show_requests_of_a_pass_that_was_ended_early_as_failures() {
    let summary = loads();
    let trace = ended_early(&summary, Some(Detail::ResultCertain), Detail::ResultCertain);
    assert_eq!((trace.failed, trace.cut_off, trace.failures.len()), (0, 10, 0));
    let traces = Traces(vec![trace]);
    let charts = beyond_the_grid(&summary, &traces);
    let timeline = charts.last().unwrap();
    let notes = timeline.notes.concat();
    assert!(
        notes.contains("10 requests were cancelled or not sent") && !notes.contains("failed"),
        "{notes}"
    );
    let rows = &timeline.panels.last().unwrap().series[0];
    assert!(rows.failed.iter().all(|failed| !failed));
    assert!(rows.texts.iter().any(|text| text.ends_with(", cancelled")));
    let page = page(&summary, &traces);
    assert!(!page.contains("Dashed lines") && page.contains("not sent, because the pass"));
}

/// The answer of a search over 1, 2, 4 and 8 requests/s, for a cell with this output length.
pub(crate) fn answer(output_length: u32) -> SearchAnswer {
    let load = |load: f64| LoadAnswer {
        load,
        trials: 1,
        requests: 400,
        counted: 350,
        claim: if load < 5.0 { Claim::Met } else { Claim::NotMet },
        saturation: None,
        overwhelmed: None,
        is_too_short: false,
        lacks_gaps: false,
        starts_together: false,
        objectives: vec![CriterionEstimate {
            value: 1.0 - load / 40.0,
            interval: Some([0.75, 0.99]),
            limit: 0.9,
            counted: 350,
            independent: 300.0,
            claim: Claim::Open,
        }],
    };
    SearchAnswer {
        input_length: 128,
        output_length,
        over: Over::Rate,
        tier: None,
        answer: String::new(),
        objectives: vec![SearchObjective {
            text: "ttft_p90<300ms".to_owned(),
            share: Some(0.9),
            mean_limit_ms: None,
        }],
        confidence: 0.95,
        precision: 0.1,
        outcome: SearchEnding::Found,
        estimate: Some(6.0),
        is_one_sided: false,
        low: Some(4.0),
        high: Some(8.0),
        guess: None,
        limited_by: Vec::new(),
        saturated: false,
        contradicts: false,
        is_missed_alone: false,
        is_limited_by_client: false,
        model: None,
        refusal: None,
        requests: 1_600,
        trials: 4,
        time_s: 60.0,
        loads: [1.0, 2.0, 4.0, 8.0].map(load).to_vec(),
    }
}

#[test]
fn the_chart_of_a_search_shows_the_answers_and_states_how_many_cells_it_shows() {
    let mut summary = empty("m", "c", "e", "1");
    summary.searches = (1..=7).map(|cell| answer(cell * 32)).collect();
    let chart = charts::of_run(&summary, &Traces::default()).remove(0);
    assert_eq!((chart.id.as_str(), chart.panels.len()), ("search", 6 * 3));
    let band = &chart.panels[0].bands[0];
    assert_eq!((band.from, band.to), (4.0, 8.0));
    assert!(chart.notes.concat().contains("6 of 7 cells"), "{:?}", chart.notes);
    let svg = plot::file(&chart, Theme::Light);
    for part in ["ttft_p90&lt;300ms", "needed: 90 %", ">4<", ">8<", "Arrival rate (requests/s)"] {
        assert!(svg.contains(part), "{part}");
    }
}

#[test]
fn the_chart_of_a_search_states_how_many_trials_were_cut_off_and_at_which_load() {
    let mut summary = empty("m", "c", "e", "1");
    summary.searches = vec![answer(32)];
    summary.cells = vec![cell(128, 32, [None; 4])];
    let trial = |rate: f64, cancelled: u64| {
        let mut trial = pass(PassKind::Open, 400);
        (trial.trial, trial.rate) = (Some(1), Some(rate));
        trial.outcomes.complete = 400 - cancelled;
        trial.outcomes.cancelled = cancelled;
        trial
    };
    summary.cells[0].passes = vec![trial(8.0, 300), trial(4.0, 0), trial(8.0, 250)];
    let notes = charts::of_run(&summary, &Traces::default()).remove(0).notes.concat();
    let expected = "2 of 3 trials were cut off (at 8 requests/s)";
    assert!(notes.contains(expected), "{notes}");
    summary.cells[0].passes.remove(0);
    summary.cells[0].passes.remove(1);
    let notes = charts::of_run(&summary, &Traces::default()).remove(0).notes.concat();
    assert!(!notes.contains("cut off"), "{notes}");
}

/// The names of the curves and the limits in the panel with this title.
fn drawn_in<'a>(chart: &'a Chart, title: &str) -> Vec<&'a str> {
    let panel = chart.panels.iter().find(|panel| panel.y.title.starts_with(title));
    let panel = panel.unwrap_or_else(|| panic!("no panel {title}"));
    panel.series.iter().map(|series| series.name.as_str()).collect()
}

/// One trial of 400 requests at each of 1, 2, 4 and 8 requests/s; all have the same figures.
fn trials() -> Vec<PassSummary> {
    let trial = |rate: f64| {
        let mut trial = pass(PassKind::Open, 400);
        (trial.trial, trial.rate) = (Some(1), Some(rate));
        trial
    };
    [1.0, 2.0, 4.0, 8.0].map(trial).to_vec()
}

#[test]
fn the_chart_of_a_search_shows_each_percentile_with_an_objective_and_its_limit() {
    let mut summary = empty("m", "c", "e", "1");
    summary.cells = vec![cell(128, 32, [None; 4])];
    summary.cells[0].passes = trials();
    for (objective, panel, names) in [
        ("ttft_p95<25ms", "TTFT", ["p50", "p95", "p99", "limit of ttft_p95<25ms"]),
        ("tpot_p90<20ms", "TPOT", ["p50", "p90", "p99", "limit of tpot_p90<20ms"]),
        // The chart has a panel of E2E only if an objective limits E2E.
        ("e2e_p95<500ms", "E2E", ["p50", "p95", "p99", "limit of e2e_p95<500ms"]),
    ] {
        let mut answer = answer(32);
        answer.objectives[0].text = objective.to_owned();
        summary.searches = vec![answer];
        let chart = charts::of_run(&summary, &Traces::default()).remove(0);
        let found = drawn_in(&chart, panel);
        assert!(found.starts_with(&names), "{objective}: {found:?} {:?}", chart.notes);
    }
    summary.searches[0].objectives[0].text = "ttft_p95<900s".to_owned();
    let chart = charts::of_run(&summary, &Traces::default()).remove(0);
    assert_eq!(drawn_in(&chart, "TTFT")[..3], ["p50", "p95", "p99"]);
    let words = "The limit of ttft_p95<900s is too far";
    assert!(chart.notes.iter().any(|note| note.starts_with(words)), "{:?}", chart.notes);
}

#[test]
fn the_latency_chart_of_several_loads_shows_each_percentile_with_an_objective_and_its_limit() {
    let mut summary = loads();
    let titles = |summary: &Summary| -> Vec<String> {
        let chart = charts::of_run(summary, &Traces::default()).remove(0);
        chart.panels.iter().map(|panel| panel.y.title.clone()).collect()
    };
    assert!(!titles(&summary).contains(&"TTFT p95".to_owned()));
    let objective = "ttft_p95<25ms".to_owned();
    summary.verdict.slo.push(SloResult { objective, ..SloResult::default() });
    let all = titles(&summary);
    let at = all.iter().position(|title| title == "TTFT p95").expect("a panel of the percentile");
    assert_eq!((all[at - 1].as_str(), all[at + 1].as_str()), ("TTFT p50", "TTFT p99"));
    let chart = charts::of_run(&summary, &Traces::default()).remove(0);
    assert!(drawn_in(&chart, "TTFT p95").contains(&"limit of ttft_p95<25ms"));
}

#[test]
fn the_ends_of_an_interval_have_the_same_digits_in_the_chart_and_in_the_answer() {
    let mut summary = empty("m", "c", "e", "1");
    let mut answer = answer(32);
    (answer.estimate, answer.low, answer.high) = (Some(7.8), Some(7.671), Some(8.004));
    summary.searches = vec![answer];
    let chart = charts::of_run(&summary, &Traces::default()).remove(0);
    let marks = chart.series().find(|series| series.shape == Shape::Marks).expect("the interval");
    assert_eq!(marks.texts, ["7.67", "8.00"]);
    assert!(chart.notes[0].contains("interval: 7.67 to 8.00"), "{:?}", chart.notes);
}

/// The chart of these answers of one cell, with a pass at each load.
fn drawn(answers: Vec<SearchAnswer>) -> Chart {
    let mut summary = empty("m", "c", "e", "1");
    summary.searches = answers;
    summary.cells = vec![cell(128, 32, [None; 4])];
    summary.cells[0].passes = trials();
    charts::of_run(&summary, &Traces::default()).remove(0)
}

#[test]
fn the_chart_of_a_search_without_an_answer_marks_no_interval_and_draws_a_limit_below_the_values() {
    let mut missed = answer(32);
    (missed.outcome, missed.estimate) = (SearchEnding::NotMetAtLowest, None);
    (missed.low, missed.high) = (None, Some(0.9));
    // The values of the trials are about 20 ms, so the limit is below a third of them.
    missed.objectives[0].text = "ttft_p50<1ms".to_owned();
    let chart = drawn(vec![missed]);
    let marks = |series: &Series| series.shape == Shape::Marks;
    assert!(!chart.series().any(marks) && chart.panels.iter().all(|it| it.bands.is_empty()));
    assert!(drawn_in(&chart, "TTFT").contains(&"limit of ttft_p50<1ms"), "{:?}", chart.notes);
    assert!(!chart.notes.concat().contains("too far"), "{:?}", chart.notes);
}

#[test]
fn the_chart_of_a_search_leaves_out_loads_with_too_short_trials_and_names_them() {
    let mut short = answer(32);
    short.loads[3].is_too_short = true;
    let chart = drawn(vec![short]);
    let curves = chart.series().filter(|series| series.shape == Shape::Marked);
    for curve in curves {
        assert_eq!(curve.x, [1.0, 2.0, 4.0], "{}", curve.name);
    }
    let is_told = |note: &String| {
        note.starts_with("128 x 32: not drawn, ") && note.contains("a steady state: 8 requests/s.")
    };
    assert!(chart.notes.iter().any(is_told), "{:?}", chart.notes);
    let mut none = answer(32);
    none.loads.iter_mut().for_each(|load| load.is_too_short = true);
    let mut summary = empty("m", "c", "e", "1");
    summary.searches = vec![none];
    assert!(charts::of_run(&summary, &Traces::default()).is_empty());
}

#[test]
fn the_chart_of_a_search_with_tiers_names_each_tier_and_draws_equal_panels_once() {
    let tier = |name: &str, objective: &str| {
        let mut answer = answer(32);
        answer.tier = Some(name.to_owned());
        answer.objectives[0].text = objective.to_owned();
        answer
    };
    let chart = drawn(vec![tier("gold", "ttft_p90<45ms"), tier("bronze", "ttft_p90<65ms")]);
    let titles: Vec<&str> = chart.panels.iter().map(|panel| panel.title.as_str()).collect();
    assert_eq!(titles, ["128 x 32, gold", "128 x 32, bronze", "128 x 32", "128 x 32"]);
    let colours: Vec<usize> =
        chart.panels[..2].iter().map(|panel| panel.series[0].style_index).collect();
    assert_eq!(colours, [0, 1]);
    let marked = |panel: &Panel| panel.series.iter().any(|it| it.shape == Shape::Marks);
    assert_eq!(chart.panels.iter().map(marked).collect::<Vec<_>>(), [true, true, false, false]);
    // Each limit is labelled in the drawing, not only in the legend.
    let svg = plot::file(&chart, Theme::Light);
    for limit in ["limit of ttft_p90&lt;45ms", "limit of ttft_p90&lt;65ms"] {
        assert_eq!(svg.matches(limit).count(), 2, "{limit}");
    }
    let mut notes = chart.notes.clone();
    notes.sort();
    notes.dedup();
    assert_eq!(notes.len(), chart.notes.len(), "{:?}", chart.notes);
}

/// The answer of a sweep over 1, 2, 4, 8 and 16 requests in flight.
pub(crate) fn sweep_answer() -> SweepAnswer {
    let ends =
        |value: f64| serde_json::json!({"value": value, "low": value * 0.99, "high": value * 1.01});
    let level = |load: f64, rate: f64| {
        serde_json::json!({
            "by": "concurrency", "load": load, "trials": 1, "requests": 100, "counted": 90,
            "completed": 100, "is_settled": true, "is_overloaded": false,
            "requests_per_s": ends(rate), "output_tokens_per_s": ends(32.0 * rate), "ttft_ms": null,
            "tpot_ms": ends(10.0), "latency_ms": ends(1000.0 * load / rate),
            "tokens_per_s_per_user": ends(100.0), "is_on_front": false,
        })
    };
    let levels = [(1.0, 5.0), (2.0, 8.0), (4.0, 10.0), (8.0, 10.5), (16.0, 10.6)];
    serde_json::from_value(serde_json::json!({
        "input_length": 128, "output_length": 32, "by": "concurrency", "answer": "It saturates.",
        "confidence": 0.95, "outcome": "found",
        "saturation": {"load": 16.0, "requests_per_s": ends(10.6), "output_tokens_per_s": null,
            "latency_ms": null},
        "knee": {"load": 4.2, "low": 3.9, "high": 10.04, "share": 0.95, "latency_ratio": null,
            "latency_of": 16.0},
        "requests": 500, "trials": 5, "time_s": 60.0,
        "levels": levels.map(|(load, rate)| level(load, rate)),
    }))
    .expect("the answer of a sweep")
}

#[test]
fn the_knee_of_a_sweep_is_marked_with_its_interval_against_load_and_against_throughput() {
    let mut summary = empty("m", "c", "e", "1");
    summary.sweeps = vec![sweep_answer()];
    let charts = charts::of_run(&summary, &Traces::default());
    // At 4.2 in flight, the throughput is between those at 4 and at 8, on a logarithmic scale of the load.
    let throughput = |load: f64| 10.0 + 0.5 * (load / 4.0).ln() / 2.0_f64.ln();
    for (id, at, to) in [
        ("sweep-throughput", 4.2, 10.04),
        ("sweep-latency", throughput(4.2), 10.5 + 0.1 * (10.04_f64 / 8.0).ln() / 2.0_f64.ln()),
    ] {
        let chart = charts.iter().find(|chart| chart.id == id).expect(id);
        let knee = chart.series().find(|series| series.shape == Shape::Marks).expect(id);
        assert!((knee.x[0] - at).abs() < 1e-9, "{id}: {:?}", knee.x);
        assert_eq!(knee.texts, ["knee 4.2 (3.9 to 10.0)"]);
        let band = &chart.panels[0].bands[0];
        assert!(band.from < at && (band.to - to).abs() < 1e-9, "{id}: {band:?}");
    }
}
