//! The model of charts: axes, panels, series, legend, notes. The modules of [`crate::charts`] create charts,
//! and [`crate::plot`] draws them in files and pages. This module does not draw, and does not depend on the
//! meaning of the values.

mod axis;
mod series;

pub mod thin;

pub use axis::{Axis, Extent, Scale, Tick};
pub(crate) use axis::{Range, ends};
pub use series::{Series, Shape, Tint};

/// A chart: one or more panels with the same horizontal axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// The HTML id in a page, and the name of the file without extension: letters, digits, `-` and `_`.
    pub id: String,
    /// The title.
    pub title: String,
    /// The measured target: model, card, engine. A file shows it below the title. A page does not show it
    /// with each chart, because the page names the target elsewhere.
    pub subject: String,
    /// The program and the runs. A file shows them below the footnotes; a page does not show them with the chart.
    pub origin: String,
    /// A warning that is shown prominently, for example that figures are simulated.
    pub notice: Option<String>,
    /// Explanations, one paragraph each: definitions, and data that the chart leaves out.
    pub notes: Vec<String>,
    /// Footnotes, such as the meaning of markers.
    pub footnotes: Vec<String>,
    /// The horizontal axis.
    pub x: Axis,
    /// The panels, from top to bottom or row by row.
    pub panels: Vec<Panel>,
    /// How panels are arranged.
    pub arrangement: Arrangement,
    /// Where a file shows the names of series.
    pub legend: Legend,
}

/// How panels are arranged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrangement {
    /// One below the other, each with its own vertical axis.
    #[default]
    Stacked,
    /// Side by side in rows, all with the same vertical axis.
    Grid,
}

/// Where a file shows the names of the series of a chart. A page always shows them above the panels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Legend {
    /// Above the panels.
    #[default]
    Above,
    /// At the right end of each line, below this heading. Only for charts with one panel. A page does not do
    /// this, because lines move when a reader zooms.
    LineEnds(String),
    /// Nowhere. Either a panel has only one series, which the subject or an axis already names, or the axes
    /// name the tiles of a heat map.
    Absent,
}

/// The area with one vertical axis, its series and its bands.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// The title, which distinguishes the panel from others. Empty if the title of the vertical axis is
    /// enough.
    pub title: String,
    /// The vertical axis.
    pub y: Axis,
    /// Height in pixels.
    pub height: f64,
    /// The series, in the order in which they are drawn. A later series covers earlier ones.
    pub series: Vec<Series>,
    /// Shaded parts of the horizontal axis.
    pub bands: Vec<Band>,
}

/// A shaded part of the horizontal axis, such as a pass of a run or the interval of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    /// The beginning, as a value of the horizontal axis.
    pub from: f64,
    /// The end, as a value of the horizontal axis.
    pub to: f64,
    /// The text above it; may be empty.
    pub name: String,
    /// Whether the band shows a result; otherwise it is drawn in the colour of the grid.
    pub is_result: bool,
}

impl Chart {
    /// A chart of stacked panels without notes.
    pub fn new(id: impl Into<String>, title: impl Into<String>, x: Axis) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            subject: String::new(),
            origin: String::new(),
            notice: None,
            notes: Vec::new(),
            footnotes: Vec::new(),
            x,
            panels: Vec::new(),
            arrangement: Arrangement::default(),
            legend: Legend::default(),
        }
    }

    /// Every series of every panel.
    pub fn series(&self) -> impl Iterator<Item = &Series> {
        self.panels.iter().flat_map(|panel| &panel.series)
    }

    /// Whether no series has a point.
    pub fn is_empty(&self) -> bool {
        self.series().all(|series| series.x.is_empty())
    }

    /// The chart without the values that its axes cannot show: a log axis cannot show zero and negative
    /// values. If no value of a series is negative, ends of its intervals that are below zero are moved to zero.
    pub(crate) fn on_its_axes(&self) -> Self {
        let mut chart = self.clone();
        let across = chart.x.scale;
        for panel in &mut chart.panels {
            let up = panel.y.scale;
            for series in &mut panel.series {
                series.begin_intervals_at_zero();
                if across == Scale::Log {
                    series.drop_x_below_zero();
                }
                if up == Scale::Log {
                    series.drop_y_below_zero();
                }
            }
        }
        chart
    }
}

impl Panel {
    /// A panel without bands and without a title of its own.
    pub fn new(y: Axis, height: f64, series: Vec<Series>) -> Self {
        Self { title: String::new(), y, height, series, bands: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_of_figures_that_are_not_negative_does_not_begin_below_zero() {
        let of = |y: f64, shape: Shape| {
            let mut series = Series { shape, ..Series::default() };
            series.push(1.0, Some(y), Some([y - 5.0, y + 5.0]));
            (series.left, series.right) = (vec![-1.0], vec![3.0]);
            let mut chart = Chart::new("c", "t", Axis::new("x", "ms"));
            chart.panels = vec![Panel::new(Axis::new("y", "ms"), 100.0, vec![series])];
            chart.on_its_axes().panels.remove(0).series.remove(0)
        };
        let figure = of(4.0, Shape::Marked);
        assert_eq!((figure.low[0], figure.high[0], figure.left[0]), (0.0, 9.0, 0.0));
        assert_eq!(of(-1.0, Shape::Marked).low[0], -6.0, "differences may be negative");
        assert_eq!(of(4.0, Shape::Bars).left[0], -1.0, "the side of a bar is not an interval");
        assert_eq!(of(0.0, Shape::Tiles).low[0], -5.0, "the side of a tile is not an interval");
    }

    #[test]
    fn values_that_a_log_axis_cannot_show_are_removed_from_every_column() {
        let series = Series {
            x: vec![0.0, 1.0, 100.0],
            y: vec![5.0, 0.0, 7.0],
            left: vec![0.0, 0.0, 90.0],
            right: vec![1.0, 2.0, 110.0],
            texts: ["a", "b", "c"].map(str::to_owned).to_vec(),
            ..Series::default()
        };
        let y = Axis::new("y", "ms").with_scale(Scale::Log);
        let mut chart = Chart::new("c", "t", Axis::new("x", "ms").with_scale(Scale::Log));
        chart.panels = vec![Panel::new(y, 100.0, vec![series])];
        let kept = chart.on_its_axes();
        let first = &kept.panels[0].series[0];
        assert_eq!((&first.x, &first.texts), (&vec![1.0, 100.0], &vec!["b".into(), "c".into()]));
        assert!(first.y[0].is_nan() && first.left[0].is_nan() && first.right[0].is_nan());
        assert_eq!(first.left[1], 90.0);
    }
}
