//! A chart as SVG: where its parts stand, and the parts. The script draws the same; what it gets
//! from here are the places of panels and the ends of axes.

use std::fmt::Write as _;

use super::ticks::Ends;
use super::{Chart, Panel, Series, Shape, Spacing};
use crate::number::significant;
use crate::plot::svg::{Anchor, Font, Svg, coordinate};
use crate::plot::text::{fitted, width};
use crate::plot::{Paint, style};

/// Width of a chart.
pub(super) const WIDTH: f64 = 900.0;
/// Above the first panel: the title of its axis.
const TOP: f64 = 26.0;
/// Between two panels: the title of the lower one's axis.
const GAP: f64 = 34.0;
/// Below the last panel: ticks and the title of the axis.
const BELOW: f64 = 46.0;
/// Height of the names of bands.
const NAMES: f64 = 16.0;
/// Dashes, of another number than there are colours, so that both repeat far apart.
const DASHES: [Option<&str>; 5] = [None, Some("8 4"), Some("2 3"), Some("10 3 2 3"), Some("5 2")];

/// Where everything stands.
pub(super) struct Layout {
    pub width: f64,
    pub left: f64,
    pub right: f64,
    pub height: f64,
    pub x: Ends,
    pub panels: Vec<Placed>,
}

/// Where a panel stands.
pub(super) struct Placed {
    pub top: f64,
    pub height: f64,
    pub y: Ends,
}

/// The colour of a series.
pub(super) fn paint(look: usize) -> Paint {
    Paint::Named(look)
}

/// The dashes of a series.
pub(super) fn dash(look: usize) -> Option<&'static str> {
    DASHES[look % DASHES.len()]
}

impl Layout {
    /// Of a chart that begins at `from` pixels.
    pub fn of(chart: &Chart, from: f64) -> Self {
        let bars = [Shape::Bars, Shape::Spans];
        let xs = chart.panels.iter().flat_map(|panel| &panel.series).flat_map(|series| {
            let ends: [&[f64]; 2] = if bars.contains(&series.shape) {
                [&series.low, &series.high]
            } else {
                [&series.left, &series.right]
            };
            series.x.iter().chain(ends[0]).chain(ends[1]).copied()
        });
        let bands = chart.bands.iter().flat_map(|(from, to, _)| [*from, *to]);
        let marked = chart.panels.iter().flat_map(|panel| &panel.series);
        let roomy = marked.into_iter().any(|series| series.shape == Shape::Marked);
        let exact = chart.x.spacing == Spacing::Linear || !roomy;
        let x = Ends::of(xs.chain(bands), chart.x.spacing, exact);
        let mut top = from + TOP + if chart.bands.is_empty() { 0.0 } else { NAMES };
        let mut panels = Vec::new();
        let mut widest: f64 = 30.0;
        for panel in &chart.panels {
            let y = vertical(panel);
            for tick in y.ticks(panel.height / 40.0) {
                let font = style::TICK;
                widest = widest.max(width(&significant(tick), font.size, font.weight));
            }
            panels.push(Placed { top, height: panel.height, y });
            top += panel.height + GAP;
        }
        let height = top - GAP + BELOW;
        Self { width: WIDTH, left: widest + 16.0, right: 20.0, height, x, panels }
    }

    fn x(&self, value: f64) -> f64 {
        self.left + self.x.share(value) * (self.width - self.left - self.right)
    }
}

impl Placed {
    fn y(&self, value: f64) -> f64 {
        self.top + (1.0 - self.y.share(value)) * self.height
    }

    fn bottom(&self) -> f64 {
        self.top + self.height
    }
}

/// The vertical axis of a panel.
fn vertical(panel: &Panel) -> Ends {
    if let Some([from, to]) = panel.ends {
        return Ends { spacing: panel.spacing, from, to };
    }
    let values = panel.series.iter().flat_map(|series| {
        let beside = !matches!(series.shape, Shape::Bars | Shape::Spans);
        let ends = if beside { [&series.low, &series.high] } else { [&series.y, &series.y] };
        series.y.iter().chain(ends[0]).chain(ends[1]).copied()
    });
    Ends::of(values, panel.spacing, false)
}

