//! The chart of a search. The horizontal axis is the load. For each cell, three panels show the share of requests that
//! meet each objective, the TTFT, and the TPOT. Other latencies have a panel if an objective limits them. Each panel
//! marks the interval of the answer, with one exception: if a cell has several tiers, each tier has its own panel of
//! the share, which marks its interval. The panels of latencies are the same for all tiers, so they are drawn once,
//! without this interval.

use inferometer_analysis::search::{LoadAnswer, load_text};
use inferometer_analysis::{Cell, PassSummary, SearchAnswer, Summary};
use inferometer_model::metrics::{registry, tpot, ttft};
use inferometer_model::{Definition, Statistic, digits::Decimals};
use inferometer_plan::search::Over;

use super::objective;
use crate::chart::{Axis, Band, Chart, Extent, Panel, Scale, Series, Shape, ends};
use crate::{Traces, count, number::with_unit, search, significant};

/// Height of a panel in pixels.
const HEIGHT: f64 = 170.0;
/// The maximum number of cells that are drawn. Tables show the others.
const MOST_CELLS: usize = 6;

/// The numbers of the colours and markers of the statistics, in the order of [`Statistic::ALL`].
const STYLES: [usize; Statistic::ALL.len()] = [2, 4, 1, 3, 5, 0, 2];
/// The statistics of a latency that are always drawn. Those with an objective are drawn as well.
const ALWAYS: [Statistic; 2] = [Statistic::P50, Statistic::P99];

/// The chart of a run with a search: at least three panels for each cell, for at most [`MOST_CELLS`] cells. Empty if no
/// answer has at least two loads, of which at least one can be drawn.
pub(super) fn charts(summary: &Summary, _: &Traces) -> Vec<Chart> {
    let is_shown =
        |answer: &&SearchAnswer| answer.loads.len() > 1 && drawn(answer).next().is_some();
    let all: Vec<&SearchAnswer> = summary.searches.iter().filter(is_shown).collect();
    let cells: Vec<&[&SearchAnswer]> = all.chunk_by(|a, b| a.cell() == b.cell()).collect();
    let shown = &cells[..cells.len().min(MOST_CELLS)];
    let Some(first) = all.first() else { return Vec::new() };
    let (title, unit) = match first.over {
        Over::Concurrency => ("Load", "requests in flight"),
        over if over.is_rate() => ("Arrival rate", over.unit()),
        over => ("Load", over.unit()),
    };
    let loads = shown.iter().flat_map(|tiers| tiers.iter().flat_map(|tier| drawn(tier)));
    let x = Axis::new(title, unit)
        .with_scale(Scale::for_values(loads.map(|load| load.load)))
        .with_extent(Extent::Close);
    let mut chart = Chart::new("search", "Search: objectives against load", x);
    for tiers in shown {
        let cell = summary.cells.iter().find(|cell| cell.plan() == tiers[0].cell());
        let answers = tiers.iter().map(|tier| format!("{}: {}.", tier.cell(), search::short(tier)));
        chart.notes.extend(answers);
        chart.notes.extend(cell.and_then(|cell| cut_off(tiers[0].over, cell)));
        chart.notes.extend(too_short(tiers[0]));
        let (panels, notes) = panels(summary, tiers, cell);
        chart.panels.extend(panels);
        for note in notes {
            if !chart.notes.contains(&note) {
                chart.notes.push(note);
            }
        }
    }
    if cells.len() > shown.len() {
        chart.notes.push(format!(
            "{} of {} cells; the tables have the others.",
            shown.len(),
            count(cells.len() as u64)
        ));
    }
    vec![chart]
}

/// Those loads of an answer that have at least one trial that was long enough. The trials at other loads show only how
/// a server fills up, so a curve through them would mislead.
fn drawn(answer: &SearchAnswer) -> impl Iterator<Item = &LoadAnswer> {
    answer.loads.iter().filter(|load| !load.is_too_short)
}

/// The note on the loads that are not drawn because their trials were too short; `None` if there are none.
fn too_short(answer: &SearchAnswer) -> Option<String> {
    let loads = answer.loads.iter().filter(|load| load.is_too_short);
    let loads: Vec<String> = loads.map(|load| load_text(load.load)).collect();
    (!loads.is_empty()).then(|| {
        format!(
            "{}: not drawn, because the trials were too short for a steady state: {}. The table of \
                loads contains them.",
            answer.cell(),
            with_unit(&loads.join(", "), answer.over.unit()),
        )
    })
}

