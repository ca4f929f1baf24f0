//! Computes the positions of the panels of a chart, and the ranges of their axes. All lengths and positions
//! are in pixels. This module does not draw.

use super::font::{LEGEND, NOTE, TICK, VALUE};
use super::labels;
use crate::chart::{Arrangement, Chart, Legend, Panel, Range, Series, Shape, Tick};

/// The width of a chart. A chart with several panels side by side may be wider.
pub(super) const WIDTH: f64 = 900.0;
/// The space at the sides of the outermost panels, and around the texts of a file.
pub(super) const MARGIN: f64 = 24.0;
/// The space above a panel, for its title or the title of its vertical axis.
const TITLE: f64 = 29.0;
/// The space between two stacked panels, for the title of the lower panel.
const GAP: f64 = 34.0;
/// The space below the last panel, for the ticks and the title of the horizontal axis.
const BELOW: f64 = 46.0;
/// Height of the names of bands.
const NAMES: f64 = 17.0;
/// The maximum number of panels side by side, the minimum width of a panel, and the space between two panels.
const MOST_COLUMNS: usize = 4;
const LEAST_WIDTH: f64 = 250.0;
const COLUMN_GAP: f64 = 22.0;
/// The space below a row of panels, for their ticks and the titles of the next row.
const ROW_GAP: f64 = 54.0;
/// The maximum width of the names at the ends of lines.
const MOST_FOR_NAMES: f64 = 300.0;
/// The space to the left of these names, for a marker and the line to it.
const BESIDE_NAMES: f64 = 40.0;
/// In a file, the distance between two series at the same position, so that a reader can distinguish
/// their whiskers.
const DODGE: f64 = 7.0;
/// The height of the label of a column, with the gap below it.
const FOR_LABELS: f64 = labels::GAP + VALUE.size + 4.0;
/// The approximate distance between two ticks, on horizontal and on vertical axes.
const X_TICK: f64 = 100.0;
const Y_TICK: f64 = 40.0;

/// The positions of all parts of a chart, in pixels, and the range of the horizontal axis.
pub(super) struct Layout {
    pub width: f64,
    pub height: f64,
    pub x: Range,
    /// The ticks of the horizontal axis.
    pub ticks: Vec<Tick>,
    /// Whether the ticks of the horizontal axis have grid lines. They have none if the axis has its own ticks, and
    /// the chart has columns or tiles.
    pub has_x_grid: bool,
    pub panels: Vec<PanelLayout>,
    /// The distance by which series at the same position are moved apart. 0 in pages, in charts without whiskers,
    /// and if the horizontal axis has no ticks of its own.
    pub dodge: f64,
}

/// The position of a panel.
pub(super) struct PanelLayout {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
    pub y: Range,
    /// The ticks of its vertical axis.
    pub y_ticks: Vec<Tick>,
    /// Whether the panel has the labels of its vertical ticks; otherwise the leftmost panel of its row
    /// has them.
    pub labels_y: bool,
    /// Whether the panel has the labels of its horizontal ticks; otherwise the lowest panel has them.
    pub labels_x: bool,
}

impl Layout {
    /// The layout of a chart whose panels begin `from` pixels below the top.
    pub fn of(chart: &Chart, from: f64, is_file: bool) -> Self {
        let ys = vertical(chart);
        let ticks = ys.iter().zip(&chart.panels).flat_map(|(y, panel)| {
            y_ticks(panel, *y).into_iter().map(|tick| TICK.width(&tick.text))
        });
        let left = ticks.fold(30.0, f64::max) + 16.0;
        let right = if is_file { names_room(chart).max(MARGIN) } else { MARGIN };
        let mut panels = match chart.arrangement {
            Arrangement::Stacked => stacked(chart, &ys, left, WIDTH - left - right),
            Arrangement::Grid => grid(chart, &ys, left, WIDTH - left - right),
        };
        panels.iter_mut().for_each(|panel| panel.top += from);
        let end = |panel: &PanelLayout| (panel.left + panel.width, panel.top + panel.height);
        let ends = panels.iter().map(end);
        let (width, height) = ends.fold((0.0_f64, from), |(w, h), (x, y)| (w.max(x), h.max(y)));
        let wanted = panels.first().map_or(1.0, |panel| wanted_x(panel.width));
        let x = Range::of(&chart.x, horizontal(chart), wanted);
        let named = !chart.x.ticks.is_empty();
        let ticks = chart.x.ticks_of(x, wanted);
        let dodges = is_file && named && chart.series().any(is_dodged);
        Self {
            width: (width + right).max(WIDTH),
            height: height + BELOW,
            x,
            ticks,
            has_x_grid: !(named && chart.series().any(|series| series.has_width())),
            panels,
            dodge: if dodges { DODGE } else { 0.0 },
        }
    }

    /// The left end of the leftmost panel and the right end of the rightmost panel, in pixels.
    pub fn sides(&self) -> (f64, f64) {
        let ends = self.panels.iter().map(|panel| (panel.left, panel.left + panel.width));
        ends.fold((self.width, 0.0), |(left, right), (from, to)| (left.min(from), right.max(to)))
    }

