//! Plots that a reader can go into: as SVG in the page, and as data beside it that the page's
//! script draws a part of again. The same plot is written as a file of its own, light or dark.
//!
//! A [`Chart`] is panels above each other with one horizontal axis. Nothing here knows what is
//! shown; what was thinned out with [`thin`] is said in the notes.

mod data;
mod draw;
mod frame;
mod ticks;

pub mod thin;

pub use frame::{figure, file};

use crate::plot::Axis;

/// Panels above each other with one horizontal axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Its name within a page, and that of its file: letters, digits and dashes.
    pub id: String,
    /// What is shown.
    pub title: String,
    /// What a reader must know to read it, a paragraph each: definitions, and how many points
    /// stand for how many.
    pub notes: Vec<String>,
    /// What must not be overlooked, such as that figures are simulated.
    pub notice: Option<String>,
    /// The horizontal axis.
    pub x: Across,
    /// From top to bottom.
    pub panels: Vec<Panel>,
    /// Parts of the horizontal axis that belong together, with their names: the passes of a run.
    pub bands: Vec<(f64, f64, String)>,
}

/// The horizontal axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Across {
    /// What is shown, in which unit.
    pub axis: Axis,
    /// How values become positions.
    pub spacing: Spacing,
    /// The values that are named; empty for round ones.
    pub named: Vec<f64>,
}

/// How values become positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// Equal differences are equally far apart.
    Linear,
    /// Equal ratios are; values that are not above zero are left out.
    Log,
}

/// A pair of axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// The vertical axis.
    pub axis: Axis,
    /// How values become positions.
    pub spacing: Spacing,
    /// The ends of the vertical axis; absent where the values say them.
    pub ends: Option<[f64; 2]>,
    /// Pixels.
    pub height: f64,
    /// What is drawn, the first at the bottom.
    pub series: Vec<Series>,
}

/// What is drawn in one colour. Columns have one value per point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Its name in the key; series of one name are switched on and off together.
    pub name: String,
    /// Which colour and dashes it has.
    pub look: usize,
    /// Its place in an order, 0 to 1, where series have one: its colour is then of a ramp.
    pub shade: Option<f64>,
    /// How it is drawn.
    pub shape: Shape,
    /// Positions, ascending.
    pub x: Vec<f64>,
    /// Values; what is not finite is a gap.
    pub y: Vec<f64>,
    /// Beside each value the ends of its interval along the vertical axis; of [`Shape::Bars`] and
    /// [`Shape::Spans`] those along the horizontal one. Empty for none; not finite for a gap.
    pub low: Vec<f64>,
    /// The upper ends.
    pub high: Vec<f64>,
    /// The ends of an interval along the horizontal axis.
    pub left: Vec<f64>,
    /// The other ends.
    pub right: Vec<f64>,
    /// Of [`Shape::Spans`] where the second part begins.
    pub middle: Vec<f64>,
    /// What the read-out says of each point; empty for nothing more than its value.
    pub texts: Vec<String>,
    /// Which of them ended badly: spans in another colour, hollow markers; empty for none.
    pub failed: Vec<bool>,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// Straight lines between the points.
    #[default]
    Line,
    /// The same with a marker on each point, and intervals as whiskers.
    Marked,
    /// A value holds until the next.
    Step,
    /// Points alone.
    Dots,
    /// A column from `low` to `high`, as high as `y`.
    Bars,
    /// A line along the horizontal axis from `low` over `middle` to `high`, at the height `y`.
    Spans,
    /// A line from top to bottom.
    Marks,
}

impl Chart {
    /// Whether nothing would be seen.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.panels.iter().all(|panel| panel.series.iter().all(|series| series.x.is_empty()))
    }
}
