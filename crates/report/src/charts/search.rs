//! The chart of a search. The horizontal axis is the load. Three panels show the share of requests that meet
//! each objective, the TTFT, and the TPOT. Other latencies have a panel if an objective limits them. Each panel
//! marks the interval of the answer.

use inferometer_analysis::cell::Cell;
use inferometer_analysis::pass::PassSummary;
use inferometer_analysis::search::{SearchAnswer, load_text};
use inferometer_analysis::summary::Summary;
use inferometer_metrics::{Definition, Statistic, registry, tpot, ttft};
use inferometer_model::digits::Decimals;
use inferometer_plan::search::Over;

use super::{SEARCH, objective};
use crate::chart::{Axis, Band, Chart, Extent, Panel, Scale, Series, Shape, Tint};
use crate::number::{count, significant, with_unit};
use crate::search;
use crate::trace::Traces;

/// Height of a panel in pixels.
const HEIGHT: f64 = 170.0;
/// The maximum number of cells that are drawn. Tables show the others.
const MOST_CELLS: usize = 6;

/// The numbers of the colours and markers of the statistics, in the order of [`Statistic::ALL`].
const STYLES: [usize; Statistic::ALL.len()] = [2, 4, 1, 3, 5, 0, 2];
/// The statistics of a latency that are always drawn. Those with an objective are drawn as well.
const ALWAYS: [Statistic; 2] = [Statistic::P50, Statistic::P99];

/// The chart of a run with a search: at least three panels for each cell. Empty if no answer has at least two loads.
pub(super) fn charts(summary: &Summary, _: &Traces) -> Vec<Chart> {
    let all = summary.searches.iter().filter(|answer| answer.loads.len() > 1);
    let all: Vec<&SearchAnswer> = all.collect();
    let shown = &all[..all.len().min(MOST_CELLS)];
    let Some(first) = shown.first() else { return Vec::new() };
    let (title, unit) = match first.over {
        Over::Rate => ("Arrival rate", "requests/s"),
        Over::Concurrency => ("Load", "requests in flight"),
    };
    let loads = shown.iter().flat_map(|answer| &answer.loads).map(|load| load.load);
    let x = Axis::new(title, unit).with_scale(Scale::for_values(loads)).with_extent(Extent::Close);
    let mut chart = Chart::new(SEARCH, "Search: objectives against load", x);
    for answer in shown {
        let cell = summary.cells.iter().find(|cell| cell.plan() == answer.cell());
        chart.notes.push(format!("{}: {}.", answer.cell(), search::short(answer)));
        chart.notes.extend(cell.and_then(|cell| cut_off(answer.over, cell)));
        let (panels, notes) = panels(summary, answer, cell);
        chart.panels.extend(panels);
        chart.notes.extend(notes);
    }
    if all.len() > shown.len() {
        chart.notes.push(format!(
            "{} of {} cells; the tables have the others.",
            shown.len(),
            count(all.len() as u64)
        ));
    }
    vec![chart]
}

/// The note on the trials of a cell that were cut off: their number, their loads, and the panels that leave
/// them out. `None` if no trial was cut off.
fn cut_off(over: Over, cell: &Cell) -> Option<String> {
    let cut: Vec<&PassSummary> = cell.passes.iter().filter(|pass| pass.is_cut_off()).collect();
    let mut loads: Vec<f64> = cut.iter().filter_map(|pass| load_of(over, pass)).collect();
    loads.sort_by(f64::total_cmp);
    let mut loads: Vec<String> = loads.into_iter().map(load_text).collect();
    loads.dedup();
    (!cut.is_empty()).then(|| {
        let (was, them) = if cut.len() == 1 { ("was", "it") } else { ("were", "them") };
        format!(
            "{}: {} of {} trials {was} cut off (at {}). The panels of latencies do not \
                contain {them}. The panel of the share of requests does not contain loads without \
                a counted request.",
            cell.plan(),
            count(cut.len() as u64),
            count(cell.passes.len() as u64),
            with_unit(&loads.join(", "), over.unit()),
        )
    })
}

/// The load of a trial.
fn load_of(over: Over, pass: &PassSummary) -> Option<f64> {
    match over {
        Over::Rate => pass.rate,
        Over::Concurrency => pass.concurrency.map(f64::from),
    }
}

