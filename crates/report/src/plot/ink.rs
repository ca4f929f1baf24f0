//! Draws the series of a chart, for files and for pages. When a reader of a page zooms, the script moves and
//! stretches this drawing, and does not draw series again. So the strokes of paths keep their width. Elements
//! that must keep their size, such as markers, are drawn with [`Svg::anchored`].

use std::fmt::Write as _;

use super::font::VALUE;
use super::layout::{Layout, PanelLayout};
use super::look::Look;
use super::svg::{Anchor, Svg, coordinate};
use super::theme::Paint;
use crate::chart::{Panel, Series, Shape};
use crate::number::significant;

/// Draws the bands of a panel, then its series.
pub(super) fn draw_panel(svg: &mut Svg, layout: &Layout, placed: &PanelLayout, panel: &Panel) {
    for band in &panel.bands {
        let (from, to) = (layout.at_x(placed, band.from), layout.at_x(placed, band.to));
        let (paint, more) = match band.is_result {
            false => (Paint::Grid, r#" fill-opacity="0.45""#),
            true => (Paint::Named(2), r#" fill-opacity="0.18""#),
        };
        svg.rect(from, placed.top, (to - from).max(1.0), placed.height, paint, more);
    }
    let marked = panel.series.iter().filter(|series| series.shape == Shape::Marked);
    let count = marked.count() as f64;
    for (index, series) in panel.series.iter().enumerate() {
        let offset_x = layout.dodge * (index as f64 - (count - 1.0) / 2.0);
        let offset_x =
            if series.shape == Shape::Marked { offset_x.clamp(-22.0, 22.0) } else { 0.0 };
        let pen = Pen { layout, placed, series, look: Look::of(series), offset_x };
        let attributes = if series.hidden { r#"class="s" display="none""# } else { r#"class="s""# };
        svg.group(attributes, |svg| pen.draw(svg));
    }
}

/// The distance between a point, or the end of its whisker, and its label, in pixels.
const LABEL_GAP: f64 = 9.0;

/// Draws one series in its panel.
pub(super) struct Pen<'a> {
    pub layout: &'a Layout,
    pub placed: &'a PanelLayout,
    pub series: &'a Series,
    pub look: Look,
    /// The horizontal distance, in pixels, by which the series is moved from its positions.
    pub offset_x: f64,
}

impl Pen<'_> {
    fn at_x(&self, value: f64) -> f64 {
        self.layout.at_x(self.placed, value) + self.offset_x
    }

    fn at_y(&self, value: f64) -> f64 {
        self.placed.at_y(value)
    }

    /// The position of a point in pixels, as text for an SVG path: `12.5,80`. Absent if a coordinate is not
    /// finite.
    fn corner(&self, x: f64, y: f64) -> Option<String> {
        let (x, y) = (self.at_x(x), self.at_y(y));
        let finite = x.is_finite() && y.is_finite();
        finite.then(|| format!("{},{}", coordinate(x), coordinate(y)))
    }

    /// The position of each point in pixels; absent for a gap.
    pub fn places(&self) -> Vec<Option<(f64, f64)>> {
        let place = |(x, y): (&f64, &f64)| {
            let at = (self.at_x(*x), self.at_y(*y));
            (at.0.is_finite() && at.1.is_finite()).then_some(at)
        };
        self.series.x.iter().zip(&self.series.y).map(place).collect()
    }

    fn draw(&self, svg: &mut Svg) {
        match self.series.shape {
            Shape::Line | Shape::Step => {
                self.draw_intervals(svg);
                svg.path(&self.line(), &self.look.stroke(svg));
            }
            Shape::Marked => {
                svg.path(&self.line(), &self.look.stroke(svg));
                self.draw_whiskers(svg, self.look.paint);
                for (point, at) in self.places().into_iter().enumerate() {
                    let Some(at) = at else { continue };
                    svg.anchored(at, |svg| self.look.marker(svg, self.series.is_failed(point)));
                }
                self.draw_values(svg);
            }
            Shape::Dots => self.draw_dots(svg),
            Shape::Bars => {
                self.draw_bars(svg);
                self.draw_whiskers(svg, Paint::Ink);
                self.draw_values(svg);
            }
            Shape::Spans => self.draw_spans(svg),
            Shape::Marks => self.draw_marks(svg),
            Shape::Tiles => self.draw_tiles(svg),
        }
    }

    /// The line as SVG path commands. A new part of the path begins after each gap.
    fn line(&self) -> String {
        let mut out = String::new();
        let mut is_down = false;
        for place in self.places() {
            let Some((x, y)) = place else {
                is_down = false;
                continue;
            };
            let (x, y) = (coordinate(x), coordinate(y));
            let _ = match (is_down, self.series.shape) {
                (false, _) => write!(out, "M{x},{y}"),
                (true, Shape::Step) => write!(out, "H{x}V{y}"),
                (true, _) => write!(out, "L{x},{y}"),
            };
            is_down = true;
        }
        out
    }

    /// Draws the area between the lower and the upper ends of intervals, for intervals of `y` and of `x`.
    fn draw_intervals(&self, svg: &mut Svg) {
        let of = self.series;
        let mut area = |first: Vec<String>, second: Vec<String>| {
            if first.len() > 1 && first.len() == second.len() {
                let back: Vec<String> = second.into_iter().rev().collect();
                let commands = format!("M{}L{}Z", first.join("L"), back.join("L"));
                let fill = svg.css(self.look.paint);
                svg.path(&commands, &format!(r#" fill="{fill}" fill-opacity="0.18""#));
            }
        };
        let up =
            |ends: &[f64]| of.x.iter().zip(ends).filter_map(|(x, y)| self.corner(*x, *y)).collect();
        area(up(&of.low), up(&of.high));
        let across = |ends: &[f64]| {
            ends.iter().zip(&of.y).filter_map(|(x, y)| self.corner(*x, *y)).collect()
        };
        area(across(&of.left), across(&of.right));
    }

    /// Draws the intervals of `y` as whiskers: all lines as one path, and caps that keep their width.
    fn draw_whiskers(&self, svg: &mut Svg, paint: Paint) {
        let of = self.series;
        let stroke = format!(r#" stroke="{}" stroke-width="1.5""#, svg.css(paint));
        let mut lines = String::new();
        let mut caps = Vec::new();
        for (((x, y), low), high) in of.x.iter().zip(&of.y).zip(&of.low).zip(&of.high) {
            let (x, low, high) = (self.at_x(*x), self.at_y(*low), self.at_y(*high));
            if y.is_finite() && x.is_finite() && low.is_finite() && high.is_finite() {
                let [left, from, to] = [x, low, high].map(coordinate);
                let _ = write!(lines, "M{left},{from}V{to}");
                caps.extend([(x, low), (x, high)]);
            }
        }
        if !lines.is_empty() {
            svg.path(&lines, &stroke);
        }
        for cap in caps {
            svg.anchored(cap, |svg| svg.path("M-4,0h8", &stroke));
        }
    }

    /// Draws the labels of points above the points and their whiskers, or below them at the top of a panel. A
    /// label is the point's own text, or its value if it has no text. A label that would overlap another label
    /// is left out.
    fn draw_values(&self, svg: &mut Svg) {
        let of = self.series;
        let mut drawn: Vec<[f64; 3]> = Vec::new();
        for (point, place) in self.places().into_iter().enumerate() {
            let Some((x, y)) = place.filter(|_| of.labelled) else { continue };
            let end = |ends: &[f64]| ends.get(point).map(|end| self.at_y(*end));
            let [high, low] = [&of.high, &of.low].map(|ends| end(ends).filter(|at| at.is_finite()));
            let top = high.map_or(y, |high| high.min(y));
            // Above a point at the top of the panel, a label would cover the name of the axis.
            let (at, offset) = match top - LABEL_GAP - VALUE.size >= self.placed.top {
                true => (top, -LABEL_GAP),
                false => (low.map_or(y, |low| low.max(y)), LABEL_GAP + VALUE.size),
            };
            let own = of.texts.get(point).filter(|text| !text.is_empty());
            let text = own.cloned().unwrap_or_else(|| significant(of.y[point]));
            let half = 0.5 * VALUE.width(&text);
            let is_upon = |other: &[f64; 3]| {
                (other[0] - x).abs() < other[2] + half + 2.0
                    && (other[1] - (at + offset)).abs() < VALUE.size + 2.0
            };
            if drawn.iter().any(is_upon) {
                continue;
            }
            drawn.push([x, at + offset, half]);
            svg.anchored((x, at), |svg| {
                svg.text_on_lines((0.0, offset), Anchor::Middle, VALUE, &text);
            });
        }
    }

    /// Draws all dots as one path, because a page with one element per dot would be much larger.
    fn draw_dots(&self, svg: &mut Svg) {
        let dots = self.places().into_iter().flatten().fold(String::new(), |mut out, (x, y)| {
            let _ = write!(out, "M{},{}h0", coordinate(x), coordinate(y));
            out
        });
        let css = svg.css(self.look.paint);
        svg.path(&dots, &format!(r#" stroke="{css}" stroke-width="5" stroke-linecap="round""#));
    }

    /// Draws bars. An outline in the colour of the background separates neighbouring bars.
    fn draw_bars(&self, svg: &mut Svg) {
        let of = self.series;
        let (css, paper) = (svg.css(self.look.paint), svg.css(Paint::Paper));
        let full = format!(r#" fill="{css}" stroke="{paper}""#);
        let hollow =
            format!(r#" fill="{css}" fill-opacity="0.15" stroke="{css}" stroke-width="2""#);
        for (is_failed, look) in [(false, full), (true, hollow)] {
            let mut bars = String::new();
            for (bar, y) in of.y.iter().enumerate() {
                let [left, right] = [of.left[bar], of.right[bar]].map(|x| self.at_x(x));
                let is_drawn = (y + left + right).is_finite();
                if !is_drawn || of.is_failed(bar) != is_failed {
                    continue;
                }
                let [foot, top] = [self.placed.y.from.max(0.0), *y].map(|y| self.at_y(y));
                let [x, wide, foot, top] =
                    [left, (right - left).max(0.5), foot, top].map(coordinate);
                let _ = write!(bars, "M{x},{foot}V{top}h{wide}V{foot}Z");
            }
            if !bars.is_empty() {
                svg.path(&bars, &look);
            }
        }
    }

    /// Draws tiles with their texts in the middle. An outline in the colour of the background separates
    /// neighbouring tiles.
    fn draw_tiles(&self, svg: &mut Svg) {
        let of = self.series;
        let look =
            format!(r#" fill="{}" stroke="{}""#, svg.css(self.look.paint), svg.css(Paint::Paper));
        for (tile, middle) in self.places().into_iter().enumerate() {
            let [left, right] = [of.left[tile], of.right[tile]].map(|x| self.at_x(x));
            let [foot, top] = [of.low[tile], of.high[tile]].map(|y| self.at_y(y));
            let Some(middle) = middle.filter(|_| (left + right + foot + top).is_finite()) else {
                continue;
            };
            let [x, wide, foot, top] = [left, right - left, foot, top].map(coordinate);
            svg.path(&format!("M{x},{foot}V{top}h{wide}V{foot}Z"), &look);
            if let Some(text) = of.texts.get(tile).filter(|_| of.labelled) {
                svg.anchored(middle, |svg| {
                    svg.text_on_lines((0.0, 4.0), Anchor::Middle, VALUE, text);
                });
            }
        }
    }

    /// Draws each request as a horizontal line, pale until its first output and then in full colour.
    fn draw_spans(&self, svg: &mut Svg) {
        let of = self.series;
        let rows = of.y.len().max(1) as f64;
        let wide = coordinate((self.placed.height / rows * 0.7).clamp(1.0, 3.0));
        for (paint, wanted) in [(self.look.paint, false), (Paint::Alert, true)] {
            let (mut pale, mut full) = (String::new(), String::new());
            for row in (0..of.y.len()).filter(|row| of.is_failed(*row) == wanted) {
                let y = coordinate(self.at_y(of.y[row]));
                let [from, middle, to] =
                    [of.left[row], of.middle[row], of.right[row]].map(|x| self.at_x(x));
                let until = coordinate(middle.max(from + 1.0));
                let _ = write!(pale, "M{},{y}H{until}", coordinate(from));
                if middle < to {
                    let _ = write!(full, "M{},{y}H{}", coordinate(middle), coordinate(to));
                }
            }
            let stroke = format!(r#" stroke="{}" stroke-width="{wide}""#, svg.css(paint));
            for (path, more) in [(pale, r#" stroke-opacity="0.4""#), (full, "")] {
                if !path.is_empty() {
                    svg.path(&path, &format!("{stroke}{more}"));
                }
            }
        }
    }

    /// Draws vertical lines with texts at their lower ends. If there are several lines, the text of the first
    /// line is to the left of the line. Other texts are to the right of their lines if there is room,
    /// otherwise to the left.
    fn draw_marks(&self, svg: &mut Svg) {
        let of = self.series;
        let (top, bottom) = (self.placed.top, self.placed.bottom());
        let xs = of.x.iter().map(|x| self.at_x(*x)).enumerate().filter(|(_, x)| x.is_finite());
        let marks = xs.clone().fold(String::new(), |mut out, (_, x)| {
            let height = coordinate(self.placed.height);
            let _ = write!(out, "M{},{}v{height}", coordinate(x), coordinate(top));
            out
        });
        svg.path(&marks, &self.look.mark_stroke(svg));
        for (mark, x) in xs.filter(|_| of.labelled) {
            let Some(text) = of.texts.get(mark) else { continue };
            let is_beyond = x + 4.0 + VALUE.width(text) > self.placed.right();
            let (text_x, anchor) = if (mark == 0 && of.x.len() > 1) || is_beyond {
                (-4.0, Anchor::End)
            } else {
                (4.0, Anchor::Start)
            };
            svg.anchored((x, bottom), |svg| {
                svg.text_on_lines((text_x, -6.0), anchor, VALUE, text);
            });
        }
    }
}
