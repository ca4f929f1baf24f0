//! One latency of one pass as a histogram, with the figures that tables quote.

use inferometer_analysis::pass::PassSummary;

use super::latency::{tail, tail_heading};
use crate::chart::{Axis, Chart, Extent, Scale, Series, Shape};
use crate::number::{count, significant};
use crate::trace::Latency;

/// One latency of one pass as a histogram, with the figures that tables quote.
pub(crate) fn histogram(id: &str, pass: &PassSummary, latency: &Latency, points: usize) -> Chart {
    let mut bars =
        Series { name: "share of values".to_owned(), shape: Shape::Bars, ..Series::default() };
    // In a page of many passes two columns are joined to one.
    let joined = if points < 150 { 2 } else { 1 };
    for bins in latency.curve.bins.chunks(joined) {
        let (mut from, to) = (bins[0].from, bins[bins.len() - 1].to);
        if latency.curve.growing && bars.x.is_empty() {
            // On its axis zero is infinitely far away: the first column is as wide as the next.
            let next = latency.curve.bins.get(2 * joined - 1).map_or(to, |bin| bin.to);
            from = from.max(to * to / next);
        }
        bars.x.push(f64::midpoint(from, to));
        bars.left.push(from);
        bars.right.push(to);
        bars.y.push(bins.iter().map(|bin| bin.share).sum::<f64>() * 100.0);
    }
    let mut series = vec![bars];
    if let Some(values) = pass.latency(latency.metric) {
        for (look, name, value) in [
            (1, "p50", Some(values.p50)),
            (4, "mean", Some(values.mean)),
            (5, "p99", Some(values.p99)),
        ] {
            let Some(value) = value.filter(|value| value.is_finite()) else { continue };
            series.push(Series {
                name: name.to_owned(),
                look,
                shape: Shape::Marks,
                x: vec![value],
                y: vec![0.0],
                texts: vec![format!("{} ms", significant(value))],
                ..Series::default()
            });
        }
    }
    let metric = latency.metric;
    let is_log = latency.curve.growing;
    let width = if is_log {
        "Columns widen by the same factor each; the first holds everything below its end."
    } else {
        "Columns of one width."
    };
    let mut notes = vec![format!("n = {}. {width}", count(latency.curve.n))];
    if let Some(values) = pass.latency(latency.metric) {
        let interval = |ends: Option<[f64; 2]>| {
            ends.map_or(String::new(), |ends| {
                format!(" (95 % interval {} ms)", ends.map(significant).join(" to "))
            })
        };
        notes.push(format!(
            "Mean {} ms{}; p50 {} ms{}; p99 {} ms{}.",
            significant(values.mean),
            interval(values.mean_ci),
            significant(values.p50),
            interval(values.p50_ci),
            significant(values.p99),
            interval(values.p99_ci)
        ));
    }
    notes.push(format!("{}: {}.", tail_heading(metric), tail(latency)));
    let scale = if is_log { Scale::Log } else { Scale::Linear };
    let x = Axis::new(metric.title, "ms").scaled(scale).reaching(Extent::Values);
    let title = format!("{}, distribution", metric.title);
    let mut chart = Chart::new(format!("{id}-{}-chart", metric.name), title, x);
    chart.notes = notes;
    chart.panels = vec![super::panel("Share of values", "%", 170.0, series)];
    chart
}
