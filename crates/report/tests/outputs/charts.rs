//! Tests of the charts of a run: the data that they show, their notes, and the size of pages.

use inferometer_analysis::summary::Summary;
use inferometer_analysis::verdict::SloResult;
use inferometer_model::load::PassKind;
use inferometer_model::metrics::registry;
use inferometer_model::time::Nanos;
use inferometer_report::chart::{Axis, Chart, Panel, Scale, Series, Shape, Tint};
use inferometer_report::plot::{self, Form, Theme};
use inferometer_report::trace::{Level, Traces};
use inferometer_report::{ReportInput, charts, html, markdown};
use resvg::usvg::roxmltree::Document;
use serde_json::Value;

use crate::support::records::{Tracing, record, traces};
use crate::support::{cell, empty, full, pass};

/// The ids of the charts of a grid, which the module `plots` tests.
const GRID: [&str; 4] = ["throughput-req", "throughput-token-out", "pertoken", "per-out-token"];

/// All charts of a run except those of the grid.
pub(crate) fn beyond_the_grid(summary: &Summary, traces: &Traces) -> Vec<Chart> {
    let mut charts = charts::of_run(summary, traces);
    charts.retain(|chart| !GRID.contains(&chart.id.as_str()));
    charts
}

pub(crate) fn page(summary: &Summary, traces: &Traces) -> String {
    html::report(&ReportInput {
        summary,
        charts: &beyond_the_grid(summary, traces),
        traces,
        plan_toml: "",
        files: &["summary.json"],
        report_command: "inferometer report RUN",
        run_command: "inferometer run plan.toml",
    })
}

/// A run with closed-loop passes of 1, 8 and 64 requests in flight.
pub(crate) fn loads() -> Summary {
    let mut summary = empty("模型 <i>", "c", "e", "1");
    let mut cell = cell(128, 32, [Some(1.0); 4]);
    for concurrency in [1, 8, 64] {
        let mut closed = pass(PassKind::Closed, 64);
        closed.concurrency = Some(concurrency);
        closed.load = format!("closed loop, {concurrency} in flight");
        cell.passes.push(closed);
    }
    summary.cells.push(cell);
    summary
}

/// The JSON data of every chart of a page.
fn data(page: &str) -> Vec<Value> {
    let parts = page.split("<script type=\"application/json\">").skip(1);
    parts
        .map(|part| serde_json::from_str(part.split("</script>").next().unwrap()).unwrap())
        .collect()
}

#[test]
fn a_run_of_several_loads_has_load_curves_latency_distributions_and_a_timeline() {
    let summary = loads();
    // These passes last more than a second, so their servers are read several times.
    let traces = traces(&summary, 200, 80);
    let charts = beyond_the_grid(&summary, &traces);
    let ids: Vec<&str> = charts.iter().map(|chart| chart.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "load-closed", "load-closed-latency", "cdf-ttft", "cdf-tpot", "cdf-itl", "cdf-e2e",
            "timeline"
        ]
    );
    let loads: Vec<f64> = charts[0].x.ticks.iter().map(|tick| tick.at).collect();
    assert_eq!(loads, [1.0, 8.0, 64.0]);
    let timeline = &charts[6];
    assert_eq!(timeline.panels[0].bands.len(), 3);
    assert_eq!(timeline.panels[0].bands[0].from, 0.0);
    let titles: Vec<&str> = timeline.panels.iter().map(|panel| panel.y.title.as_str()).collect();
    assert_eq!(
        titles,
        [
            "Requests", "Throughput", "Server's memory", "Cards at work", "Power of the cards",
            "Single requests"
        ]
    );
    assert!(timeline.notes.concat().contains("6 requests failed"), "{:?}", timeline.notes);
}

#[test]
fn latency_distributions_and_time_series_of_a_trace_agree_with_its_records() {
    let summary = loads();
    let traces = traces(&summary, 200, 8);
    let trace = traces.all().next().unwrap();
    assert_eq!((trace.failed, trace.step), (2, 1));
    for latency in &trace.latencies {
        let expected = if latency.metric.name == "itl" { 198 * 7 } else { 198 };
        assert_eq!(latency.curve.n, expected, "{:?}", latency.metric);
        assert!(latency.curve.points.windows(2).all(|pair| pair[0].value <= pair[1].value));
        let largest = latency.curve.points.last().unwrap().value;
        assert_eq!(latency.tail[0].1, largest, "{:?}", latency.metric);
    }
    // The slowest request is one of those whose first token takes eight times as long.
    let ttft = &trace.latencies[0];
    assert_eq!(ttft.tail[0].0, 7);
    let Level::Changes(in_flight) = &trace.course.in_flight else { panic!("400 changes") };
    assert_eq!(in_flight[0], (0.0, 1.0));
    assert_eq!(in_flight.last().unwrap().1, 0.0);
    let tokens: f64 = trace.course.tokens_per_s.iter().map(|(_, rate)| rate).sum();
    let counted = tokens * trace.course.part_s;
    assert!((counted - 198.0 * 8.0).abs() < 1.0, "{counted}");
}

