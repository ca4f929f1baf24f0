//! The histogram of one latency of one pass, with the figures of the tables.

use inferometer_analysis::PassSummary;

use super::latency::{tail, tail_heading};
use crate::chart::{Axis, Chart, Extent, Scale, Series, Shape};
use crate::trace::Latency;
use crate::{count, significant};

/// The histogram of one latency of one pass, with the figures of the tables.
pub(crate) fn histogram(id: &str, pass: &PassSummary, latency: &Latency, points: usize) -> Chart {
    let mut bars = Series::new("share of values", 0, Shape::Bars);
    // In a page with many passes, each pair of neighbouring columns becomes one column.
    let joined = if points < 150 { 2 } else { 1 };
    let mut reaches_below = false;
    for bins in latency.curve.bins.chunks(joined) {
        let (mut from, to) = (bins[0].from, bins[bins.len() - 1].to);
        if latency.curve.growing && bars.x.is_empty() {
            // The first column contains all values up to its end. It may begin at zero, which has no position
            // on a log axis. So on the axis, the first column is drawn at most as wide as the next column.
            let next = latency.curve.bins.get(2 * joined - 1).map_or(to, |bin| bin.to);
            let drawn = from.max(to * to / next);
            reaches_below = from < drawn;
            from = drawn;
        }
        bars.x.push(f64::midpoint(from, to));
        bars.left.push(from);
        bars.right.push(to);
        bars.y.push(bins.iter().map(|bin| bin.share).sum::<f64>() * 100.0);
    }
    let mut series = vec![bars];
    if let Some(values) = pass.latency(latency.metric) {
        for (style_index, name, value) in [
            (1, "p50", Some(values.p50)),
            (4, "mean", Some(values.mean)),
            (5, "p99", Some(values.p99)),
        ] {
            let Some(value) = value.filter(|value| value.is_finite()) else { continue };
            series.push(Series {
                x: vec![value],
                y: vec![0.0],
                texts: vec![format!("{} ms", significant(value))],
                ..Series::new(name, style_index, Shape::Marks)
            });
        }
    }
    let metric = latency.metric;
    let is_log = latency.curve.growing;
    let width = match (is_log, reaches_below) {
        (true, true) => {
            "Each column is wider than the previous one by the same factor; the first contains all \
                values below its end."
        }
        (true, false) => "Each column is wider than the previous one by the same factor.",
        (false, _) => "All columns have the same width.",
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
    let x = Axis::new(metric.title, "ms").with_scale(scale).with_extent(Extent::Values);
    let title = format!("{}, distribution", metric.title);
    let mut chart = Chart::new(format!("{id}-{}-chart", metric.name), title, x);
    chart.notes = notes;
    chart.panels = vec![super::panel("Share of values", "%", 170.0, series)];
    chart
}

#[cfg(test)]
mod tests {
    use inferometer_analysis::fold::PassFold;
    use inferometer_model::load::{Bound, PassPlan};
    use inferometer_model::metrics::ttft;
    use inferometer_model::stats::{Bin, Curve};

    use super::*;

    #[test]
    fn a_histogram_notes_values_below_its_first_column_only_if_that_column_is_drawn_shortened() {
        let pass = PassFold::new(&PassPlan::one_by_one(Bound::requests(1))).finish();
        let notes = |first: f64| {
            let edges = [first, 2.0, 4.0, 8.0];
            let bin = |pair: &[f64]| Bin { from: pair[0], to: pair[1], share: 1.0 / 3.0 };
            let bins = edges.windows(2).map(bin).collect();
            let curve = Curve { n: 3, growing: true, bins, ..Curve::default() };
            let latency = Latency { metric: &ttft::FROM_SENT, curve, tail: Vec::new() };
            histogram("id", &pass, &latency, 300).notes.concat()
        };
        assert!(notes(0.0).contains("the first contains all values below its end"));
        assert!(!notes(1.5).contains("the first contains"));
    }
}
