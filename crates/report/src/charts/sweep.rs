//! The charts of sweeps: latency over throughput, throughput over load with the knee, and output tokens/s
//! per card (or of the whole server) over output tokens/s per user. Each server has its own line.

use inferometer_analysis::sweep::{FigureInterval, KneeAnswer, LevelAnswer};
use inferometer_analysis::{Summary, SweepAnswer, search::load_text};
use inferometer_model::digits::Decimals;
use inferometer_plan::search::Over;

use crate::chart::{Axis, Band, Chart, Extent, Panel, Scale, Series, Shape};
use crate::{Traces, label};

/// Height of a panel in pixels.
const HEIGHT: f64 = 260.0;
/// The maximum number of cells that are drawn. Tables show the others.
const MOST_CELLS: usize = 6;

/// A line of a chart: the name of a server, and its answer for a cell.
struct Curve<'a> {
    name: String,
    answer: &'a SweepAnswer,
}

/// The charts of a run with a sweep.
pub(super) fn charts(summary: &Summary, _: &Traces) -> Vec<Chart> {
    of_several(std::slice::from_ref(summary))
}

/// The charts of several runs together: a panel for each cell, for at most [`MOST_CELLS`] cells, and a line for each
/// server. Answers with a single load are left out.
pub(super) fn of_several(summaries: &[Summary]) -> Vec<Chart> {
    let names = label::distinct(summaries);
    let mut cells: Vec<(String, Vec<Curve<'_>>)> = Vec::new();
    for (summary, name) in summaries.iter().zip(&names) {
        for answer in summary.sweeps.iter().filter(|answer| answer.levels.len() > 1) {
            let cell = answer.cell().to_string();
            let curve = Curve { name: name.clone(), answer };
            match cells.iter_mut().find(|(known, _)| *known == cell) {
                Some((_, curves)) => curves.push(curve),
                None => cells.push((cell, vec![curve])),
            }
        }
    }
    let all = cells.len();
    cells.truncate(MOST_CELLS);
    if cells.is_empty() {
        return Vec::new();
    }
    let mut charts = vec![latency(&cells), throughput(&cells), front(&cells)];
    for chart in &mut charts {
        if all > cells.len() {
            let note = format!("{} of {all} cells; the tables have the others.", cells.len());
            chart.notes.push(note);
        }
        for (cell, curves) in &cells {
            for Curve { name, answer } in curves {
                let of = if summaries.len() > 1 { format!("{name}, ") } else { String::new() };
                chart.footnotes.push(format!("{of}{cell}: {}", answer.answer));
            }
        }
    }
    charts.retain(|chart| !chart.is_empty());
    charts
}

type Cells<'a> = [(String, Vec<Curve<'a>>)];

/// Latency over throughput: one point for each load, labelled with the load if there is space.
fn latency(cells: &Cells<'_>) -> Chart {
    let x = Axis::new("Throughput", "requests/s").with_extent(Extent::Close);
    let mut chart = Chart::new("sweep-latency", "Sweep: throughput against latency", x);
    chart.notes.push(
        "Each point is a load, with its label where there is space (requests in flight, or \
            requests/s). Throughput: completed requests per second. Latency: mean time from the \
            due time of a request to its end. Whiskers: confidence intervals. Further right and \
            lower is better."
            .to_owned(),
    );
    chart.notes.extend(knee_note(
        cells,
        "Each vertical line is the throughput at a knee",
        "Each band is the range of throughput for the interval of the knee",
    ));
    let y = |cells: &[Series]| log_axis("Latency", "ms", cells);
    chart.panels = panels(cells, y, |level| Some((level.requests_per_s?, level.latency_ms?)));
    for (panel, (_, curves)) in chart.panels.iter_mut().zip(cells) {
        mark_knees(panel, curves, throughput_at);
    }
    chart
}

/// Explains the lines at the knees with `line`, and the bands with `band`. `None` if no server has a knee.
fn knee_note(cells: &Cells<'_>, line: &str, band: &str) -> Option<String> {
    let has_knee = |curve: &Curve<'_>| curve.answer.knee.is_some();
    if !cells.iter().flat_map(|(_, curves)| curves).any(has_knee) {
        return None;
    }
    // A panel with several servers has no bands.
    let has_band = cells.iter().any(|(_, curves)| curves.len() == 1 && curves.iter().any(has_knee));
    let band = match has_band {
        true => format!(" {band}. If the interval has no lower end, the band begins at the line."),
        false => String::new(),
    };
    Some(format!(
        "{line}, the lowest load with the stated share of the saturated throughput.{band}"
    ))
}

