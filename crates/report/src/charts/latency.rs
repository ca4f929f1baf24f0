//! Cumulative distributions of latencies, with the percentiles of the tables.

use inferometer_analysis::{PassSummary, Summary};
use inferometer_model::metrics::{Value, registry};
use inferometer_model::stats::{CurvePoint, Distribution};
use inferometer_model::{Definition, Statistic};

use super::{choice, objective};
use crate::chart::{Axis, Chart, Extent, Panel, Scale, Series, Shape};
use crate::trace::{Latency, PassTrace};
use crate::{Align, Table, Traces, count, significant};

/// The maximum number of points of a curve in the chart of several passes.
const OF_SEVERAL: usize = 40;
/// The maximum number of lines that are shown at first. A reader cannot distinguish more lines.
const MOST_PASSES: usize = 7;
/// The maximum number of lines of a chart in a page. Lines beyond [`MOST_PASSES`] are hidden until a reader
/// selects them in the legend.
const MOST_CHOICES: usize = 48;

/// The percentiles that are marked on a cumulative distribution.
const MARKED: [Statistic; 4] = [Statistic::P50, Statistic::P90, Statistic::P95, Statistic::P99];

/// About `most` points of a cumulative distribution. A quarter of them are from the largest tenth of the
/// values, because readers look at the tail. The first and the last point are always included.
fn thinned(latency: &Latency, most: usize) -> Vec<CurvePoint> {
    let points = &latency.curve.points;
    let tail = points.partition_point(|point| point.share < 0.9);
    let (body, tail) = points.split_at(tail);
    let evenly = |points: &[CurvePoint], most: usize| -> Vec<CurvePoint> {
        if points.len() <= most || most < 2 {
            return points.to_vec();
        }
        (0..most).map(|at| points[at * (points.len() - 1) / (most - 1)]).collect()
    };
    if points.len() <= most {
        return points.clone();
    }
    [evenly(body, most * 3 / 4), evenly(tail, most / 4)].concat()
}

/// The cumulative distribution as a line, from a share of 0 at the smallest value. If the line contains every value,
/// it is a step line. Otherwise straight lines join the selected points, because steps would be biased to one side.
fn line(name: String, style_index: usize, latency: &Latency, most: usize) -> Series {
    let points = thinned(latency, most);
    let shape = if points.len() as u64 == latency.curve.n { Shape::Step } else { Shape::Line };
    let mut series = Series::new(name, style_index, shape);
    if let Some(smallest) = points.first() {
        series.x.push(smallest.value);
        series.y.push(0.0);
    }
    for point in points {
        series.x.push(point.value);
        series.y.push(point.share * 100.0);
    }
    series
}

/// The note if a line shows only a selection of its values; otherwise `None`.
fn ranks_note(latencies: &[&Latency], most: usize) -> Option<String> {
    let shown = |latency: &&&Latency| thinned(latency, most).len() as u64;
    let fewer = latencies.iter().filter(|latency| shown(latency) < latency.curve.n);
    let most_values = fewer.max_by_key(|latency| latency.curve.n)?;
    Some(format!(
        "Curves of many values show a selection of them, joined by straight lines; the curve with \
            the most values shows {} of {}.",
        count(shown(&most_values)),
        count(most_values.curve.n)
    ))
}

/// The percentiles of the tables, as a series of points on the curve.
fn marks(name: &str, style_index: usize, values: &Distribution) -> Series {
    let mut series = Series::new(name, style_index, Shape::Dots);
    for statistic in MARKED {
        let value = statistic.of(values).filter(|value| value.is_finite());
        if let (Some(value), Some(share)) = (value, statistic.share()) {
            series.x.push(value);
            series.y.push(share * 100.0);
            series.texts.push(statistic.name().to_owned());
        }
    }
    series
}

fn shares(series: Vec<Series>, height: f64) -> Panel {
    let y = Axis::new("Share of values at or below", "%").with_extent(Extent::Fixed(0.0, 100.0));
    Panel::new(y, height, series)
}

