//! Draws the series of a chart, for files and for pages. When a reader of a page zooms, the script moves and
//! stretches this drawing, and does not draw series again. The style sheet keeps the width of strokes constant.
//! Elements that must keep their size, such as markers, are drawn with [`Svg::anchored`].

use std::fmt::Write as _;

use super::labels::{Area, Spot, Taken};
use super::layout::{Layout, PanelLayout};
use super::svg::{Anchor, Svg, coordinate};
use super::{font::VALUE, look::Look, theme::Paint};
use crate::chart::{Panel, Series, Shape};
use crate::significant;

/// Draws the bands of a panel.
pub(super) fn draw_bands(svg: &mut Svg, layout: &Layout, placed: &PanelLayout, panel: &Panel) {
    for band in &panel.bands {
        let (from, to) = (layout.at_x(placed, band.from), layout.at_x(placed, band.to));
        let (paint, opacity) =
            if band.is_result { (Paint::Named(2), 0.18) } else { (Paint::Grid, 0.45) };
        svg.tint([from, placed.top, (to - from).max(1.0), placed.height], paint, opacity);
    }
}

/// Draws the series of a panel.
pub(super) fn draw_panel(svg: &mut Svg, layout: &Layout, placed: &PanelLayout, panel: &Panel) {
    let marked = panel.series.iter().filter(|series| series.shape == Shape::Marked);
    let count = marked.count() as f64;
    let pen = |(index, series): (usize, _)| {
        let offset_x = layout.dodge * (index as f64 - (count - 1.0) / 2.0);
        let mut pen = Pen { layout, placed, series, look: Look::of(series), offset_x };
        let is_moved = pen.series.shape == Shape::Marked;
        pen.offset_x = if is_moved { offset_x.clamp(-22.0, 22.0) } else { 0.0 };
        pen
    };
    let pens: Vec<Pen<'_>> = panel.series.iter().enumerate().map(pen).collect();
    let mut taken = Taken::nothing(area(placed));
    if panel.series.iter().any(|series| series.labelled) {
        pens.iter().filter(|pen| !pen.series.hidden).for_each(|pen| pen.takes(&mut taken));
    }
    for pen in &pens {
        let attributes =
            if pen.series.hidden { r#"class="s" display="none""# } else { r#"class="s""# };
        svg.group(attributes, |svg| pen.draw(svg, &mut taken));
    }
}

fn area(placed: &PanelLayout) -> Area {
    let (left, right) = (placed.left, placed.right());
    Area { left, top: placed.top, right, bottom: placed.bottom() }
}

/// Half the size of the area around a marker that a label must not cover, in pixels.
const MARKER: f64 = 5.0;

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

    /// Adds the lines, markers, whiskers and bars of the series to the places that labels must not cover.
    fn takes(&self, taken: &mut Taken) {
        let of = self.series;
        let places = self.places();
        let is_line = matches!(of.shape, Shape::Line | Shape::Marked | Shape::Step);
        for pair in places.windows(2).filter(|_| is_line) {
            let [Some(from), Some(to)] = *pair else { continue };
            let corner = if of.shape == Shape::Step { (to.0, from.1) } else { from };
            taken.line(from, corner);
            taken.line(corner, to);
        }
        for at in places.iter().flatten().filter(|_| of.shape == Shape::Marked) {
            taken.area(Area::around(*at, MARKER));
        }
        for (point, x) in of.x.iter().enumerate() {
            let x = self.at_x(*x);
            let end = |ends: &[f64]| ends.get(point).map_or(f64::NAN, |end| self.at_y(*end));
            match of.shape {
                Shape::Marked => taken.line((x, end(&of.low)), (x, end(&of.high))),
                Shape::Bars => {
                    taken.line((x, end(&of.low)), (x, end(&of.high)));
                    let side = |ends: &[f64]| ends.get(point).map_or(x, |end| self.at_x(*end));
                    let (left, right) = (side(&of.left), side(&of.right));
                    let top = end(&of.y);
                    taken.area(Area { left, top, right, bottom: self.placed.bottom() });
                }
                Shape::Marks => taken.line((x, self.placed.top), (x, self.placed.bottom())),
                Shape::Line | Shape::Step | Shape::Dots | Shape::Spans | Shape::Tiles => {}
            }
        }
    }

    fn draw(&self, svg: &mut Svg, taken: &mut Taken) {
        match self.series.shape {
            Shape::Line | Shape::Step => {
                self.draw_intervals(svg);
                svg.path(&self.line(), &self.look.stroke(svg));
                self.draw_values(svg, taken);
            }
            Shape::Marked => {
                svg.path(&self.line(), &self.look.stroke(svg));
                self.draw_whiskers(svg, self.look.paint);
                for (point, at) in self.places().into_iter().enumerate() {
                    let Some(at) = at else { continue };
                    svg.anchored(at, |svg| self.look.marker(svg, self.series.is_failed(point)));
                }
                self.draw_values(svg, taken);
            }
            Shape::Dots => self.draw_dots(svg),
            Shape::Bars => {
                self.draw_bars(svg);
                self.draw_whiskers(svg, Paint::Ink);
                self.draw_values(svg, taken);
            }
            Shape::Spans => self.draw_spans(svg),
            Shape::Marks => self.draw_marks(svg, taken),
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

    /// Draws the labels of points where they cover nothing: above the points and their whiskers, otherwise below or
    /// beside them. A label is the point's own text, or its value if it has no text. A line without markers has labels
    /// only at points with a text, and the places of such a label are those of [`Spot::along_level`]. If no place is
    /// free, the label is left out, except the label of a column, which is always drawn.
    fn draw_values(&self, svg: &mut Svg, taken: &mut Taken) {
        let of = self.series;
        for (point, place) in self.places().into_iter().enumerate() {
            let Some((x, y)) = place.filter(|_| of.labelled && !of.hidden) else { continue };
            let end = |ends: &[f64]| ends.get(point).map(|end| self.at_y(*end));
            let [high, low] = [&of.high, &of.low].map(|ends| end(ends).filter(|at| at.is_finite()));
            let (top, foot) = (high.map_or(y, |high| high.min(y)), low.map_or(y, |low| low.max(y)));
            let own = of.texts.get(point).filter(|text| !text.is_empty());
            let is_line = matches!(of.shape, Shape::Line | Shape::Step);
            if own.is_none() && is_line {
                continue;
            }
            let text = own.cloned().unwrap_or_else(|| significant(of.y[point]));
            let spots = Spot::around((x, y), top, foot);
            let spot = match of.shape {
                Shape::Bars => taken.best(&text, &spots[..1]),
                _ if is_line => {
                    let from = self.places().into_iter().flatten().next();
                    taken.free(&text, &Spot::along_level(from.unwrap_or((x, y)), (x, y)))
                }
                _ => taken.free(&text, &spots),
            };
            draw_label(svg, spot, &text);
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

    /// Draws vertical lines with texts at their lower ends, or higher where the texts would cover something. If there
    /// are several lines, the text of the first line is to the left of the line if there is room.
    fn draw_marks(&self, svg: &mut Svg, taken: &mut Taken) {
        let of = self.series;
        let top = self.placed.top;
        let xs = of.x.iter().map(|x| self.at_x(*x)).enumerate().filter(|(_, x)| x.is_finite());
        let marks = xs.clone().fold(String::new(), |mut out, (_, x)| {
            let height = coordinate(self.placed.height);
            let _ = write!(out, "M{},{}v{height}", coordinate(x), coordinate(top));
            out
        });
        svg.path(&marks, &self.look.mark_stroke(svg));
        for (mark, x) in xs.filter(|_| of.labelled && !of.hidden) {
            let Some(text) = of.texts.get(mark) else { continue };
            let spots = Spot::along(x, area(self.placed), mark == 0 && of.x.len() > 1);
            draw_label(svg, taken.best(text, &spots), text);
        }
    }
}

fn draw_label(svg: &mut Svg, spot: Option<Spot>, text: &str) {
    let Some(spot) = spot else { return };
    svg.anchored(spot.of, |svg| svg.text_on_lines(spot.offset, spot.anchor, VALUE, text));
}