#[test]
fn gaps_of_zero_are_left_of_a_log_axis_and_a_note_says_so() {
    let mut summary = empty("m", "c", "e", "1");
    summary.cells.push(cell(128, 32, [Some(1.0); 4]));
    summary.cells[0].passes.push(pass(PassKind::Saturated, 400));
    let mut tracer = Tracing::new(summary.cells[0].plan());
    for index in 0..400 {
        let mut record = record(index, Nanos(0), 6);
        if let Some(event) = record.events.get_mut(3) {
            // The fourth token arrived in the same read as the third.
            event.read = 2;
        }
        if let (5, Some(last)) = (index, record.reads.last_mut()) {
            last.kernel = Some(Nanos(last.user.0 + 2_000_000_000));
        }
        tracer.add(&record);
    }
    let traces = Traces(vec![tracer.finish()]);
    let charts = beyond_the_grid(&summary, &traces);
    let chart = charts.iter().find(|chart| chart.id == "cdf-itl").unwrap();
    let line = &chart.panels[0].series[0];
    assert!(line.x[0] > 0.0 && line.y[0] > 15.0, "{:?} {:?}", line.x[0], line.y[0]);
    assert!(chart.notes.concat().contains("are left of the axis"), "{:?}", chart.notes);
}

#[test]
fn the_answer_tells_one_user_and_a_load_even_if_one_request_at_a_time_is_fastest() {
    let mut summary = loads();
    for (pass, rate) in summary.cells[0].passes.iter_mut().zip([5.0, 3.0, 2.0]) {
        pass.peak_concurrency = pass.concurrency.map(u64::from);
        pass.requests_per_s = Some(rate);
    }
    let page = page(&summary, &traces(&summary, 40, 4));
    assert!(page.contains("One user: first token after"), "one user");
    assert!(page.contains("8 in flight: 3 requests/s"), "under load");
}

#[test]
fn the_embedded_chart_data_have_equal_column_lengths_and_no_unescaped_markup() {
    let summary = loads();
    let traces = traces(&summary, 40, 4);
    let page = page(&summary, &traces);
    let all = data(&page);
    // The run has three charts, and one of each metric that is drawn. Each pass has one chart over time.
    let drawn = registry::drawn().count();
    assert_eq!(all.len(), 3 + drawn + 3);
    for chart in &all {
        for panel in chart["p"].as_array().unwrap() {
            for series in panel["s"].as_array().unwrap() {
                let keys = ["x", "y", "a", "b", "f", "e", "t"];
                let columns = keys.iter().filter_map(|key| series[*key].as_array());
                let length = columns.map(Vec::len).max().unwrap();
                for key in keys {
                    let column = series[key].as_array();
                    assert!(column.is_none_or(|column| column.len() == length), "{key} {series}");
                }
            }
        }
    }
    assert!(!page.contains("<i>"));
    assert!(page.contains("模型 &lt;i&gt;"));
}

#[test]
fn every_link_of_a_page_has_a_target_and_all_element_ids_are_unique() {
    let summary = full();
    for traces in [traces(&summary, 30, 4), Traces::default()] {
        let page = page(&summary, &traces);
        let links = page.split("href=\"#").skip(1).map(|part| part.split('"').next().unwrap());
        let links: Vec<&str> = links.collect();
        assert!(links.len() > 4, "{links:?}");
        for link in links {
            assert_eq!(page.matches(&format!(" id=\"{link}\"")).count(), 1, "{link}");
        }
        let ids: Vec<&str> =
            page.split(" id=\"").skip(1).map(|part| part.split('"').next().unwrap()).collect();
        let unique: std::collections::BTreeSet<&&str> = ids.iter().collect();
        assert_eq!(unique.len(), ids.len());
    }
}

#[test]
fn a_page_of_many_requests_or_passes_stays_small_and_states_what_it_leaves_out() {
    let mut one = empty("m", "c", "e", "1");
    one.cells.push(cell(128, 32, [Some(1.0); 4]));
    one.cells[0].passes.push(pass(PassKind::Saturated, 30_000));
    let many_requests = page(&one, &traces(&one, 30_000, 4));
    assert!(many_requests.len() < 1_000_000, "{}", many_requests.len());
    assert!(many_requests.contains("evenly spaced by index"));
    assert!(many_requests.contains("pale band goes from minimum to maximum"));
    let mut many = empty("m", "c", "e", "1");
    for input in 1..=16 {
        let mut cell = cell(input, 32, [Some(1.0); 4]);
        cell.passes = vec![pass(PassKind::OneByOne, 10); 6];
        many.cells.push(cell);
    }
    let many_passes = page(&many, &traces(&many, 120, 3));
    assert!(many_passes.len() < 5_000_000, "{}", many_passes.len());
    assert!(many_passes.contains("7 of 96 passes"));
}