    /// The lower end of the last panel.
    pub fn bottom(&self) -> f64 {
        self.panels.iter().map(|panel| panel.top + panel.height).fold(0.0, f64::max)
    }

    /// The horizontal position of a value in a panel.
    pub fn at_x(&self, placed: &PanelLayout, value: f64) -> f64 {
        placed.left + self.x.share(value) * placed.width
    }
}

impl PanelLayout {
    /// The vertical position of a value.
    pub fn at_y(&self, value: f64) -> f64 {
        self.top + (1.0 - self.y.share(value)) * self.height
    }

    pub fn right(&self) -> f64 {
        self.left + self.width
    }

    pub fn bottom(&self) -> f64 {
        self.top + self.height
    }
}

fn wanted_x(width: f64) -> f64 {
    width / X_TICK
}

fn wanted_y(height: f64) -> f64 {
    height / Y_TICK
}

fn y_ticks(panel: &Panel, y: Range) -> Vec<Tick> {
    panel.y.ticks_of(y, wanted_y(panel.height))
}

/// All values that the horizontal axis must show: positions, ends of intervals, and bands.
fn horizontal(chart: &Chart) -> impl Iterator<Item = f64> {
    let series = chart.series();
    let points = series.flat_map(|of| of.x.iter().chain(&of.left).chain(&of.right).copied());
    let bands = chart.panels.iter().flat_map(|panel| &panel.bands);
    points.chain(bands.flat_map(|band| [band.from, band.to]))
}

/// The range of the vertical axis of each panel. All panels of a grid have the same range.
fn vertical(chart: &Chart) -> Vec<Range> {
    let values = |of: &Series| {
        let of_point = of.y.iter().zip(0..).filter(|(y, _)| y.is_finite());
        let ends = of_point.flat_map(|(y, at): (&f64, usize)| {
            [Some(y), of.low.get(at), of.high.get(at)].into_iter().flatten().copied()
        });
        ends.collect::<Vec<f64>>()
    };
    let together: Vec<f64> = match chart.arrangement {
        Arrangement::Grid => chart.series().flat_map(values).collect(),
        Arrangement::Stacked => Vec::new(),
    };
    let range = |panel: &Panel| {
        let own = panel.series.iter().filter(|series| series.shape != Shape::Marks);
        let own: Vec<f64> = own.flat_map(values).chain(together.iter().copied()).collect();
        let range = Range::of(&panel.y, own.iter().copied(), wanted_y(panel.height));
        // The label of a column is above its whisker, so the axis must have room for the label.
        let has_labels = |of: &Series| of.shape == Shape::Bars && of.labelled;
        match panel.series.iter().any(has_labels) {
            true => range.with_room_above(own.into_iter(), FOR_LABELS / panel.height),
            false => range,
        }
    };
    chart.panels.iter().map(range).collect()
}

fn is_dodged(series: &Series) -> bool {
    series.shape == Shape::Marked && series.has_intervals()
}

/// The width of the names at the ends of lines, with their markers; 0 if the chart has none.
fn names_room(chart: &Chart) -> f64 {
    let Legend::LineEnds(heading) = &chart.legend else { return 0.0 };
    let names = chart.series().map(|series| LEGEND.width(&series.name));
    names.fold(NOTE.width(heading), f64::max).min(MOST_FOR_NAMES) + BESIDE_NAMES
}

fn stacked(chart: &Chart, ys: &[Range], left: f64, width: f64) -> Vec<PanelLayout> {
    let is_named = chart.panels.iter().flat_map(|panel| &panel.bands).any(|b| !b.name.is_empty());
    let mut top = TITLE + if is_named { NAMES } else { 0.0 };
    let last = chart.panels.len().saturating_sub(1);
    let panels = chart.panels.iter().zip(ys).enumerate().map(|(index, (panel, y))| {
        let height = panel.height;
        let placed = PanelLayout {
            left,
            top,
            width,
            height,
            y: *y,
            y_ticks: y_ticks(panel, *y),
            labels_y: true,
            labels_x: index == last,
        };
        top += height + GAP;
        placed
    });
    panels.collect()
}

/// Arranges the panels in as few rows as possible, with as few columns as possible for this number of
/// rows.
fn grid(chart: &Chart, ys: &[Range], left: f64, room: f64) -> Vec<PanelLayout> {
    let count = chart.panels.len();
    let rows = count.div_ceil(MOST_COLUMNS).max(1);
    let columns = count.div_ceil(rows).max(1);
    let width = (room - (columns - 1) as f64 * COLUMN_GAP) / columns as f64;
    let width = width.max(LEAST_WIDTH);
    let place = |(index, (panel, y)): (usize, (&Panel, &Range))| {
        let (column, row) = ((index % columns) as f64, (index / columns) as f64);
        PanelLayout {
            left: left + column * (width + COLUMN_GAP),
            top: 2.0 * TITLE + row * (panel.height + ROW_GAP),
            width,
            height: panel.height,
            y: *y,
            y_ticks: y_ticks(panel, *y),
            labels_y: index % columns == 0,
            labels_x: true,
        }
    };
    chart.panels.iter().zip(ys).enumerate().map(place).collect()
}
