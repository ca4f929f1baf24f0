//! A chart as SVG: where its parts stand, and the parts. The script draws the same; what it gets
//! from here are the places of panels and the ends of axes.

use std::fmt::Write as _;

use super::ticks::Ends;
use super::{Chart, Panel, Series, Shape, Spacing};
use crate::number::significant;
use crate::plot::svg::{Anchor, Font, Svg, coordinate};
use crate::plot::text::{fitted, width};
use crate::plot::{Mark, Paint, style};

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
pub(super) fn paint(series: &Series) -> Paint {
    series.shade.map_or(Paint::Named(series.look), Paint::Ramp)
}

/// The marker of a series.
pub(super) fn marker(svg: &mut Svg, series: &Series, at: (f64, f64), mark: Mark) {
    let mut style = style::Style::of(style::Palette::Named, series.look, 1);
    style.colour = paint(series);
    style.marker(svg, at, mark);
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
        let x = Ends::of(xs.chain(bands), chart.x.spacing, !roomy);
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
        let mut grid = String::new();
        for tick in placed.y.ticks(placed.height / 40.0) {
            let y = placed.y(tick);
            let (from, y_at) = (coordinate(layout.left), coordinate(y));
            let _ = write!(grid, "M{from},{y_at}H{}", coordinate(layout.width - layout.right));
            let at = (layout.left - 8.0, y + 4.0);
            svg.text(at, Anchor::End, style::TICK, &significant(tick));
        }
        for &tick in &named {
            let (x, top) = (coordinate(layout.x(tick)), coordinate(placed.top));
            let _ = write!(grid, "M{x},{top}v{}", coordinate(placed.height));
        }
        svg.path(&grid, &format!(r#" stroke="{}""#, svg.css(Paint::Grid)));
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
    names(svg, chart, layout);
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

/// What stays where it is when a reader zooms: the title of the horizontal axis.
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
fn names(svg: &mut Svg, chart: &Chart, layout: &Layout) {
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
    let colour = paint(of);
    let css = svg.css(colour);
    match of.shape {
        Shape::Line | Shape::Marked | Shape::Step => {
            bands(svg, layout, placed, of, &css);
            svg.path(&line(layout, placed, of), &stroke(of, &css));
            if of.shape == Shape::Marked {
                for (index, at) in places(layout, placed, of).into_iter().enumerate() {
                    let mark = match of.failed.get(index) {
                        Some(true) => Mark::Partial,
                        _ => Mark::Whole,
                    };
                    let Some(at) = at else { continue };
                    marker(svg, of, at, mark);
                }
            }
        }
        // Of many small things one path is a tenth of as many elements.
        Shape::Dots => {
            let places = places(layout, placed, of).into_iter().flatten();
            let dots = places.fold(String::new(), |mut out, (x, y)| {
                let _ = write!(out, "M{},{}h0", coordinate(x), coordinate(y));
                out
            });
            let more = r#" stroke-width="5" stroke-linecap="round""#;
            svg.path(&dots, &format!(r#" stroke="{css}"{more}"#));
        }
        Shape::Bars => {
            let mut bars = String::new();
            for ((low, high), y) in of.low.iter().zip(&of.high).zip(&of.y) {
                let (left, right) = (layout.x(*low), layout.x(*high));
                let top = placed.y(*y);
                let (x, wide) = (coordinate(left), coordinate((right - left - 1.0).max(0.5)));
                let bottom = coordinate(placed.bottom());
                let _ = write!(bars, "M{x},{bottom}V{}h{wide}V{bottom}Z", coordinate(top));
            }
            svg.path(&bars, &format!(r#" fill="{css}" fill-opacity="0.75""#));
        }
        Shape::Spans => spans(svg, layout, placed, of, colour),
        Shape::Marks => {
            let mut marks = String::new();
            for x in of.x.iter().filter(|x| x.is_finite()) {
                let (x, top) = (coordinate(layout.x(*x)), coordinate(placed.top));
                let _ = write!(marks, "M{x},{top}v{}", coordinate(placed.height));
            }
            let more = r#" stroke-width="1.5" stroke-dasharray="3 3""#;
            svg.path(&marks, &format!(r#" stroke="{css}"{more}"#));
        }
    }
}

/// A request is pale until its first token, then full.
fn spans(svg: &mut Svg, layout: &Layout, placed: &Placed, of: &Series, colour: Paint) {
    for (ink, wanted) in [(colour, false), (Paint::Alert, true)] {
        let (mut pale, mut full) = (String::new(), String::new());
        let own = |at: &usize| of.failed.get(*at).copied().unwrap_or_default() == wanted;
        for at in (0..of.y.len()).filter(own) {
            let y = coordinate(placed.y(of.y[at]));
            let [from, middle, to] = [of.low[at], of.middle[at], of.high[at]].map(|x| layout.x(x));
            let until = coordinate(middle.max(from + 1.0));
            let _ = write!(pale, "M{},{y}H{until}", coordinate(from));
            if middle < to {
                let _ = write!(full, "M{},{y}H{}", coordinate(middle), coordinate(to));
            }
        }
        let wide = coordinate((placed.height / of.y.len().max(1) as f64 * 0.7).clamp(1.0, 3.0));
        let stroke = format!(r#" stroke="{}" stroke-width="{wide}""#, svg.css(ink));
        for (path, more) in [(pale, r#" stroke-opacity="0.4""#), (full, "")] {
            if !path.is_empty() {
                svg.path(&path, &format!("{stroke}{more}"));
            }
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
                let (low_x, caps) = (layout.x(of.x[at]), [of.low[at], of.high[at]]);
                let caps = caps.map(|end| {
                    let (from, y) = (coordinate(low_x - 4.0), coordinate(placed.y(end)));
                    format!("M{from},{y}h8")
                });
                svg.path(&format!("M{low}L{high}{}", caps.concat()), &stroke(of, css));
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
