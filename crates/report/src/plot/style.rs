//! Colours, markers and sizes. Colours can be told apart by colour-blind readers, and no series
//! is told by colour alone: each has a marker too.

use super::figure::Mark;
use super::svg::{Font, Svg};
use super::theme::{NAMED, Paint};

/// Which colours the series of a figure get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Palette {
    /// Series in an order, such as input lengths: a ramp of one direction, dark for more.
    Ordered,
    /// Series without an order, such as servers: colours as far apart as can be.
    Named,
}

/// Number of marker shapes.
const SHAPES: usize = 5;

pub(crate) const TITLE: Font = Font { size: 20.0, colour: Paint::Ink, weight: 700 };
pub(crate) const SUBTITLE: Font = Font { size: 13.0, colour: Paint::Soft, weight: 400 };
pub(crate) const NOTICE: Font = Font { size: 13.0, colour: Paint::Alert, weight: 700 };
pub(crate) const PANEL_TITLE: Font = Font { size: 13.0, colour: Paint::Ink, weight: 700 };
pub(crate) const AXIS_TITLE: Font = Font { size: 13.0, colour: Paint::Ink, weight: 400 };
pub(crate) const TICK: Font = Font { size: 12.0, colour: Paint::Soft, weight: 400 };
pub(crate) const KEY_TITLE: Font = Font { size: 12.0, colour: Paint::Soft, weight: 400 };
pub(crate) const KEY: Font = Font { size: 13.0, colour: Paint::Ink, weight: 400 };
pub(crate) const VALUE: Font = Font { size: 12.0, colour: Paint::Ink, weight: 400 };

/// The look of series `index` of `count`.
#[derive(Clone, Debug)]
pub(crate) struct Style {
    /// Its colour.
    pub colour: Paint,
    /// Marker shape, below [`SHAPES`].
    shape: usize,
    /// Dashes that tell a second round of colours from the first.
    dash: &'static str,
}

impl Style {
    pub(crate) fn of(palette: Palette, index: usize, count: usize) -> Self {
        match palette {
            Palette::Named => Self {
                colour: Paint::Named(index),
                shape: index % SHAPES,
                dash: ["", " stroke-dasharray=\"7 4\"", " stroke-dasharray=\"2 4\""]
                    [(index / NAMED).min(2)],
            },
            Palette::Ordered => {
                let share = if count > 1 { index as f64 / (count - 1) as f64 } else { 0.5 };
                Self { colour: Paint::Ramp(share), shape: index % SHAPES, dash: "" }
            }
        }
    }

    /// Attributes of the series' line.
    pub(crate) fn stroke(&self) -> String {
        format!(r#" stroke-width="2" stroke-linejoin="round" stroke-linecap="round"{}"#, self.dash)
    }

    /// The series' marker; hollow when part of what it stands for is missing.
    pub(crate) fn marker(&self, svg: &mut Svg, at: (f64, f64), mark: Mark) {
        let (x, y) = at;
        let (fill, edge, width) = match mark {
            Mark::Whole => (self.colour, Paint::Paper, 1.0),
            Mark::Partial => (Paint::Paper, self.colour, 2.0),
        };
        let more = format!(r#" stroke="{}" stroke-width="{width}""#, svg.css(edge));
        let r = 4.6;
        let corners = |corners: &[(f64, f64)]| -> Vec<(f64, f64)> {
            corners.iter().map(|&(dx, dy)| (x + dx * r, y + dy * r)).collect()
        };
        match self.shape {
            0 => svg.circle(at, r, fill, &more),
            1 => svg.polygon(
                &corners(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
                fill,
                &more,
            ),
            2 => svg.polygon(&corners(&[(0.0, -1.2), (1.15, 0.9), (-1.15, 0.9)]), fill, &more),
            3 => svg.polygon(
                &corners(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]),
                fill,
                &more,
            ),
            _ => svg.polygon(&corners(&[(0.0, 1.2), (1.15, -0.9), (-1.15, -0.9)]), fill, &more),
        }
    }
}