/// The throughput at a load, interpolated linearly in the logarithm of the load, in the same way as for the knee. For a
/// load below or above all tried loads: the throughput at the nearest tried load.
fn throughput_at(answer: &SweepAnswer, load: f64) -> Option<f64> {
    let levels = answer.levels.iter().filter(|level| level.by == answer.by);
    let known = levels.filter_map(|level| Some((level.load, level.requests_per_s?.value)));
    let known: Vec<(f64, f64)> = known.collect();
    let above = known.partition_point(|(tried, _)| *tried < load);
    let (Some(below), Some(above)) = (known.get(above.saturating_sub(1)), known.get(above)) else {
        return known.last().map(|(_, throughput)| *throughput);
    };
    if below.0 == above.0 {
        return Some(above.1);
    }
    let share = (load / below.0).ln() / (above.0 / below.0).ln();
    Some(below.1 + share * (above.1 - below.1))
}

/// Marks the knee of each curve with a line and its label, and the interval of the knee with a band. `at` is the
/// horizontal position of a load.
fn mark_knees(
    panel: &mut Panel,
    curves: &[Curve<'_>],
    at: impl Fn(&SweepAnswer, f64) -> Option<f64>,
) {
    for (style_index, Curve { name, answer }) in curves.iter().enumerate() {
        let Some(knee) = &answer.knee else { continue };
        let Some(x) = at(answer, knee.load) else { continue };
        panel.series.push(Series {
            x: vec![x],
            y: vec![0.0],
            texts: vec![knee_text(knee)],
            labelled: true,
            ..Series::new(format!("knee of {name}"), style_index, Shape::Marks)
        });
        // Bands of several servers would hide each other.
        let ends = (at(answer, knee.low.unwrap_or(knee.load)), at(answer, knee.high));
        if let (1, (Some(from), Some(to))) = (curves.len(), ends) {
            panel.bands.push(Band { from, to, name: String::new(), is_result: true });
        }
    }
}

/// The knee with its interval: `knee 174 (159 to 190)`.
fn knee_text(knee: &KneeAnswer) -> String {
    let KneeAnswer { load, low, high, .. } = *knee;
    let decimals = Decimals::of(&[load, low.unwrap_or(high), high]);
    let load = decimals.text(load);
    match low {
        Some(low) => format!("knee {load} ({})", decimals.interval([low, high])),
        None => format!("knee {load} ({} or less)", decimals.text(high)),
    }
}

/// Throughput over load, with the knee.
fn throughput(cells: &Cells<'_>) -> Chart {
    let by = cells.iter().flat_map(|(_, curves)| curves).map(|curve| curve.answer.by).next();
    let by = by.unwrap_or(Over::Concurrency);
    let loads = cells.iter().flat_map(|(_, curves)| curves).flat_map(|curve| &curve.answer.levels);
    let loads = loads.filter(|level| level.by == by).map(|level| level.load);
    let title = if by == Over::Rate { "Arrival rate" } else { "Load" };
    let x =
        Axis::new(title, by.unit()).with_scale(Scale::for_values(loads)).with_extent(Extent::Close);
    let mut chart = Chart::new("sweep-throughput", "Sweep: throughput against load", x);
    chart
        .notes
        .push("Completed requests per second at each load, with confidence intervals.".to_owned());
    chart.notes.extend(knee_note(
        cells,
        "Each vertical line is a knee",
        "Each band is the interval of the knee",
    ));
    for (cell, curves) in cells {
        let mut panel = Panel::new(Axis::new("Throughput", "requests/s"), HEIGHT, Vec::new());
        panel.title.clone_from(cell);
        for (style_index, Curve { name, answer }) in curves.iter().enumerate() {
            let mut line = Series::new(name, style_index, Shape::Marked);
            for level in answer.levels.iter().filter(|level| level.by == by) {
                let ends = level.requests_per_s.map(|ends| [ends.low, ends.high]);
                line.push(level.load, level.requests_per_s.map(|ends| ends.value), ends);
            }
            panel.series.push(line);
        }
        mark_knees(&mut panel, curves, |_, load| Some(load));
        chart.panels.push(panel);
    }
    chart
}

/// Output tokens/s per card over output tokens/s per user. If the number of cards of any server is unknown, the
/// chart shows the output tokens/s of the whole server instead.
fn front(cells: &Cells<'_>) -> Chart {
    let answers = || cells.iter().flat_map(|(_, curves)| curves).map(|curve| curve.answer);
    let per_gpu = answers().all(|answer| answer.gpus.is_some());
    let x = Axis::new("Output tokens/s per user", "tokens/s").with_extent(Extent::Close);
    let what = if per_gpu { "per GPU" } else { "of the server" };
    let title = format!("Sweep: output tokens/s {what} against output tokens/s per user");
    let mut chart = Chart::new("sweep-front", title, x);
    let cards: Vec<String> =
        answers().filter_map(|answer| answer.gpus).map(|gpus| gpus.to_string()).collect();
    let cards = if per_gpu { format!(" Cards: {}.", cards.join(", ")) } else { String::new() };
    chart.notes.push(format!(
        "Per user: 1000 / mean TPOT in ms, the speed of one stream after its first token. Each \
            point is a load, with its label where there is space; loads with trials that are too \
            short are left out. The dashed line is the Pareto front of all servers: no other load \
            has both more tokens/s {what} and more per user. Higher and further right is \
            better.{cards}"
    ));
    let y = |_: &[Series]| Axis::new(&format!("Output tokens/s {what}"), "tokens/s");
    let of = move |level: &LevelAnswer| {
        let all = if per_gpu { level.tokens_per_s_per_gpu } else { level.output_tokens_per_s };
        Some((level.tokens_per_s_per_user?, all?)).filter(|_| level.is_settled)
    };
    chart.panels = panels(cells, y, of);
    for panel in &mut chart.panels {
        let points =
            panel.series.iter().flat_map(|line| line.x.iter().copied().zip(line.y.iter().copied()));
        let front = pareto(points.collect());
        let (x, y) = front.into_iter().unzip();
        panel.series.insert(
            0,
            Series { name: "Pareto front".to_owned(), style_index: 6, x, y, ..Series::default() },
        );
    }
    chart
}

/// The Pareto front, from left to right: the points for which no other point is at least as high in both
/// values.
fn pareto(mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    points.retain(|(x, y)| x.is_finite() && y.is_finite());
    points.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)));
    let mut front: Vec<(f64, f64)> = Vec::new();
    for point in points {
        if front.last().is_none_or(|last| point.1 > last.1) {
            front.push(point);
        }
    }
    front.reverse();
    front
}