/// Draws everything but titles and the key.
pub(super) fn draw(svg: &mut Svg, chart: &Chart, layout: &Layout) {
    let named = match chart.x.named.as_slice() {
        [] => layout.x.ticks(8.0),
        named => named.to_vec(),
    };
    for (panel, placed) in chart.panels.iter().zip(&layout.panels) {
        for tick in placed.y.ticks(placed.height / 40.0) {
            let y = placed.y(tick);
            svg.line((layout.left, y), (layout.width - layout.right, y), Paint::Grid, "");
            let at = (layout.left - 8.0, y + 4.0);
            svg.text(at, Anchor::End, style::TICK, &significant(tick));
        }
        for &tick in &named {
            let x = layout.x(tick);
            svg.line((x, placed.top), (x, placed.bottom()), Paint::Grid, "");
        }
        for (from, to, _) in &chart.bands {
            let (from, to) = (layout.x(*from), layout.x(*to));
            let more = r#" fill-opacity="0.45""#;
            svg.rect(from, placed.top, (to - from).max(0.0), placed.height, Paint::Grid, more);
        }
        for of in &panel.series {
            series(svg, layout, placed, of);
        }
        let (left, right) = (layout.left, layout.width - layout.right);
        svg.line((left, placed.bottom()), (right, placed.bottom()), Paint::Axis, "");
        let at = (layout.left, placed.top - 8.0);
        svg.text(at, Anchor::Start, style::AXIS_TITLE, &panel.axis.label());
    }
    let Some(bottom) = layout.panels.last().map(Placed::bottom) else { return };
    let mut free = f64::NEG_INFINITY;
    for &tick in &named {
        let text = significant(tick);
        let half = width(&text, style::TICK.size, style::TICK.weight) / 2.0 + 3.0;
        if layout.x(tick) - half >= free {
            svg.text((layout.x(tick), bottom + 18.0), Anchor::Middle, style::TICK, &text);
            free = layout.x(tick) + half;
        }
    }
}

/// What stands beside the panels and stays where it is when a reader zooms: the title of the
/// horizontal axis, and the names of bands.
pub(super) fn around(svg: &mut Svg, chart: &Chart, layout: &Layout) {
    let Some(bottom) = layout.panels.last().map(Placed::bottom) else { return };
    let middle = (layout.left + layout.width - layout.right) / 2.0;
    let label = match chart.x.spacing {
        Spacing::Linear => chart.x.axis.label(),
        Spacing::Log => format!("{}, log scale", chart.x.axis.label()),
    };
    svg.text((middle, bottom + 38.0), Anchor::Middle, style::AXIS_TITLE, &label);
}

/// The names of bands above the first panel, as far as there is room for them.
pub(super) fn names(svg: &mut Svg, chart: &Chart, layout: &Layout) {
    let Some(top) = layout.panels.first().map(|first| first.top) else { return };
    for (from, to, name) in &chart.bands {
        let (from, to) = (layout.x(*from), layout.x(*to));
        let font = Font { size: 11.0, ..style::TICK };
        let name = fitted(name, font.size, font.weight, to - from - 4.0);
        if name.chars().count() > 2 {
            svg.text((from + 2.0, top - 24.0), Anchor::Start, font, &name);
        }
    }
}

