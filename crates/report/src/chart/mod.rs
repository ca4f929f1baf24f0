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
    /// Positions, ascending; of [`Shape::Marked`] in the order in which they are joined.
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

    /// The chart without what its axes do not have: an axis of ratios has nothing that is not above
    /// zero. What is left out there is nowhere near any other point.
    fn on_its_axes(&self) -> Self {
        let mut chart = self.clone();
        let across = chart.x.spacing;
        for panel in &mut chart.panels {
            let up = panel.spacing;
            for series in &mut panel.series {
                if across == Spacing::Log {
                    series.keep(|x| x > 0.0);
                    pairs_above_zero(&mut series.left, &mut series.right);
                }
                if up == Spacing::Log {
                    let below = series.y.iter_mut().filter(|y| **y <= 0.0);
                    below.for_each(|y| *y = f64::NAN);
                    pairs_above_zero(&mut series.low, &mut series.high);
                }
            }
        }
        chart
    }
}

impl Series {
    /// Keeps the points whose position is wanted.
    pub(crate) fn keep(&mut self, wanted: impl Fn(f64) -> bool) {
        let kept: Vec<bool> = self.x.iter().map(|x| wanted(*x)).collect();
        if kept.iter().all(|kept| *kept) {
            return;
        }
        for column in [
            &mut self.x,
            &mut self.y,
            &mut self.low,
            &mut self.high,
            &mut self.left,
            &mut self.right,
            &mut self.middle,
        ] {
            keep(column, &kept);
        }
        keep(&mut self.texts, &kept);
        keep(&mut self.failed, &kept);
    }
}

/// A column may be empty, where a series has none such.
fn keep<T>(column: &mut Vec<T>, kept: &[bool]) {
    let mut at = kept.iter();
    column.retain(|_| at.next() == Some(&true));
}

/// An interval with an end that its axis does not have is none.
fn pairs_above_zero(lower: &mut [f64], upper: &mut [f64]) {
    for (lower, upper) in lower.iter_mut().zip(upper) {
        if *lower <= 0.0 || *upper <= 0.0 {
            (*lower, *upper) = (f64::NAN, f64::NAN);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Theme;

    #[test]
    fn what_an_axis_of_ratios_does_not_have_is_left_out_of_every_column() {
        let series = |shape: Shape| Series {
            name: "s".to_owned(),
            shape,
            x: vec![0.0, 1.0, 100.0],
            y: vec![5.0, 0.0, 7.0],
            left: vec![0.0, 0.0, 90.0],
            right: vec![1.0, 2.0, 110.0],
            texts: ["a", "b", "c"].map(str::to_owned).to_vec(),
            ..Series::default()
        };
        let shapes = [Shape::Line, Shape::Marked, Shape::Step, Shape::Dots, Shape::Marks];
        let chart = Chart {
            id: "c".to_owned(),
            title: "t".to_owned(),
            notes: Vec::new(),
            notice: None,
            x: Across { axis: Axis::new("x", "ms"), spacing: Spacing::Log, named: Vec::new() },
            panels: vec![Panel {
                axis: Axis::new("y", "ms"),
                spacing: Spacing::Log,
                ends: None,
                height: 100.0,
                series: shapes.map(series).to_vec(),
            }],
            bands: Vec::new(),
        };
        let kept = chart.on_its_axes();
        let first = &kept.panels[0].series[0];
        assert_eq!((&first.x, &first.texts), (&vec![1.0, 100.0], &vec!["b".into(), "c".into()]));
        assert!(first.y[0].is_nan() && first.left[0].is_nan() && first.right[0].is_nan());
        assert_eq!(first.left[1], 90.0);
        for text in [figure(&chart), file(&chart, "s", Theme::Dark)] {
            assert!(!text.contains("inf") && !text.contains("NaN"), "{text}");
        }
    }
}
