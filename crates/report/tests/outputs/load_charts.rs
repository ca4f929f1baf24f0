//! Tests of the charts of a run with many loads: throughput and latency over the load, distributions, and the timeline.

use inferometer_analysis::summary::Summary;
use inferometer_analysis::verdict::SloResult;
use inferometer_model::load::PassKind;
use inferometer_model::metrics::{e2e, tpot, ttft};
use inferometer_model::time::Nanos;
use inferometer_report::chart::{Chart, Extent, Scale, Shape};
use inferometer_report::plot::{self, Theme};
use inferometer_report::trace::Traces;

use crate::charts::{beyond_the_grid, loads};
use crate::support::records::{Tracing, observed, record, traces};
use crate::support::{cell, distribution, empty, pass};

/// A run of one cell with a pass for each of these arrival rates. Throughput and latency grow with the rate.
pub(crate) fn rates(rates: &[f64]) -> Summary {
    let mut summary = empty("m", "c", "e", "1");
    let mut cell = cell(128, 32, [Some(1.0); 4]);
    for &rate in rates {
        let mut open = pass(PassKind::Open, 100);
        open.rate = Some(rate);
        open.load = format!("open loop, {rate} requests/s");
        open.output_tokens_per_s = Some(32.0 * rate);
        for (metric, mean) in [
            (&ttft::FROM_SENT, 2.0 * rate * rate),
            (&tpot::DEFINITION, 13.0),
            (&e2e::FROM_SENT, 440.0),
        ] {
            *open.latencies.entry(metric) = Some(distribution(mean));
        }
        cell.passes.push(open);
    }
    summary.cells.push(cell);
    summary
}

/// Traces of passes with these numbers of requests.
pub(crate) fn traces_of(summary: &Summary, requests: &[u32]) -> Traces {
    let of_pass = |(begin_s, requests): (u64, &u32)| {
        let mut tracer = Tracing::new(summary.cells[0].plan());
        let begin = Nanos(begin_s * 1_000_000_000);
        (0..*requests).for_each(|index| tracer.add(&record(index, begin, 8)));
        tracer.finish()
    };
    Traces((0..).map(|pass| 100 * pass).zip(requests).map(of_pass).collect())
}

fn chart(summary: &Summary, traces: &Traces, id: &str) -> Chart {
    let all = beyond_the_grid(summary, traces);
    all.into_iter().find(|chart| chart.id == id).unwrap_or_else(|| panic!("no chart {id}"))
}

#[test]
fn a_run_of_single_requests_has_no_distribution_of_single_values() {
    let summary = loads();
    let charts = beyond_the_grid(&summary, &traces(&summary, 1, 8));
    let ids: Vec<&str> = charts.iter().map(|chart| chart.id.as_str()).collect();
    let drawn: Vec<&&str> = ids.iter().filter(|id| id.starts_with("cdf-")).collect();
    assert_eq!(drawn, [&"cdf-itl"], "{ids:?}");
}

#[test]
fn an_axis_is_logarithmic_if_its_values_span_more_than_a_factor_of_20() {
    for (loads, scale) in [([1.0, 2.0, 4.0], Scale::Linear), ([1.0, 10.0, 100.0], Scale::Log)] {
        let summary = rates(&loads);
        let over_load = chart(&summary, &Traces::default(), "load-open");
        let ttft = over_load.panels.iter().find(|panel| panel.y.title == "TTFT p50").unwrap();
        assert_eq!(ttft.y.scale, scale, "{loads:?}");
        let tpot = over_load.panels.iter().find(|panel| panel.y.title == "TPOT p50").unwrap();
        assert_eq!(tpot.y.scale, Scale::Linear, "{loads:?}");
        let over_throughput = chart(&summary, &Traces::default(), "load-open-latency");
        assert_eq!(over_throughput.x.scale, scale, "{loads:?}");
        assert_eq!(over_throughput.panels[0].y.scale, scale, "{loads:?}");
    }
}

#[test]
fn every_point_of_latency_over_throughput_is_labelled_with_its_load() {
    let summary = rates(&[1.0, 2.5, 10.0]);
    let over_throughput = chart(&summary, &Traces::default(), "load-open-latency");
    for panel in &over_throughput.panels {
        assert!(panel.series[0].labelled);
        assert_eq!(panel.series[0].texts, ["1", "2.5", "10"]);
    }
    assert!(over_throughput.notes[0].contains("(requests/s)"), "{:?}", over_throughput.notes);
    let svg = plot::file(&over_throughput, Theme::Light);
    assert_eq!(svg.matches(">2.5<").count(), over_throughput.panels.len());
}

#[test]
fn the_limit_of_a_median_is_drawn_in_latency_over_throughput_and_other_limits_are_not() {
    let mut summary = rates(&[1.0, 2.0, 4.0]);
    for objective in ["ttft_p50<20ms", "ttft_p95<30ms"] {
        let result = SloResult { objective: objective.to_owned(), ..SloResult::default() };
        summary.verdict.slo.push(result);
    }
    let over_throughput = chart(&summary, &Traces::default(), "load-open-latency");
    let names: Vec<&str> =
        over_throughput.series().map(|series| series.name.as_str()).skip(1).take(1).collect();
    assert_eq!(names, ["limit of ttft_p50<20ms"]);
    let count = over_throughput.series().filter(|series| series.name.starts_with("limit")).count();
    assert_eq!(count, 1);
}