fn series(svg: &mut Svg, layout: &Layout, placed: &Placed, of: &Series) {
    let colour = paint(of.look);
    let css = svg.css(colour);
    match of.shape {
        Shape::Line | Shape::Marked | Shape::Step => {
            bands(svg, layout, placed, of, &css);
            svg.path(&line(layout, placed, of), &stroke(of, &css));
            if of.shape == Shape::Marked {
                let look = style::Style::of(style::Palette::Named, of.look, 1);
                for at in places(layout, placed, of).into_iter().flatten() {
                    look.marker(svg, at, crate::plot::Mark::Whole);
                }
            }
        }
        Shape::Dots => {
            for at in places(layout, placed, of).into_iter().flatten() {
                svg.circle(at, 2.5, colour, "");
            }
        }
        Shape::Bars => {
            for ((low, high), y) in of.low.iter().zip(&of.high).zip(&of.y) {
                let (left, right) = (layout.x(*low), layout.x(*high));
                let top = placed.y(*y);
                let width = (right - left - 1.0).max(0.5);
                let height = (placed.bottom() - top).max(0.0);
                svg.rect(left, top, width, height, colour, r#" fill-opacity="0.75""#);
            }
        }
        Shape::Spans => spans(svg, layout, placed, of, colour),
        Shape::Marks => {
            for x in &of.x {
                let x = layout.x(*x);
                let more = r#" stroke-width="1.5" stroke-dasharray="3 3""#;
                svg.line((x, placed.top), (x, placed.bottom()), colour, more);
            }
        }
    }
}

/// A request is pale until its first token, then full.
fn spans(svg: &mut Svg, layout: &Layout, placed: &Placed, of: &Series, colour: Paint) {
    for (at, y) in of.y.iter().enumerate() {
        let y = placed.y(*y);
        let [from, middle, to] = [of.low[at], of.middle[at], of.high[at]].map(|x| layout.x(x));
        let ink = if of.failed.get(at) == Some(&true) { Paint::Alert } else { colour };
        let pale = r#" stroke-width="3" stroke-opacity="0.4""#;
        svg.line((from, y), (middle.max(from + 1.0), y), ink, pale);
        if middle < to {
            svg.line((middle, y), (to, y), ink, r#" stroke-width="3""#);
        }
    }
}

fn places(layout: &Layout, placed: &Placed, of: &Series) -> Vec<Option<(f64, f64)>> {
    let place = |(x, y): (&f64, &f64)| {
        let at = (layout.x(*x), placed.y(*y));
        (at.0.is_finite() && at.1.is_finite()).then_some(at)
    };
    of.x.iter().zip(&of.y).map(place).collect()
}

/// The line as commands of a path; a gap lifts the pen.
fn line(layout: &Layout, placed: &Placed, of: &Series) -> String {
    let mut out = String::new();
    let mut is_down = false;
    for place in places(layout, placed, of) {
        let Some((x, y)) = place else {
            is_down = false;
            continue;
        };
        let (x, y) = (coordinate(x), coordinate(y));
        let _ = match (is_down, of.shape) {
            (false, _) => write!(out, "M{x},{y}"),
            (true, Shape::Step) => write!(out, "H{x}V{y}"),
            (true, _) => write!(out, "L{x},{y}"),
        };
        is_down = true;
    }
    out
}

fn stroke(of: &Series, css: &str) -> String {
    let dash = dash(of.look).filter(|_| of.shape != Shape::Marked);
    let dash = dash.map_or(String::new(), |dash| format!(r#" stroke-dasharray="{dash}""#));
    format!(r#" fill="none" stroke="{css}" stroke-width="2" stroke-linejoin="round"{dash}"#)
}

/// The intervals: whiskers of marked points, else the space between their ends.
fn bands(svg: &mut Svg, layout: &Layout, placed: &Placed, of: &Series, css: &str) {
    let corner = |x: f64, y: f64| {
        let at = (layout.x(x), placed.y(y));
        let finite = at.0.is_finite() && at.1.is_finite();
        finite.then(|| format!("{},{}", coordinate(at.0), coordinate(at.1)))
    };
    if of.shape == Shape::Marked {
        for (at, (low, high)) in of.low.iter().zip(&of.high).enumerate() {
            if let (Some(low), Some(high)) = (corner(of.x[at], *low), corner(of.x[at], *high)) {
                svg.path(&format!("M{low}L{high}"), &stroke(of, css));
            }
        }
        return;
    }
    let mut area = |first: Vec<String>, second: Vec<String>| {
        if first.len() > 1 && first.len() == second.len() {
            let back: Vec<String> = second.into_iter().rev().collect();
            let commands = format!("M{}L{}Z", first.join("L"), back.join("L"));
            svg.path(&commands, &format!(r#" fill="{css}" fill-opacity="0.18""#));
        }
    };
    let along = |ends: &[f64]| of.x.iter().zip(ends).filter_map(|(x, y)| corner(*x, *y)).collect();
    area(along(&of.low), along(&of.high));
    let across =
        |ends: &[f64]| ends.iter().zip(&of.y).filter_map(|(x, y)| corner(*x, *y)).collect();
    area(across(&of.left), across(&of.right));
}
