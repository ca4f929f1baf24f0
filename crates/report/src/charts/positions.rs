//! Charts of one quantity over a few positions, such as lengths: a line with a marker for each figure, or
//! columns if there is only one position. No figure is computed here.

use crate::chart::{
    Arrangement, Axis, Chart, Extent, Legend, Panel, Scale, Series, Shape, Tick, Tint,
};
use crate::significant;

/// Heights in pixels: of a single panel, and of each of several panels.
const HEIGHTS: (f64, f64) = (340.0, 250.0);
/// The points of a line are labelled with their values if the panel has no other line, and the line has at
/// most this many points.
const MOST_VALUE_LABELS: usize = 8;
/// The minimum width of a panel with columns: for a single panel, and for each of several panels. The unit is the
/// distance between the centres of two columns. If a panel has fewer columns, they are centred.
const COLUMNS: (f64, f64) = (7.0, 2.2);
/// Half the width of a column. The unit is the distance between the centres of two columns.
const HALF_COLUMN: f64 = 0.36;

/// The parts of a chart over positions.
pub(super) struct OverPositions {
    /// The chart with its texts and its horizontal axis, without panels.
    pub chart: Chart,
    /// The vertical axis.
    pub y: Axis,
    /// The title of each panel, and its lines. All panels have lines with the same names in the same
    /// order.
    pub panels: Vec<(String, Vec<FigureLine>)>,
    /// Whether the lines have an order, for example by input length. Later lines then have more contrast
    /// to the background.
    pub is_ordered: bool,
    /// A sentence on the meaning of the intervals. It is used if a point has an interval.
    pub intervals: &'static str,
}

/// A line with a name.
pub(super) struct FigureLine {
    /// The name of the line in the legend.
    pub name: String,
    /// The points, in ascending order of their positions.
    pub points: Vec<Point>,
}

/// A figure at a position.
pub(super) struct Point {
    /// The position of the figure, above zero.
    pub x: f64,
    /// The figure; absent for a gap.
    pub y: Option<f64>,
    /// The interval of the figure; absent if it is unknown.
    pub interval: Option<[f64; 2]>,
    /// Whether some of the requests of the figure failed.
    pub is_partial: bool,
}

impl OverPositions {
    /// Returns the chart with its panels. A footnote explains whiskers, hollow markers and gaps, if there are any.
    pub fn into_chart(self) -> Chart {
        let Self { mut chart, y, mut panels, is_ordered, intervals } = self;
        if panels.is_empty() {
            panels.push((String::new(), Vec::new()));
        }
        let lines = || panels.iter().flat_map(|(_, lines)| lines);
        let points = || lines().flat_map(|line| &line.points);
        let mut positions: Vec<f64> = points().map(|point| point.x).collect();
        positions.sort_by(f64::total_cmp);
        positions.dedup();
        chart.footnotes.extend(marks(points(), intervals));
        let are_columns = positions.len() == 1;
        let drawn = || points().filter(|point| point.y.is_some_and(f64::is_finite));
        let values = drawn().flat_map(|point| {
            [point.y, point.interval.map(|ends| ends[0]), point.interval.map(|ends| ends[1])]
        });
        let y = match are_columns {
            true => y,
            false => y.with_scale(Scale::for_values(values.flatten())).with_extent(Extent::Close),
        };
        let single = panels.len() == 1;
        let height = if single { HEIGHTS.0 } else { HEIGHTS.1 };
        let most = panels.iter().map(|(_, lines)| lines.len()).max().unwrap_or(0);
        chart.x = match positions.as_slice() {
            [only] => {
                let tick = Tick { at: 0.0, text: significant(*only) };
                let least = if single { COLUMNS.0 } else { COLUMNS.1 };
                let half = least.max(most as f64 + 0.4) / 2.0;
                Axis { ticks: vec![tick], ..chart.x }.with_extent(Extent::Fixed(-half, half))
            }
            _ => chart.x.with_scale(Scale::Log).with_ticks(positions),
        };
        chart.arrangement = if single { Arrangement::Stacked } else { Arrangement::Grid };
        let panels = panels.into_iter().map(|(title, lines)| {
            let count = lines.len();
            let series = lines.into_iter().enumerate().map(|(style_index, line)| {
                let shade = style_index as f64 / (count.max(2) - 1) as f64;
                let tint = if is_ordered { Tint::Ramp(shade) } else { Tint::Named };
                let labelled =
                    are_columns || (count == 1 && line.points.len() <= MOST_VALUE_LABELS);
                let mut series = series(line, style_index, tint, labelled);
                if are_columns {
                    as_column(&mut series, style_index as f64 - (count as f64 - 1.0) / 2.0);
                }
                series
            });
            Panel { title, ..Panel::new(y.clone(), height, series.collect()) }
        });
        chart.panels = panels.collect();
        chart
    }
}

/// Labels each column with its name, instead of one label for their common position.
pub(super) fn name_columns(chart: &mut Chart) {
    let Some(panel) = chart.panels.first() else { return };
    let columns = panel.series.iter().filter(|series| series.shape == Shape::Bars);
    let ticks = columns
        .filter_map(|series| Some(Tick { at: *series.x.first()?, text: series.name.clone() }));
    chart.x.ticks = ticks.collect();
    chart.legend = Legend::Above;
}

fn series(line: FigureLine, style_index: usize, tint: Tint, labelled: bool) -> Series {
    let mut series =
        Series { tint, labelled, ..Series::new(line.name, style_index, Shape::Marked) };
    for point in line.points {
        series.push(point.x, point.y.filter(|y| y.is_finite()), point.interval);
        series.failed.push(point.is_partial);
        series.texts.push(match (point.is_partial, point.y) {
            (false, _) => String::new(),
            // A labelled point has its text as its label.
            (true, Some(y)) if labelled => format!("{}, some requests failed", significant(y)),
            (true, _) => "some requests failed".to_owned(),
        });
    }
    series
}

/// Turns a series into a column at this position.
fn as_column(series: &mut Series, at: f64) {
    series.shape = Shape::Bars;
    series.x.fill(at);
    series.left = vec![at - HALF_COLUMN; series.x.len()];
    series.right = vec![at + HALF_COLUMN; series.x.len()];
}

/// A footnote on whiskers, hollow markers and gaps; `None` if there are none of them.
fn marks<'a>(points: impl Iterator<Item = &'a Point>, intervals: &str) -> Option<String> {
    let (mut whisker, mut hollow, mut gap) = (false, false, false);
    for point in points {
        let Some(_) = point.y.filter(|y| y.is_finite()) else {
            gap = true;
            continue;
        };
        whisker |= point.interval.is_some_and(|ends| ends.iter().all(|end| end.is_finite()));
        hollow |= point.is_partial;
    }
    let all = [
        (whisker, intervals),
        (hollow, "Hollow: some requests failed; the value covers those that completed."),
        (gap, "Gap: no value."),
    ];
    let words: Vec<&str> = all.iter().filter(|(is, _)| *is).map(|(_, words)| *words).collect();
    (!words.is_empty()).then(|| words.join(" "))
}
