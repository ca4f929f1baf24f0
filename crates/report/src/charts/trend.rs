//! The charts of a trend: the values of a figure over the runs, its levels, and its changes.

use inferometer_analysis::compare::{FigureTrend, Trend};

use crate::chart::{Axis, Chart, Extent, Legend, Panel, Series, Shape};

/// Height of a panel in pixels.
const HEIGHT: f64 = 180.0;
/// The maximum number of figures that are drawn. The table has all.
const MOST_FIGURES: usize = 16;

/// One chart for each figure: those that changed last come first.
pub(super) fn charts(trend: &Trend) -> Vec<Chart> {
    let mut figures: Vec<&FigureTrend> = trend.figures.iter().collect();
    figures
        .sort_by_key(|figure| std::cmp::Reverse(figure.changes.last().map(|change| change.since)));
    figures
        .iter()
        .take(MOST_FIGURES)
        .enumerate()
        .map(|(at, figure)| chart(trend, at, figure))
        .collect()
}

fn chart(trend: &Trend, at: usize, figure: &FigureTrend) -> Chart {
    let x = Axis::new("Run", "").with_extent(Extent::Close);
    let title = format!("{}, {}", figure.figure, figure.place());
    let mut chart = Chart::new(format!("trend-{}", at + 1), title, x);
    let number = |run: usize| (run + 1) as f64;
    let mut values = Series::new("runs", 0, Shape::Dots);
    for &(run, value) in &figure.values {
        values.push(number(run), Some(value), None);
        values.texts.push(trend.runs[run].label.clone());
    }
    let mut levels = Series::new("level", 1, Shape::Step);
    let before = figure.changes.first().map_or(figure.level, |change| change.before);
    let ends = figure.values.first().zip(figure.values.last());
    if let Some((first, last)) = ends {
        levels.push(number(first.0), Some(before), None);
        for change in &figure.changes {
            levels.push(number(change.since), Some(change.after), None);
        }
        levels.push(number(last.0), Some(figure.level), None);
    }
    let mut changes = Series::new("changes", 2, Shape::Marks);
    for change in &figure.changes {
        changes.push(number(change.since), Some(0.0), None);
        changes.texts.push(trend.runs[change.since].label.clone());
    }
    changes.labelled = true;
    chart.legend = Legend::Absent;
    let y = Axis::new(&figure.figure, "").with_extent(Extent::Close);
    chart.panels = vec![Panel::new(y, HEIGHT, vec![values, levels, changes])];
    chart
}
