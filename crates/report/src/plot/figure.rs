//! A plot as data: axes, panels, series, points. Never a pixel; `draw` makes those.

use super::axis::Axis;
use super::style::Palette;

/// A plot of one quantity over lengths, in one panel or in several that share their axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What is shown.
    pub title: String,
    /// Of what: model, card, engine.
    pub subtitle: String,
    /// How the quantity is defined, in one sentence.
    pub definition: String,
    /// What a reader must not overlook, such as that figures are simulated.
    pub notice: Option<String>,
    /// The horizontal axis; values are positive and spread logarithmically.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Panels, each with the same series in the same order.
    pub panels: Vec<Panel>,
    /// Colours of the series.
    pub palette: Palette,
    /// Where series are named.
    pub key: Key,
    /// Where the figures come from, in small print.
    pub footer: String,
}

/// Where the series of a figure are named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// At the right end of each line, under this heading; for a single panel.
    Direct(String),
    /// In a row above the panels.
    Above,
    /// Nowhere: there is one series, and the subtitle names it.
    Absent,
}

/// One pair of axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// What sets it apart from the other panels; empty for a single one.
    pub title: String,
    /// Its series.
    pub series: Vec<Series>,
}

/// Points that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name in the key.
    pub name: String,
    /// Its points, in ascending order of `x`.
    pub points: Vec<Point>,
}

/// One figure of one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Position on the horizontal axis, above zero.
    pub x: f64,
    /// The figure; absent leaves a gap in the line.
    pub y: Option<f64>,
    /// The interval of the figure, drawn as a whisker.
    pub interval: Option<[f64; 2]>,
    /// Whether all requests behind it completed.
    pub mark: Mark,
}

/// Whether all requests behind a point completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// All of them: a filled marker.
    Whole,
    /// Some did not: a hollow marker.
    Partial,
}

impl Figure {
    /// Every point.
    pub(super) fn points(&self) -> impl Iterator<Item = &Point> {
        self.panels.iter().flat_map(|panel| &panel.series).flat_map(|series| &series.points)
    }

    /// Every value that the vertical axis must hold: figures and the ends of their intervals.
    pub(super) fn values(&self) -> Vec<f64> {
        self.points()
            .filter_map(|point| point.value().map(|y| (y, point.whisker())))
            .flat_map(|(y, whisker)| [Some(y), whisker.map(|w| w[0]), whisker.map(|w| w[1])])
            .flatten()
            .collect()
    }

    /// The positions that occur on the horizontal axis, ascending.
    pub(super) fn positions(&self) -> Vec<f64> {
        let mut positions: Vec<f64> = self.points().map(|point| point.x).collect();
        positions.sort_by(f64::total_cmp);
        positions.dedup();
        positions
    }

    /// The names of the series, in the order of their colours.
    pub(super) fn names(&self) -> Vec<&str> {
        self.panels.first().map_or(Vec::new(), |panel| {
            panel.series.iter().map(|series| series.name.as_str()).collect()
        })
    }
}

impl Point {
    /// The figure, if it can be drawn.
    pub(super) fn value(&self) -> Option<f64> {
        self.y.filter(|y| y.is_finite())
    }

    /// The interval, if it can be drawn.
    pub(super) fn whisker(&self) -> Option<[f64; 2]> {
        self.interval.filter(|ends| ends.iter().all(|end| end.is_finite()))
    }
}