/// The panels of a cell, and notes on limits that are not drawn.
fn panels(
    summary: &Summary,
    answer: &SearchAnswer,
    cell: Option<&Cell>,
) -> (Vec<Panel>, Vec<String>) {
    let cut_off = cell.is_some_and(|cell| cell.passes.iter().any(PassSummary::is_cut_off));
    let of_whole = if cut_off { ", complete trials" } else { "" };
    let share =
        Axis::new("Requests that meet the objective", "%").with_extent(Extent::Fixed(0.0, 100.0));
    let mut panels = vec![panel(answer, share, attainment(answer))];
    let mut notes = Vec::new();
    let always = [&ttft::FROM_SENT, &tpot::DEFINITION];
    let others = registry::judged()
        .filter(|metric| !always.contains(metric) && objective::is_limited(summary, metric));
    for metric in always.into_iter().chain(others) {
        let y = Axis::new(&format!("{}{of_whole}", metric.title), &metric.unit.to_string());
        let (series, words) = latencies(summary, answer, cell, metric);
        let values = series.iter().flat_map(|series| &series.y).copied();
        let y = y.with_scale(Scale::for_values(values)).with_extent(Extent::Close);
        panels.push(panel(answer, y, series));
        notes.extend(words);
    }
    (panels, notes)
}

/// A panel that marks the interval of the answer: with a line at each known end, and with a band if both ends
/// are known.
fn panel(answer: &SearchAnswer, y: Axis, mut series: Vec<Series>) -> Panel {
    let ends: Vec<f64> = [answer.low, answer.high].into_iter().flatten().collect();
    if !ends.is_empty() {
        series.push(Series {
            name: "interval of the answer".to_owned(),
            style_index: 6,
            shape: Shape::Marks,
            y: vec![0.0; ends.len()],
            texts: ends.iter().map(|end| Decimals::of(&ends).text(*end)).collect(),
            x: ends,
            labelled: true,
            ..Series::default()
        });
    }
    let mut panel = Panel::new(y, HEIGHT, series);
    panel.title = answer.cell().to_string();
    if let (Some(from), Some(to)) = (answer.low, answer.high) {
        panel.bands.push(Band { from, to, name: String::new(), is_result: true });
    }
    panel
}

/// For each objective that requires a share of requests: the measured shares, and a line at the required
/// share.
fn attainment(answer: &SearchAnswer) -> Vec<Series> {
    let mut all = Vec::new();
    for (index, objective) in answer.objectives.iter().enumerate() {
        let Some(needed) = objective.share else { continue };
        let mut line = marked(&objective.text, index);
        for load in &answer.loads {
            let measured = load.objectives.get(index).filter(|it| it.counted > 0);
            let Some(measured) = measured else { continue };
            let interval = measured.interval.map(|ends| ends.map(|end| end * 100.0));
            line.push(load.load, Some(measured.value * 100.0), interval);
        }
        let (first, last) =
            answer.loads.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), it| {
                (low.min(it.load), high.max(it.load))
            });
        all.push(line);
        all.push(Series {
            name: format!("needed: {} %", significant(needed * 100.0)),
            style_index: index,
            tint: Tint::Alert,
            x: vec![first, last],
            y: vec![needed * 100.0; 2],
            ..Series::default()
        });
    }
    all
}

/// The median and the 99th percentile of a latency at each load, the statistics that objectives limit, and their
/// limits; and notes on limits that are not drawn.
fn latencies(
    summary: &Summary,
    answer: &SearchAnswer,
    cell: Option<&Cell>,
    metric: &Definition,
) -> (Vec<Series>, Vec<String>) {
    let (mut all, mut limits, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    let positions = objective::ends(answer.loads.iter().map(|load| &load.load));
    for statistic in objective::statistics(summary, metric, &ALWAYS) {
        let at = Statistic::ALL.iter().position(|one| *one == statistic).unwrap_or_default();
        let mut line = marked(statistic.name(), STYLES[at]);
        for load in answer.loads.iter().map(|load| load.load) {
            let pass = cell.and_then(|cell| longest(answer.over, cell, load));
            let Some(values) = pass.and_then(|pass| pass.latency(metric)) else { continue };
            line.push(load, statistic.of(values), statistic.interval(values));
        }
        let values = objective::ends(line.y.iter());
        all.push(line);
        let (own, words) = objective::along(summary, (metric, statistic), positions, values);
        limits.extend(own);
        notes.extend(words);
    }
    all.extend(limits);
    (all, notes)
}

fn marked(name: &str, style_index: usize) -> Series {
    Series { name: name.to_owned(), style_index, shape: Shape::Marked, ..Series::default() }
}

/// The trial with the most requests among the trials at a load. Trials that were cut off are ignored: they
/// have only the latencies of the few requests that completed early, and these latencies do not represent the
/// load.
fn longest(over: Over, cell: &Cell, load: f64) -> Option<&PassSummary> {
    let is_of = |pass: &&PassSummary| load_of(over, pass) == Some(load);
    let whole = cell.passes.iter().filter(|pass| !pass.is_cut_off());
    whole.filter(is_of).max_by_key(|pass| pass.planned)
}