#[test]
fn every_chart_can_be_written_as_a_light_and_a_dark_file() {
    let summary = loads();
    let traces = traces(&summary, 100, 4);
    for chart in beyond_the_grid(&summary, &traces) {
        for (theme, paper) in [(Theme::Light, "#ffffff"), (Theme::Dark, "#0d1117")] {
            let svg = plot::file(&chart, theme);
            assert!(Document::parse(&svg).is_ok() && svg.contains(paper), "{}", chart.id);
            assert!(!svg.contains("var(--") && !svg.contains("NaN"), "{}", chart.id);
        }
    }
    let timeline: Chart = beyond_the_grid(&summary, &traces).pop().unwrap();
    let png = plot::png(&plot::file(&timeline, Theme::Dark), 0.5).unwrap();
    assert!(png.len() > 1_000);
    let rows = timeline.panels.last().unwrap();
    assert!(rows.series.iter().all(|series| series.shape == Shape::Spans));
}

#[test]
fn the_markdown_report_links_the_chart_files_and_lists_the_slowest_requests() {
    let summary = loads();
    let traces = traces(&summary, 100, 4);
    let input = ReportInput {
        summary: &summary,
        charts: &charts::of_run(&summary, &traces),
        traces: &traces,
        plan_toml: "",
        files: &["summary.json"],
        report_command: "",
        run_command: "",
    };
    let report = markdown::report(&input, Form::Png);
    assert!(report.contains("(./timeline.png)") && report.contains("(./cdf-ttft.png)"));
    assert!(markdown::report(&input, Form::Svg).contains("(./timeline.svg)"));
    assert!(report.contains("Slowest requests") && report.contains("ITL (largest gap)"));
}

#[test]
fn passes_without_a_common_clock_are_drawn_one_after_another_with_a_note() {
    let mut summary = loads();
    let at_zero = || {
        let mut all = Vec::new();
        for requests in [50, 100, 200] {
            let mut tracer = Tracing::new(summary.cells[0].plan());
            (0..requests).for_each(|index| tracer.add(&record(index, Nanos(0), 8)));
            all.push(tracer.finish());
        }
        Traces(all)
    };
    let traces = at_zero();
    for predicted in [false, true] {
        summary.predicted = predicted;
        let charts = beyond_the_grid(&summary, &traces);
        let timeline = charts.last().unwrap();
        let begins: Vec<f64> = timeline.panels[0].bands.iter().map(|band| band.from).collect();
        let ends: Vec<f64> = timeline.panels[0].bands.iter().map(|band| band.to).collect();
        assert_eq!(begins[0], 0.0, "{predicted}");
        // A small gap, so that a reader sees where a pass ends.
        let gaps: Vec<f64> =
            begins[1..].iter().zip(&ends).map(|(begin, end)| begin - end).collect();
        assert!(gaps.iter().all(|gap| *gap > 0.0 && *gap < 0.03 * ends[2]), "{gaps:?}");
        assert!(timeline.x.title.contains("one after another"), "{}", timeline.x.title);
        assert!(timeline.notes.concat().contains("no common clock"), "{:?}", timeline.notes);
        let last = timeline.panels[0].series.iter().filter(|series| series.shape != Shape::Marks);
        let last = last.flat_map(|series| &series.x).copied().fold(0.0, f64::max);
        assert!(last > begins[2], "{last}");
    }
}

#[test]
fn a_chart_names_the_passes_whose_lines_it_hides() {
    let mut summary = loads();
    let mut closed = summary.cells[0].passes[0].clone();
    for concurrency in [2, 3, 4, 5, 6] {
        closed.concurrency = Some(concurrency);
        closed.load = format!("closed loop, {concurrency} in flight");
        summary.cells[0].passes.push(closed.clone());
    }
    let charts = beyond_the_grid(&summary, &traces(&summary, 20, 4));
    let ttft = charts.iter().find(|chart| chart.id == "cdf-ttft").unwrap();
    let places = summary.cells[0].passes.iter().map(|pass| summary.cells[0].place(pass));
    let is_hidden = |place: &String| {
        let own = |series: &&Series| series.name == *place;
        ttft.panels[0].series.iter().find(own).expect("every pass has a line").hidden
    };
    let hidden: Vec<String> = places.filter(is_hidden).collect();
    assert_eq!(hidden.len(), 1);
    let notes = ttft.notes.concat();
    assert!(notes.contains("Drawn: 7 of 8 passes") && notes.contains(&hidden[0]), "{notes}");
    let figure = plot::figure(ttft);
    let (_, off) = figure.split_once("<li data-off>").expect("one is off");
    assert!(off.split_once("</li>").unwrap().0.ends_with(&format!("</svg>{}", hidden[0])));
    assert_eq!(figure.matches("<g class=\"s\" display=\"none\">").count(), 2, "line and marks");
    assert!(!plot::file(ttft, Theme::Light).contains(&format!(">{}<", hidden[0])));
}