/// A horizontal axis that is logarithmic if the largest value is more than 20 times the smallest 5th
/// percentile.
fn across<'a>(title: &str, latencies: impl Iterator<Item = &'a Latency>) -> Axis {
    let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
    for latency in latencies {
        let points = &latency.curve.points;
        low = low.min(fifth(latency));
        high = high.max(points.last().map_or(0.0, |point| point.value));
    }
    let is_log = low > 0.0 && high / low > 20.0;
    let scale = if is_log { Scale::Log } else { Scale::Linear };
    // With the exact ends of the values, the ends of the curves, and marks at these ends, would lie on the sides of
    // the panel.
    Axis::new(title, "ms").with_scale(scale).with_extent(Extent::Close)
}

/// The 5th percentile of a distribution; if it is zero, the smallest value above zero; zero if there is no such
/// value. Gaps between tokens of the same read are zero, and a log axis cannot show zero.
fn fifth(latency: &Latency) -> f64 {
    let points = &latency.curve.points;
    let fifth = points.iter().find(|point| point.share >= 0.05 && point.value > 0.0);
    fifth.map_or(0.0, |point| point.value)
}

/// On a log axis, removes the points below a hundredth of the smallest 5th percentile, and adds a note if any
/// point was removed.
fn on_axis(mut chart: Chart, latencies: &[&Latency]) -> Chart {
    if chart.x.scale == Scale::Linear {
        return chart;
    }
    let low = latencies.iter().map(|latency| fifth(latency)).fold(f64::INFINITY, f64::min) / 100.0;
    let mut left_out = false;
    for series in chart.panels.iter_mut().flat_map(|panel| &mut panel.series) {
        let before = series.x.len();
        series.retain(|x| x >= low);
        left_out |= series.x.len() < before;
    }
    if left_out {
        chart.notes.push(format!(
            "Values below {} ms, such as gaps between tokens of one read, are left of the axis; \
                the shares include them.",
            significant(low)
        ));
    }
    chart
}

/// The note if percentiles come from a sketch because there were too many values to store; otherwise
/// `None`.
fn exactness(latencies: &[&Latency]) -> Option<String> {
    let inexact = latencies.iter().any(|latency| !latency.curve.exact);
    inexact.then(|| "With very many values, positions are exact to 0.1 %.".to_owned())
}

/// The charts of a run: one for each latency of which a pass has several values.
pub(super) fn charts(summary: &Summary, traces: &Traces) -> Vec<Chart> {
    registry::drawn().filter_map(|metric| over_passes(summary, traces, metric)).collect()
}

