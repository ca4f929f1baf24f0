//! The charts of a plan with several servers: the effect of each argument on throughput and latency, with
//! a panel per cell.

use inferometer_analysis::effect::{Effect, FIGURES};
use inferometer_model::CellPlan;

use super::positions::{FigureLine, OverPositions, Point, name_columns};
use crate::chart::{Axis, Chart, Legend};
use crate::comparison::{Comparison, arguments};
use crate::label;

/// The figures that have a chart: the end of the chart's id, the index in [`FIGURES`], the quantity, the
/// unit and the definition.
const DRAWN: [(&str, usize, &str, &str, &str); 2] = [
    (
        "requests",
        0,
        "Throughput",
        "requests/s",
        "Completed requests per second under load, mean over the runs with each value. Higher is \
         better.",
    ),
    (
        "latency",
        3,
        "Latency per output token",
        "ms",
        "Latency divided by output tokens, mean over the runs with each value. Lower is better.",
    ),
];

/// Two charts for each argument.
pub(super) fn charts(comparison: &Comparison) -> Vec<Chart> {
    let arguments = arguments(&comparison.effects);
    let of = |argument| {
        DRAWN.map(|(name, figure, quantity, unit, definition)| {
            let effects: Vec<&Effect> = comparison
                .effects
                .iter()
                .filter(|effect| effect.argument == argument)
                .filter(|effect| effect.figure == FIGURES[figure].name)
                .collect();
            let id = format!("effect-{}-{name}", file_name(argument));
            let mut chart = chart(id, argument, &effects, Axis::new(quantity, unit));
            chart.notes.insert(0, definition.to_owned());
            let first = comparison.runs.first();
            chart.subject = first.map_or(String::new(), |run| run.target.model.clone());
            chart.notice = first.and_then(label::notice);
            chart.origin = format!("inferometer · group {}", comparison.group);
            chart
        })
    };
    arguments.into_iter().flat_map(of).collect()
}

fn chart(id: String, argument: &str, effects: &[&Effect], y: Axis) -> Chart {
    let numbers: Option<Vec<f64>> = effects
        .iter()
        .map(|effect| effect.value.parse().ok().filter(|&x: &f64| x > 0.0 && x.is_finite()))
        .collect();
    let are_numbers = numbers.is_some();
    let place = |effect: &Effect| CellPlan {
        input_length: effect.input_length,
        output_length: effect.output_length,
    };
    let mut cells: Vec<CellPlan> = effects.iter().map(|effect| place(effect)).collect();
    cells.dedup();
    let panel = |cell: &CellPlan| {
        let own = effects.iter().filter(|effect| place(effect) == *cell);
        let lines = match are_numbers {
            true => {
                let value = |effect: &&&Effect| effect.value.parse().unwrap_or(1.0);
                let mut points: Vec<Point> =
                    own.map(|effect| point(effect, value(&effect))).collect();
                points.sort_by(|a, b| a.x.total_cmp(&b.x));
                vec![FigureLine { name: argument.to_owned(), points }]
            }
            // Values that are not numbers have no order, and a log axis cannot show zero and negative
            // numbers. So each value gets its own column.
            false => own
                .map(|effect| FigureLine {
                    name: effect.value.clone(),
                    points: vec![point(effect, 1.0)],
                })
                .collect(),
        };
        let unit = if *cell == CellPlan::OWN { "" } else { " tokens" };
        (format!("{cell}{unit}"), lines)
    };
    let mut panels: Vec<(String, Vec<FigureLine>)> = cells.iter().map(panel).collect();
    // The unit of an argument is unknown.
    let title = format!("Effect of {argument} on {}", y.title.to_lowercase());
    let mut chart = Chart::new(id, title, Axis::new(argument, ""));
    chart.legend = if are_numbers { Legend::Absent } else { Legend::Above };
    if let [(title, _)] = panels.as_mut_slice() {
        chart.notes.push(format!("{}.", std::mem::take(title)));
    }
    let intervals = "Whiskers: 95 % interval of the mean.";
    let chart = OverPositions { chart, y, panels, is_ordered: false, intervals };
    let mut chart = chart.into_chart();
    if !are_numbers {
        name_columns(&mut chart);
    }
    chart
}

fn point(effect: &Effect, x: f64) -> Point {
    Point {
        x,
        y: effect.over_runs.map(|over| over.mean),
        interval: effect.over_runs.and_then(|over| over.ci),
        is_partial: false,
    }
}

/// The name of an argument as a part of a file name: characters other than ASCII letters and digits
/// become `-`.
fn file_name(argument: &str) -> String {
    argument.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}
