//! The colours, markers and dashes of series, and their samples in a legend. Colour-blind readers can
//! distinguish the colours of series without an order. Lines also differ in markers or dashes.

use super::svg::Svg;
use super::theme::{NAMED, Paint, Theme};
use crate::chart::{Series, Shape, Tint};

/// Number of marker shapes.
const MARKERS: usize = 5;

/// Half the size of a marker.
const RADIUS: f64 = 4.6;

/// Dashes of lines without markers. The 5 dashes and the 7 colours have no common divisor, so a combination
/// repeats only after 35 series.
const DASHES: [Option<&str>; 5] = [None, Some("8 4"), Some("2 3"), Some("10 3 2 3"), Some("5 2")];

/// Dashes of lines with markers: for the first, the second, and every further round through the colours.
const ROUNDS: [Option<&str>; 3] = [None, Some("7 4"), Some("2 4")];

/// Width and height of a sample in a legend.
pub(super) const SAMPLE: (f64, f64) = (26.0, 12.0);

/// The colour, the marker and the dashes of a series.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    /// Its colour.
    pub paint: Paint,
    marker: usize,
    dash: Option<&'static str>,
}

impl Look {
    /// The look of a series, from its number, its tint and its shape.
    pub fn of(series: &Series) -> Self {
        let (paint, dash) = match (series.tint, series.shape) {
            (Tint::Alert, _) => (Paint::Alert, DASHES[2]),
            (Tint::Named, Shape::Marked) => (
                Paint::Named(series.style_index),
                ROUNDS[(series.style_index / NAMED).min(ROUNDS.len() - 1)],
            ),
            (Tint::Named, _) => {
                (Paint::Named(series.style_index), DASHES[series.style_index % DASHES.len()])
            }
            (Tint::Ramp(share), _) => (Paint::Ramp(share), None),
        };
        Self { paint, marker: series.style_index % MARKERS, dash }
    }

    /// The SVG attributes of the line.
    pub fn stroke(&self, svg: &Svg) -> String {
        let dash = self.dash.map_or(String::new(), |dash| format!(r#" stroke-dasharray="{dash}""#));
        let usual = match svg.theme() {
            // The style sheet of a page has the rest.
            Theme::Page => r#"class="line""#,
            _ => r#"fill="none" stroke-width="2" stroke-linejoin="round""#,
        };
        format!(r#" {usual} stroke="{}"{dash}"#, svg.css(self.paint))
    }

    /// Draws the marker around the origin; hollow if some requests of the point failed.
    pub fn marker(&self, svg: &mut Svg, is_hollow: bool) {
        let (fill, edge, width) = match is_hollow {
            false => (self.paint, Paint::Paper, 1),
            true => (Paint::Paper, self.paint, 2),
        };
        let more = format!(r#" stroke="{}" stroke-width="{width}""#, svg.css(edge));
        let corners: &[(f64, f64)] = match self.marker {
            0 => return svg.circle((0.0, 0.0), RADIUS, fill, &more),
            1 => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
            2 => &[(0.0, -1.2), (1.15, 0.9), (-1.15, 0.9)],
            3 => &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
            _ => &[(0.0, 1.2), (1.15, -0.9), (-1.15, -0.9)],
        };
        let corners: Vec<(f64, f64)> =
            corners.iter().map(|(dx, dy)| (dx * RADIUS, dy * RADIUS)).collect();
        svg.polygon(&corners, fill, &more);
    }

    /// The SVG attributes of the lines of [`Shape::Marks`].
    pub fn mark_stroke(&self, svg: &Svg) -> String {
        format!(r#" stroke="{}" stroke-width="1.5" stroke-dasharray="3 3""#, svg.css(self.paint))
    }
}

/// Draws the sample of a series in a legend. `(x, y)` is the middle of the left edge of the sample.
pub(super) fn sample(svg: &mut Svg, (x, y): (f64, f64), series: &Series) {
    let look = Look::of(series);
    match series.shape {
        Shape::Bars | Shape::Tiles => svg.rect(x + 4.0, y - 5.0, 16.0, 10.0, look.paint, ""),
        Shape::Dots => svg.circle((x + 12.0, y), 3.0, look.paint, ""),
        Shape::Spans => svg.line((x, y), (x + 24.0, y), look.paint, r#" stroke-width="4""#),
        Shape::Marks => {
            let stroke = look.mark_stroke(svg);
            svg.path(&format!("M{},{}v12", x + 12.0, y - 6.0), &stroke);
        }
        Shape::Line | Shape::Marked | Shape::Step => {
            let stroke = look.stroke(svg);
            svg.path(&format!("M{x},{y}h24"), &stroke);
            if series.shape == Shape::Marked {
                svg.anchored((x + 12.0, y), |svg| look.marker(svg, false));
            }
        }
    }
}
