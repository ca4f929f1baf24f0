//! Colours, markers and sizes. Colours can be told apart by colour-blind readers, and no series
//! is told by colour alone: each has a marker too.

use super::figure::Mark;
use super::svg::{Font, Svg};

/// Which colours the series of a figure get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Palette {
    /// Series in an order, such as input lengths: a ramp of one direction, dark for more.
    Ordered,
    /// Series without an order, such as servers: colours as far apart as can be.
    Named,
}

/// M. Okabe and K. Ito, "Color Universal Design", 2008, without the yellow that white swallows.
const NAMED: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];

/// Viridis without its light end, light to dark (S. van der Walt and N. Smith, 2015).
const RAMP: [[f64; 3]; 5] = [
    [53.0, 183.0, 121.0],
    [33.0, 145.0, 140.0],
    [49.0, 104.0, 142.0],
    [68.0, 57.0, 131.0],
    [68.0, 1.0, 84.0],
];

/// Number of marker shapes.
const SHAPES: usize = 5;

pub(super) const INK: &str = "#1f2328";
pub(super) const SOFT: &str = "#59636e";
pub(super) const GRID: &str = "#e4e7eb";
pub(super) const AXIS: &str = "#8c959f";
pub(super) const ALERT: &str = "#b43a00";

pub(super) const TITLE: Font = Font { size: 20.0, colour: INK, weight: 700 };
pub(super) const SUBTITLE: Font = Font { size: 13.0, colour: SOFT, weight: 400 };
pub(super) const NOTICE: Font = Font { size: 13.0, colour: ALERT, weight: 700 };
pub(super) const PANEL_TITLE: Font = Font { size: 13.0, colour: INK, weight: 700 };
pub(super) const AXIS_TITLE: Font = Font { size: 13.0, colour: INK, weight: 400 };
pub(super) const TICK: Font = Font { size: 12.0, colour: SOFT, weight: 400 };
pub(super) const KEY_TITLE: Font = Font { size: 12.0, colour: SOFT, weight: 400 };
pub(super) const KEY: Font = Font { size: 13.0, colour: INK, weight: 400 };
pub(super) const VALUE: Font = Font { size: 12.0, colour: INK, weight: 400 };

/// The look of series `index` of `count`.
#[derive(Clone, Debug)]
pub(super) struct Style {
    /// CSS colour.
    pub colour: String,
    /// Marker shape, below [`SHAPES`].
    shape: usize,
    /// Dashes that tell a second round of colours from the first.
    dash: &'static str,
}

impl Style {
    pub(super) fn of(palette: Palette, index: usize, count: usize) -> Self {
        match palette {
            Palette::Named => Self {
                colour: NAMED[index % NAMED.len()].to_owned(),
                shape: index % SHAPES,
                dash: ["", " stroke-dasharray=\"7 4\"", " stroke-dasharray=\"2 4\""]
                    [(index / NAMED.len()).min(2)],
            },
            Palette::Ordered => {
                let share = if count > 1 { index as f64 / (count - 1) as f64 } else { 0.5 };
                Self { colour: ramp(share), shape: index % SHAPES, dash: "" }
            }
        }
    }

    /// Attributes of the series' line.
    pub(super) fn stroke(&self) -> String {
        format!(r#" stroke-width="2" stroke-linejoin="round" stroke-linecap="round"{}"#, self.dash)
    }

    /// The series' marker; hollow when part of what it stands for is missing.
    pub(super) fn marker(&self, svg: &mut Svg, at: (f64, f64), mark: Mark) {
        let (x, y) = at;
        let (fill, edge, width) = match mark {
            Mark::Whole => (self.colour.as_str(), "#ffffff", 1.0),
            Mark::Partial => ("#ffffff", self.colour.as_str(), 2.0),
        };
        let more = format!(r#" stroke="{edge}" stroke-width="{width}""#);
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

/// The colour at a share of the ramp, 0 to 1.
fn ramp(share: f64) -> String {
    let at = share.clamp(0.0, 1.0) * (RAMP.len() - 1) as f64;
    let from = (at.floor() as usize).min(RAMP.len() - 2);
    let rest = at - from as f64;
    let [r, g, b] = [0, 1, 2].map(|channel| {
        let value = RAMP[from][channel] * (1.0 - rest) + RAMP[from + 1][channel] * rest;
        value.round() as u8
    });
    format!("#{r:02x}{g:02x}{b:02x}")
}
