//! Charts as data: axes, panels, series, legend, notes. Files and pages use the same model:
//! [`crate::plot`] draws it, and the modules of [`crate::charts`] fill it. Nothing here is drawn, and
//! nothing here knows what the values mean.

mod axis;
mod series;

pub mod thin;

pub(crate) use axis::Range;
pub use axis::{Axis, Extent, Scale, Tick};
pub use series::{Series, Shape, Tint};

/// Panels with a common horizontal axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Its name within a page, and the name of its file: letters, digits, `-` and `_`.
    pub id: String,
    /// What is shown.
    pub title: String,
    /// What was measured: model, card, engine. A file shows it below the title; a page shows it once for
    /// all charts.
    pub subject: String,
    /// Program and runs, in the footnotes of a file.
    pub origin: String,
    /// What a reader must not miss, such as that figures are simulated.
    pub notice: Option<String>,
    /// What a reader must know to understand it, one paragraph each: definitions, and what was left out.
    pub notes: Vec<String>,
    /// Footnotes: what markers mean.
    pub footnotes: Vec<String>,
    /// The horizontal axis.
    pub x: Axis,
    /// The panels from top to bottom, or row by row.
    pub panels: Vec<Panel>,
    /// How panels are arranged.
    pub arrangement: Arrangement,
    /// Where the names of series are shown.
    pub legend: Legend,
}

/// How panels are arranged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrangement {
    /// One below the other, each with a vertical axis of its own.
    #[default]
    Stacked,
    /// Side by side in rows, with one vertical axis for all.
    Grid,
}

/// Where the names of the series of a chart are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Legend {
    /// Above the panels.
    #[default]
    Above,
    /// In a file at the right end of each line, below this heading; in a page above the panels, because
    /// its lines move. Only for charts with one panel.
    LineEnds(String),
    /// Nowhere: there is one series, and the subject names it.
    Absent,
}

/// A pair of axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// What distinguishes it from the other panels; empty if its axis does.
    pub title: String,
    /// The vertical axis.
    pub y: Axis,
    /// Height in pixels.
    pub height: f64,
    /// What is drawn; the first series is at the bottom.
    pub series: Vec<Series>,
    /// Parts of the horizontal axis that belong together.
    pub bands: Vec<Band>,
}

/// A part of the horizontal axis, shaded: a pass of a run, an interval of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// The text above it; may be empty.
    pub name: String,
    /// Whether it is a result; else it is part of the background.
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

    /// Whether the chart would show nothing.
    pub fn is_empty(&self) -> bool {
        self.series().all(|series| series.x.is_empty())
    }

    /// The chart without values that its axes cannot show: a log axis has nothing at or below zero.
    pub(crate) fn on_its_axes(&self) -> Self {
        let mut chart = self.clone();
        let across = chart.x.scale;
        for panel in &mut chart.panels {
            let up = panel.y.scale;
            for series in &mut panel.series {
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
    /// A panel without bands; its title is that of its axis.
    pub fn new(y: Axis, height: f64, series: Vec<Series>) -> Self {
        Self { title: String::new(), y, height, series, bands: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_log_axis_does_not_have_is_left_out_of_every_column() {
        let series = Series {
            x: vec![0.0, 1.0, 100.0],
            y: vec![5.0, 0.0, 7.0],
            left: vec![0.0, 0.0, 90.0],
            right: vec![1.0, 2.0, 110.0],
            texts: ["a", "b", "c"].map(str::to_owned).to_vec(),
            ..Series::default()
        };
        let y = Axis::new("y", "ms").scaled(Scale::Log);
        let mut chart = Chart::new("c", "t", Axis::new("x", "ms").scaled(Scale::Log));
        chart.panels = vec![Panel::new(y, 100.0, vec![series])];
        let kept = chart.on_its_axes();
        let first = &kept.panels[0].series[0];
        assert_eq!((&first.x, &first.texts), (&vec![1.0, 100.0], &vec!["b".into(), "c".into()]));
        assert!(first.y[0].is_nan() && first.left[0].is_nan() && first.right[0].is_nan());
        assert_eq!(first.left[1], 90.0);
    }
}