/// The note on the trials of a cell that were cut off ([`PassSummary::is_cut_off`]): their number, their loads,
/// and the panels that leave them out. `None` if no trial was cut off.
fn cut_off(over: Over, cell: &Cell) -> Option<String> {
    let cut: Vec<&PassSummary> = cell.passes.iter().filter(|pass| pass.is_cut_off()).collect();
    let mut loads: Vec<f64> = cut.iter().filter_map(|pass| pass.load_over(over)).collect();
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

/// The panels of a cell, and notes on limits that are not drawn. `tiers` are the answers of the cell.
fn panels(
    summary: &Summary,
    tiers: &[&SearchAnswer],
    cell: Option<&Cell>,
) -> (Vec<Panel>, Vec<String>) {
    let cut_off = cell.is_some_and(|cell| cell.passes.iter().any(PassSummary::is_cut_off));
    let of_whole = if cut_off { ", complete trials" } else { "" };
    let title = match tiers.iter().any(|tier| tier.over.is_of_jobs()) {
        true => "Jobs or requests that meet the objective",
        false => "Requests that meet the objective",
    };
    let share = Axis::new(title, "%").with_extent(Extent::Fixed(0.0, 100.0));
    let mut panels = Vec::new();
    let mut texts: Vec<&str> = Vec::new();
    for tier in tiers {
        let mut panel = panel(tier, share.clone(), attainment(tier, &mut texts));
        mark_answer(&mut panel, tier);
        panel.title = tier.place();
        panels.push(panel);
    }
    let mut notes = Vec::new();
    let always = [&ttft::FROM_SENT, &tpot::DEFINITION];
    let others = registry::judged()
        .filter(|metric| !always.contains(metric) && objective::is_limited(summary, metric));
    for metric in always.into_iter().chain(others) {
        let y = Axis::new(&format!("{}{of_whole}", metric.title), &metric.unit.to_string());
        let (scale, series, words) = latencies(summary, tiers[0], cell, metric);
        let mut panel = panel(tiers[0], y.with_scale(scale).with_extent(Extent::Close), series);
        if let [answer] = tiers {
            mark_answer(&mut panel, answer);
        }
        panels.push(panel);
        notes.extend(words);
    }
    (panels, notes)
}

fn panel(answer: &SearchAnswer, y: Axis, series: Vec<Series>) -> Panel {
    Panel { title: answer.cell().to_string(), ..Panel::new(y, HEIGHT, series) }
}

/// Marks the interval of the answer: with a line at each known end, and with a band if both ends are known. Marks
/// nothing if no load meets the objectives.
fn mark_answer(panel: &mut Panel, answer: &SearchAnswer) {
    if answer.is_missed() {
        return;
    }
    let ends: Vec<f64> = [answer.low, answer.high].into_iter().flatten().collect();
    if !ends.is_empty() {
        panel.series.push(Series {
            y: vec![0.0; ends.len()],
            texts: ends.iter().map(|end| Decimals::of(&ends).text(*end)).collect(),
            x: ends,
            labelled: true,
            ..Series::new("interval of the answer", 6, Shape::Marks)
        });
    }
    if let (Some(from), Some(to)) = (answer.low, answer.high) {
        panel.bands.push(Band { from, to, name: String::new(), is_result: true });
    }
}

/// For each objective that requires a share of requests: the measured shares, and a line at the required
/// share. `texts` contains the objectives of earlier panels, and new objectives are added to it. The position of an
/// objective in `texts` selects its colour, so that different objectives have different colours.
fn attainment<'a>(answer: &'a SearchAnswer, texts: &mut Vec<&'a str>) -> Vec<Series> {
    let mut all = Vec::new();
    let [first, last] = ends(drawn(answer).map(|load| load.load));
    for (index, objective) in answer.objectives.iter().enumerate() {
        let Some(needed) = objective.share else { continue };
        let style_index = texts.iter().position(|text| *text == objective.text);
        let style_index = style_index.unwrap_or_else(|| {
            texts.push(&objective.text);
            texts.len() - 1
        });
        let mut line = Series::new(&objective.text, style_index, Shape::Marked);
        for load in drawn(answer) {
            let measured = load.objectives.get(index).filter(|it| it.counted > 0);
            let Some(measured) = measured else { continue };
            let interval = measured.interval.map(|ends| ends.map(|end| end * 100.0));
            line.push(load.load, Some(measured.value * 100.0), interval);
        }
        all.push(line);
        let name = format!("needed: {} %", significant(needed * 100.0));
        all.push(objective::level(name, [first, last], needed * 100.0));
    }
    all
}

/// The curves of a latency over the load. Returns the scale of the vertical axis, the series, and notes. The series are
/// p50, p99, each other statistic with an objective, and the limits of the objectives. The notes name limits that are
/// not drawn.
fn latencies(
    summary: &Summary,
    answer: &SearchAnswer,
    cell: Option<&Cell>,
    metric: &Definition,
) -> (Scale, Vec<Series>, Vec<String>) {
    let mut all = Vec::new();
    let statistics = objective::statistics(summary, metric, &ALWAYS);
    for &statistic in &statistics {
        let at = Statistic::ALL.iter().position(|one| *one == statistic).unwrap_or_default();
        let mut line = Series::new(statistic.name(), STYLES[at], Shape::Marked);
        for load in drawn(answer).map(|load| load.load) {
            let pass = cell.and_then(|cell| longest(answer.over, cell, load));
            let Some(values) = pass.and_then(|pass| pass.latency(metric)) else { continue };
            line.push(load, statistic.of(values), statistic.interval(values));
        }
        all.push(line);
    }
    let scale = Scale::for_values(all.iter().flat_map(|line| &line.y).copied());
    let positions = ends(drawn(answer).map(|load| load.load));
    let (mut limits, mut notes) = (Vec::new(), Vec::new());
    for (statistic, line) in statistics.into_iter().zip(&all) {
        let values = ends(line.y.iter().copied());
        let (own, words) = objective::along(summary, (metric, statistic), positions, values, scale);
        limits.extend(own);
        notes.extend(words);
    }
    all.extend(limits);
    (scale, all, notes)
}

/// The trial with the most requests among the trials at a load. Trials that were cut off are ignored: they
/// have only the latencies of the few requests that completed early, and these latencies do not represent the
/// load.
fn longest(over: Over, cell: &Cell, load: f64) -> Option<&PassSummary> {
    let is_of = |pass: &&PassSummary| pass.load_over(over) == Some(load);
    let whole = cell.passes.iter().filter(|pass| !pass.is_cut_off());
    whole.filter(is_of).max_by_key(|pass| pass.planned)
}