/// The chart of one latency with a line for each pass, but at most [`MOST_CHOICES`] lines. Absent if no pass has
/// several values: a single value has no distribution, and tables already have the value.
fn over_passes(summary: &Summary, traces: &Traces, metric: &Definition) -> Option<Chart> {
    let all: Vec<(String, &Latency, &PassSummary)> = traces
        .beside(summary)
        .filter_map(|(cell, pass, trace)| {
            let latency = trace.latencies.iter().find(|latency| latency.metric == metric)?;
            Some((cell.place(pass), latency, pass))
        })
        .collect();
    if all.iter().all(|(_, latency, _)| latency.curve.n < 2) {
        return None;
    }
    let chosen = choice::evenly(all.len(), MOST_PASSES);
    let others = (0..all.len()).filter(|at| !chosen.contains(at));
    let others = others.take(MOST_CHOICES - chosen.len());
    let choices: Vec<&(String, &Latency, &PassSummary)> =
        chosen.iter().copied().chain(others).map(|at| &all[at]).collect();
    let mut series = Vec::new();
    for (style_index, (place, latency, pass)) in choices.iter().enumerate() {
        let hidden = style_index >= chosen.len();
        let marks = pass.latency(metric).map(|values| marks(place, style_index, values));
        let both = [line(place.clone(), style_index, latency, OF_SEVERAL)].into_iter().chain(marks);
        series.extend(both.map(|series| Series { hidden, ..series }));
    }
    let mut notes = vec![
        "For the completed requests, the share of values at or below each value. Points mark p50, \
            p90, p95 and p99."
            .to_owned(),
    ];
    let left_out = (0..all.len()).filter(|at| !chosen.contains(at)).map(|at| all[at].0.as_str());
    notes.extend(bundles_note(summary, traces, metric));
    let undrawn = all.len().saturating_sub(MOST_CHOICES);
    notes.extend(left_out_note(&left_out.collect::<Vec<_>>(), all.len(), undrawn));
    let latencies: Vec<&Latency> = choices.iter().map(|(_, latency, _)| *latency).collect();
    let values = latencies.iter().flat_map(|latency| &latency.curve.points);
    let ends = values.fold([f64::INFINITY, 0.0_f64], |[low, high], point| {
        [low.min(point.value), high.max(point.value)]
    });
    let (limits, words) = objective::across(summary, metric, ends);
    series.extend(limits);
    notes.extend(words);
    notes.extend(ranks_note(&latencies, OF_SEVERAL));
    notes.extend(exactness(&latencies));
    let title = format!("{} of each pass, cumulative", metric.title);
    let x = across(metric.title, latencies.iter().copied());
    let mut chart = Chart::new(format!("cdf-{}", metric.name), title, x);
    (chart.notes, chart.panels) = (notes, vec![shares(series, 260.0)]);
    Some(on_axis(chart, &latencies))
}

/// The note that names passes without times between tokens: their tokens arrived in bundles. `None` if there
/// is no such pass, or if the metric does not need these times.
fn bundles_note(summary: &Summary, traces: &Traces, metric: &Definition) -> Option<String> {
    let bundled = traces.beside(summary).filter(|(_, _, trace)| trace.lacks_gaps && metric.of_gaps);
    let places: Vec<String> = bundled.map(|(cell, pass, _)| cell.place(pass)).collect();
    let named = choice::named(&places.iter().map(String::as_str).collect::<Vec<_>>())?;
    Some(format!(
        "No line for passes with tokens in bundles, because the times between tokens are unknown: \
            {named}."
    ))
}

/// The note on passes whose lines are hidden or not drawn; `None` if all lines are shown.
fn left_out_note(left_out: &[&str], all: usize, undrawn: usize) -> Option<String> {
    let named = choice::named(left_out)?;
    let drawn = count((all - left_out.len()) as u64);
    let choice = match undrawn {
        0 => "Choose others in the legend of the report".to_owned(),
        _ => format!(
            "Choose {} others in the legend of the report (the tables under Every pass have the \
                percentiles of all)",
            count((left_out.len() - undrawn) as u64)
        ),
    };
    Some(format!(
        "Drawn: {drawn} of {} passes, evenly spaced, because more lines cannot be distinguished. \
            {choice}: {named}.",
        count(all as u64)
    ))
}

/// The indices of the slowest requests with their values: `12: 35.1 ms, 7: 33 ms`.
fn tail(latency: &Latency) -> String {
    let each = latency
        .tail
        .iter()
        .map(|(index, value)| format!("{}: {} ms", count(u64::from(*index)), significant(*value)));
    each.collect::<Vec<_>>().join(", ")
}

/// A table of the slowest requests for each latency, by their index in the pass.
pub(crate) fn tail_table(trace: &PassTrace) -> Table {
    let mut table = Table::new([
        ("Slowest requests", Align::Left),
        ("By index in the pass, with the value", Align::Left),
    ]);
    for latency in &trace.latencies {
        let of =
            if matches!(latency.metric.value, Value::Pooled(_)) { " (largest gap)" } else { "" };
        table.push(vec![format!("{}{of}", latency.metric.title), tail(latency)]);
    }
    table
}