/// A panel for each cell with a line for each server. `of` returns the horizontal and the vertical value of a
/// level.
fn panels(
    cells: &Cells<'_>,
    y: impl Fn(&[Series]) -> Axis,
    of: impl Fn(&LevelAnswer) -> Option<(FigureInterval, FigureInterval)>,
) -> Vec<Panel> {
    let panel = |(cell, curves): &(String, Vec<Curve<'_>>)| {
        let lines = curves.iter().enumerate().map(|(style_index, Curve { name, answer })| {
            let series = Series::new(name, style_index, Shape::Marked);
            let mut line = Series { labelled: true, ..series };
            for level in &answer.levels {
                let Some((across, up)) = of(level) else { continue };
                line.push(across.value, Some(up.value), Some([up.low, up.high]));
                line.left.push(across.low);
                line.right.push(across.high);
                let unit = if level.by == answer.by { "" } else { " in flight" };
                line.texts.push(load_text(level.load) + unit);
            }
            line
        });
        let lines: Vec<Series> = lines.collect();
        Panel { title: cell.clone(), ..Panel::new(y(&lines), HEIGHT, lines) }
    };
    cells.iter().map(panel).collect()
}

fn log_axis(name: &str, unit: &str, lines: &[Series]) -> Axis {
    let values = lines.iter().flat_map(|line| &line.y).copied();
    Axis::new(name, unit).with_scale(Scale::for_values(values)).with_extent(Extent::Close)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pareto_front_holds_the_points_that_no_other_point_dominates() {
        let points = vec![(1.0, 9.0), (2.0, 8.0), (2.0, 7.0), (1.5, 7.5), (3.0, 4.0), (2.5, 3.0)];
        assert_eq!(pareto(points), [(1.0, 9.0), (2.0, 8.0), (3.0, 4.0)]);
        assert_eq!(pareto(vec![(f64::NAN, 1.0)]), []);
    }
}