#[test]
fn limits_of_objectives_are_drawn_in_the_charts_of_their_metric_unless_far_away() {
    let mut summary = loads();
    for objective in ["ttft_p99<30ms", "ttft_p99<30ms", "tpot_p50<100s"] {
        let result = SloResult { objective: objective.to_owned(), ..SloResult::default() };
        summary.verdict.slo.push(result);
    }
    let charts = beyond_the_grid(&summary, &traces(&summary, 200, 8));
    let of = |id: &str| charts.iter().find(|chart| chart.id == id).unwrap();
    let limits = |id: &str| {
        let marks = of(id).series().filter(|series| series.shape == Shape::Marks);
        marks.flat_map(|series| series.texts.clone()).collect::<Vec<String>>()
    };
    let drawn = limits("cdf-ttft");
    assert_eq!(drawn, ["ttft_p99<30ms"], "{:?}", of("cdf-ttft").notes);
    assert!(limits("cdf-tpot").is_empty() && limits("cdf-e2e").is_empty());
    let words = "The limit of tpot_p50<100s is too far";
    assert!(of("cdf-tpot").notes.iter().any(|note| note.starts_with(words)));
}

#[test]
fn a_3_by_3_grid_has_a_heat_map_and_a_single_cell_has_no_chart() {
    let mut summary = empty("m", "c", "e", "1");
    summary.cells.push(cell(128, 32, [Some(1.0); 4]));
    assert!(charts::of_run(&summary, &Traces::default()).is_empty());
    summary.cells.clear();
    for (at, (input, output)) in [128, 512, 2048]
        .into_iter()
        .flat_map(|input| [32, 128, 512].map(|output| (input, output)))
        .enumerate()
    {
        summary.cells.push(cell(input, output, [Some(1.0 + at as f64); 4]));
    }
    let charts = charts::of_run(&summary, &Traces::default());
    let map = charts.iter().find(|chart| chart.id == "heat-throughput-token-out").unwrap();
    assert_eq!(map.series().count(), 9);
    let [first, last] = [0, 8].map(|at| &map.panels[0].series[at]);
    assert_eq!((first.x[0], first.y[0], first.tint), (0.0, 0.0, Tint::Ramp(0.0)));
    assert_eq!((last.x[0], last.y[0], last.tint), (2.0, 2.0, Tint::Ramp(1.0)));
    for text in [plot::figure(map), plot::file(map, Theme::Light)] {
        for shown in [">2048<", ">512<", ">128<", ">32<", ">9<"] {
            assert!(text.contains(shown), "{shown}");
        }
    }
    summary.cells.retain(|cell| cell.input_length != 512);
    let fewer = charts::of_run(&summary, &Traces::default());
    assert!(!fewer.iter().any(|chart| chart.id.starts_with("heat")));
}

#[test]
fn values_that_a_log_axis_cannot_show_cause_no_inf_or_nan_in_a_drawing() {
    let shapes = [
        Shape::Line,
        Shape::Marked,
        Shape::Step,
        Shape::Dots,
        Shape::Bars,
        Shape::Marks,
        Shape::Tiles,
    ];
    let series = shapes.map(|shape| Series {
        name: "s".to_owned(),
        shape,
        x: vec![0.0, 1.0, 100.0],
        y: vec![5.0, 0.0, f64::NAN],
        low: vec![0.0, 1.0, 2.0],
        high: vec![1.0, 2.0, 3.0],
        left: vec![0.0, 0.0, 90.0],
        right: vec![1.0, 2.0, 110.0],
        texts: vec!["a".to_owned(); 3],
        labelled: true,
        ..Series::default()
    });
    let mut chart = Chart::new("c", "t", Axis::new("x", "ms").with_scale(Scale::Log));
    let y = Axis::new("y", "ms").with_scale(Scale::Log);
    chart.panels = vec![Panel::new(y, 100.0, series.to_vec())];
    for text in [plot::figure(&chart), plot::file(&chart, Theme::Dark)] {
        assert!(!text.contains("inf") && !text.contains("NaN"), "{text}");
    }
}