#[test]
fn the_limits_in_a_distribution_are_in_ascending_order_so_that_a_pointer_finds_each() {
    let mut summary = rates(&[1.0, 2.0]);
    for objective in ["ttft_p99<40ms", "ttft_p50<30ms", "ttft_p95<35ms"] {
        let result = SloResult { objective: objective.to_owned(), ..SloResult::default() };
        summary.verdict.slo.push(result);
    }
    let cdf = chart(&summary, &traces_of(&summary, &[60, 60]), "cdf-ttft");
    let limits = cdf.series().find(|series| series.shape == Shape::Marks).expect("limits");
    assert_eq!(limits.x, [30.0, 35.0, 40.0]);
    assert_eq!(limits.texts, ["ttft_p50<30ms", "ttft_p95<35ms", "ttft_p99<40ms"]);
}

#[test]
fn a_timeline_says_which_of_its_lines_are_reduced() {
    let summary = rates(&[1.0]);
    // Requests per pass, seconds until the last request, and the notes that the timeline has.
    for (requests, seconds, in_flight, lines) in
        [(2, 10, false, false), (2, 450, false, true), (900, 10, true, false)]
    {
        let mut tracer = Tracing::new(summary.cells[0].plan());
        (0..requests).for_each(|index| tracer.add(&record(index, Nanos(0), 8)));
        tracer.add(&record(requests, Nanos(seconds * 1_000_000_000), 8));
        tracer.tracer.observe(&observed(Nanos(0), seconds));
        let timeline = chart(&summary, &Traces(vec![tracer.finish()]), "timeline");
        let notes = timeline.notes.concat();
        assert_eq!(notes.contains("in a pass with more than 400 the line"), in_flight, "{notes}");
        assert_eq!(notes.contains("have at most 400 points"), lines, "{notes}");
    }
}

#[test]
fn a_distribution_begins_at_0_percent_and_its_marks_are_inside_of_the_panel() {
    let summary = rates(&[1.0, 2.0]);
    let cdf = chart(&summary, &traces_of(&summary, &[2, 60]), "cdf-ttft");
    let lines = cdf.series().filter(|series| matches!(series.shape, Shape::Line | Shape::Step));
    for line in lines {
        assert_eq!((line.y[0], line.x[0]), (0.0, line.x[1]), "{}", line.name);
        assert_eq!(line.y.last(), Some(&100.0), "{}", line.name);
    }
    // If the axis began exactly at the smallest value, the mark of this value would be on the edge of the panel.
    assert_eq!(cdf.x.extent, Extent::Close);
}

#[test]
fn a_timeline_of_many_passes_draws_8_long_ones_and_names_3_of_the_others() {
    let loads: Vec<f64> = (1..=20).map(f64::from).collect();
    let summary = rates(&loads);
    // The first four passes are short, as in a search.
    let requests: Vec<u32> = (0..20).map(|pass| if pass < 4 { 5 } else { 900 }).collect();
    let timeline = chart(&summary, &traces_of(&summary, &requests), "timeline");
    let bands = &timeline.panels[0].bands;
    assert_eq!(bands.len(), 8);
    let whole = bands[7].to;
    for (number, band) in (1..).zip(bands) {
        assert!(band.name.starts_with(&format!("{number}: 128 x 32, open loop")), "{}", band.name);
        assert!(band.to - band.from > 0.03 * whole, "{}: too narrow", band.name);
    }
    assert!(bands.windows(2).all(|pair| pair[1].from > pair[0].to), "a gap separates two passes");
    let notes = timeline.notes.join("\n");
    for said in [
        "Grey bands: the passes of 128 x 32, open loop: 1: 5 requests/s; 2: ",
        "Drawn: 8 of 20 passes",
        "128 x 32, open loop, 1 request/s; 128 x 32, open loop, 2 requests/s;",
        "and 9 others.",
    ] {
        assert!(notes.contains(said), "{said}: {notes}");
    }
    assert!(timeline.x.title.contains("one after another"), "{}", timeline.x.title);
}

#[test]
fn a_timeline_of_few_passes_draws_them_all_at_their_times() {
    let summary = rates(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    let timeline =
        chart(&summary, &traces_of(&summary, &[5, 50, 50, 50, 50, 50, 50, 50]), "timeline");
    assert_eq!(timeline.panels[0].bands.len(), 8);
    assert_eq!(timeline.panels[0].bands[1].from, 100.0);
    assert!(!timeline.notes.concat().contains("Left out"), "{:?}", timeline.notes);
}

#[test]
fn a_panel_of_the_timeline_is_left_out_if_each_pass_has_a_single_reading() {
    let summary = rates(&[1.0, 2.0]);
    // The server and its card are read every second, and these passes last less than a second.
    let traces = traces(&summary, 20, 4);
    assert!(traces.all().all(|trace| trace.seconds() < 1.0));
    let timeline = chart(&summary, &traces, "timeline");
    let titles: Vec<&str> = timeline.panels.iter().map(|panel| panel.y.title.as_str()).collect();
    assert_eq!(titles, ["Requests", "Throughput", "Single requests"]);
    assert!(!timeline.series().any(|series| series.name.ends_with("(server)")));
    assert!(!timeline.notes.concat().contains("Server values"), "{:?}", timeline.notes);
}
