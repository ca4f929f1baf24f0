//! What charts show, as text: the data of each chart of a run, of several runs and of comparisons, and a coarse picture of
//! two charts. The words beside the data are not compared here.

use std::fmt::Write;

use inferometer_model::digits::significant;
use inferometer_report::chart::{Chart, Series, Shape, Tint};
use inferometer_report::charts;
use inferometer_report::plot::{self, Theme};
use inferometer_report::trace::Traces;
use resvg::tiny_skia::Pixmap;

use crate::charts::loads;
use crate::published::of_blocks;
use crate::search_charts::{answer, sweep_answer};
use crate::support::records::traces;
use crate::support::{CHATGLM3, MISTRAL, empty, published};
use crate::{ab_charts, comparison};

/// Numbers with four significant digits.
fn numbers(values: &[f64]) -> String {
    let text =
        |value: &f64| if value.is_finite() { significant(*value, 4) } else { "-".to_owned() };
    values.iter().map(text).collect::<Vec<_>>().join(" ")
}

fn series(out: &mut String, series: &Series) {
    let _ = writeln!(out, "  {:?} {}", series.shape, series.name);
    if series.shape == Shape::Tiles {
        let Tint::Ramp(shade) = series.tint else { panic!("{:?}", series.tint) };
        let place = numbers(&[series.x[0], series.y[0], shade]);
        let _ = writeln!(out, "    x, y, shade {place}: {}", series.texts.join("; "));
        return;
    }
    let all = [
        ("x", &series.x),
        ("y", &series.y),
        ("low", &series.low),
        ("high", &series.high),
        ("left", &series.left),
        ("right", &series.right),
        ("middle", &series.middle),
    ];
    for (name, values) in all {
        if values.iter().any(|value| value.is_finite()) {
            let _ = writeln!(out, "    {name} {}", numbers(values));
        }
    }
    if series.shape == Shape::Marks {
        let _ = writeln!(out, "    texts {}", series.texts.join("; "));
    }
    if series.failed.contains(&true) || series.hidden {
        let failed = series.failed.iter().filter(|failed| **failed).count();
        let _ = writeln!(out, "    failed {failed}, hidden {}", series.hidden);
    }
}

/// The data of charts.
fn data(charts: &[Chart]) -> String {
    let mut out = String::new();
    for chart in charts {
        let _ = writeln!(out, "{} by {} ({:?})", chart.id, chart.x.unit, chart.x.scale);
        for panel in &chart.panels {
            let _ = writeln!(out, " in {} ({:?})", panel.y.unit, panel.y.scale);
            for band in &panel.bands {
                let _ = writeln!(out, "  band {} {}", band.name, numbers(&[band.from, band.to]));
            }
            panel.series.iter().for_each(|one| series(&mut out, one));
        }
    }
    out
}

#[test]
fn the_data_of_each_chart_matches_its_snapshot() {
    let loads = loads();
    let mut answered = empty("m", "c", "e", "1");
    answered.searches = vec![answer(32)];
    answered.sweeps = vec![sweep_answer()];
    // Metrics of the server and of cards are drawn for passes that last longer than a second.
    let mut long = loads.clone();
    long.cells[0].passes.truncate(1);
    let mut timeline = charts::of_run(&long, &traces(&long, 4, 100));
    timeline.retain(|chart| chart.id == "timeline");
    let none = Traces::default();
    let all = [
        charts::of_run(&published(CHATGLM3)[0], &none),
        charts::of_run(&loads, &traces(&loads, 8, 3)),
        timeline,
        charts::of_run(&answered, &none),
        charts::of_run(&of_blocks(), &none),
        charts::of_several(&published(MISTRAL)),
        charts::of_ab(&ab_charts::compared()),
        charts::of_comparison(&comparison::compared()),
    ];
    insta::assert_snapshot!(data(&all.concat()));
}

/// A coarse picture of a chart: 64 x 24 cells, darker the more of a cell is drawn.
fn picture(chart: &Chart) -> String {
    const CELLS: [usize; 2] = [64, 24];
    /// The shares of darkness, in percent, from which on a cell gets the next sign.
    const STEPS: [(f64, char); 5] = [(0.2, '.'), (2.0, ':'), (5.0, '+'), (10.0, '*'), (25.0, '#')];
    let png = plot::png(&plot::file(chart, Theme::Light), 1.0).expect("pixels");
    let image = Pixmap::decode_png(&png).expect("an image");
    let (width, height) = (image.width() as usize, image.height() as usize);
    let darkness = |x: usize, y: usize| {
        let pixel = image.pixels()[y * width + x];
        let light = [pixel.red(), pixel.green(), pixel.blue()].map(f64::from).iter().sum::<f64>();
        1.0 - light / 765.0
    };
    let sign = |column: usize, row: usize| {
        let [xs, ys] = [(column, width, CELLS[0]), (row, height, CELLS[1])]
            .map(|(at, size, cells)| at * size / cells..(at + 1) * size / cells);
        let pixels = (xs.len() * ys.len()) as f64;
        let sum: f64 =
            ys.flat_map(|y| xs.clone().map(move |x| (x, y))).map(|(x, y)| darkness(x, y)).sum();
        let step = STEPS.iter().rev().find(|(least, _)| 100.0 * sum / pixels >= *least);
        step.map_or(' ', |(_, sign)| *sign)
    };
    let row = |row: usize| (0..CELLS[0]).map(|column| sign(column, row)).collect::<String>();
    let rows: Vec<String> = (0..CELLS[1]).map(|at| row(at).trim_end().to_owned()).collect();
    format!("{} {width} x {height}\n{}\n", chart.id, rows.join("\n"))
}

#[test]
fn the_pixels_of_two_charts_match_their_snapshot() {
    let loads = loads();
    let grid = charts::of_run(&published(CHATGLM3)[0], &Traces::default()).remove(0);
    let of_loads = charts::of_run(&loads, &traces(&loads, 40, 4));
    let latency = of_loads.iter().find(|chart| chart.id == "cdf-ttft").expect("a chart");
    insta::assert_snapshot!([picture(&grid), picture(latency)].concat());
}
