//! Tests of the charts of a search: its answers, and the requests that it cut off.

use inferometer_analysis::search::{
    Claim, CriterionEstimate, LoadAnswer, SearchAnswer, SearchEnding, SearchObjective,
};
use inferometer_load::PassKind;
use inferometer_model::outcome::Outcome;
use inferometer_model::record::{CUT_OFF, Record};
use inferometer_model::time::Nanos;
use inferometer_plan::search::Over;
use inferometer_report::charts;
use inferometer_report::plot::{self, Theme};
use inferometer_report::trace::{PassTracer, Traces};

use crate::charts::{beyond_the_grid, loads, page};
use crate::support::records::record;
use crate::support::{cell, empty, pass};

#[test]
fn charts_do_not_show_requests_that_a_search_cut_off_as_failures() {
    let summary = loads();
    let mut tracer = PassTracer::new(summary.cells[0].plan());
    for index in 0..99 {
        let mut record = record(index, Nanos(0), 8);
        if index >= 90 {
            record.outcome = Outcome::Cancelled;
            record.detail = Some(CUT_OFF.to_owned());
        }
        tracer.add(&record);
    }
    let mut unsent = Record::planned(0, 99, Nanos(0));
    unsent.detail = Some(CUT_OFF.to_owned());
    tracer.add(&unsent);
    let trace = tracer.finish();
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
    assert!(rows.texts.iter().any(|text| text.ends_with("cancelled by the search")));
    let page = page(&summary, &traces);
    assert!(!page.contains("Dashed lines") && page.contains("not sent, because the result"));
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
