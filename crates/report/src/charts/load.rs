//! How throughput and latency change with the load, for runs with several loads of one kind.

use std::collections::BTreeSet;

use inferometer_analysis::{Cell, PassSummary, Summary, search::load_text};
use inferometer_model::{Definition, PassKind, Statistic, metrics::registry};

use super::objective;
use crate::Traces;
use crate::chart::{Axis, Chart, Extent, Panel, Scale, Series, Shape, ends};

/// The planned load of a pass.
type Load = fn(&PassSummary) -> Option<f64>;
/// A figure and its interval.
type Figure = (Option<f64>, Option<[f64; 2]>);
/// The latencies that are drawn over the load. Each of them has one value per request.
fn latencies() -> impl Iterator<Item = &'static Definition> {
    registry::drawn().filter(|metric| metric.of_classes)
}

/// The charts of closed-loop passes (the load is the concurrency) and of open-loop passes (the load is the
/// arrival rate). Each kind has two charts: throughput and latency over the load, and latency over
/// throughput. A cell is drawn only if [`passes`] returns at least two of its passes.
pub(super) fn charts(summary: &Summary, _: &Traces) -> Vec<Chart> {
    let closed: Load = |pass| pass.concurrency.map(f64::from);
    let open: Load = |pass| pass.rate;
    let mut charts = Vec::new();
    for (kind, id, title, unit, load) in [
        (PassKind::Closed, "closed", "Load", "requests in flight", closed),
        (PassKind::Open, "open", "Arrival rate", "requests/s", open),
    ] {
        let cells: Vec<(String, Vec<(f64, &PassSummary)>)> = summary
            .cells
            .iter()
            .map(|cell| (cell.plan().to_string(), passes(cell, kind, load)))
            .filter(|(_, passes)| passes.len() > 1)
            .collect();
        if cells.is_empty() {
            continue;
        }
        charts.push(over_load(id, Axis::new(title, unit), &cells, summary));
        charts.push(over_throughput(id, unit, &cells, summary));
    }
    charts
}

/// The passes of a kind with their loads, in ascending order of load. Later repeats are left out, and so are
/// passes whose load is not a single number above zero.
fn passes(cell: &Cell, kind: PassKind, load: Load) -> Vec<(f64, &PassSummary)> {
    let own = cell.passes.iter().filter(|pass| pass.kind == kind && pass.repeat <= 1);
    let mut passes: Vec<(f64, &PassSummary)> = own
        .filter_map(|pass| Some((load(pass).filter(|x| *x > 0.0 && x.is_finite())?, pass)))
        .collect();
    passes.sort_by(|a, b| a.0.total_cmp(&b.0));
    passes
}

fn over_load(
    id: &str,
    axis: Axis,
    cells: &[(String, Vec<(f64, &PassSummary)>)],
    summary: &Summary,
) -> Chart {
    let of = |value: &dyn Fn(&PassSummary) -> Figure| {
        let series = cells.iter().enumerate().map(|(style_index, (name, passes))| {
            let points = passes.iter().map(|(load, pass)| (*load, value(pass)));
            marked(name.clone(), style_index, points)
        });
        series.collect::<Vec<Series>>()
    };
    let tokens = of(&|pass| (pass.output_tokens_per_s, None));
    let mut panels = vec![super::panel("Throughput", "output tokens/s", 150.0, tokens)];
    let note = "One line for each pair of lengths. Whiskers: 95 % intervals of the quantile. With \
        repeats, the first one is drawn.";
    let mut notes = vec![note.to_owned()];
    for metric in latencies() {
        for statistic in objective::statistics(summary, metric, metric.in_tables) {
            let series = of(&|pass| {
                pass.latency(metric).map_or((None, None), |values| {
                    (statistic.of(values), statistic.interval(values))
                })
            });
            panels.push(latency_panel(summary, (metric, statistic), 90.0, series, &mut notes));
        }
    }
    let loads: BTreeSet<u64> =
        cells.iter().flat_map(|(_, passes)| passes).map(|(load, _)| load.to_bits()).collect();
    let x = axis.with_scale(Scale::Log).with_ticks(loads.into_iter().map(f64::from_bits));
    let mut chart = Chart::new(format!("load-{id}"), "Throughput and latency against load", x);
    chart.notes = notes;
    chart.panels = panels;
    chart
}

/// The panel of a statistic of a latency, with the limits of its objectives. The scale is logarithmic if the largest
/// value is more than 20 times the smallest, as at loads beyond saturation.
fn latency_panel(
    summary: &Summary,
    (metric, statistic): (&Definition, Statistic),
    height: f64,
    mut series: Vec<Series>,
    notes: &mut Vec<String>,
) -> Panel {
    let positions = ends(series.iter().flat_map(|of| &of.x).copied());
    let values = ends(series.iter().flat_map(|of| &of.y).copied());
    let scale = Scale::for_values(series.iter().flat_map(|of| &of.y).copied());
    let of = (metric, statistic);
    let (limits, words) = objective::along(summary, of, positions, values, scale);
    series.extend(limits);
    notes.extend(words);
    let title = format!("{} {}", metric.title, statistic.name());
    Panel::new(Axis::new(&title, "ms").with_scale(scale), height, series)
}

fn over_throughput(
    id: &str,
    unit: &str,
    cells: &[(String, Vec<(f64, &PassSummary)>)],
    summary: &Summary,
) -> Chart {
    let mut notes = vec![format!(
        "Each point is a load, with its label where there is space ({unit}). Further right and lower is better. \
            Whiskers: 95 % intervals of the median."
    )];
    let mut panels = Vec::new();
    for metric in latencies() {
        let series = cells.iter().enumerate().map(|(style_index, (cell, passes))| {
            // The points stay in the order of their loads: above saturation, throughput can decrease. The
            // line then turns back.
            let points: Vec<(f64, (f64, &PassSummary))> = passes
                .iter()
                .filter_map(|(load, pass)| Some((pass.output_tokens_per_s?, (*load, *pass))))
                .collect();
            let mut series = marked(
                cell.clone(),
                style_index,
                points.iter().map(|(x, (_, pass))| {
                    let values = pass.latency(metric);
                    (*x, (values.map(|v| v.p50), values.and_then(|v| v.p50_ci)))
                }),
            );
            series.texts = points.iter().map(|(_, (load, _))| load_text(*load)).collect();
            series.labelled = true;
            series
        });
        let of = (metric, Statistic::P50);
        panels.push(latency_panel(summary, of, 150.0, series.collect(), &mut notes));
    }
    let throughputs = panels.iter().flat_map(|panel| &panel.series).flat_map(|series| &series.x);
    let x = Axis::new("Throughput", "output tokens/s")
        .with_scale(Scale::for_values(throughputs.copied()))
        .with_extent(Extent::Close);
    let mut chart = Chart::new(format!("load-{id}-latency"), "Latency over throughput", x);
    (chart.notes, chart.panels) = (notes, panels);
    chart
}

fn marked(name: String, style_index: usize, points: impl Iterator<Item = (f64, Figure)>) -> Series {
    let mut series = Series::new(name, style_index, Shape::Marked);
    for (x, (y, interval)) in points {
        series.push(x, y, interval);
    }
    series
}
