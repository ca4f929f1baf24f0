//! One pair of axes with its series. Never draws outside of its area but for tick texts and the
//! names at the ends of lines.

use super::direct::spread;
use super::figure::{Figure, Key, Mark, Panel, Point};
use super::scale::Scale;
use super::style::{self, Style};
use super::svg::{Anchor, Svg};
use super::text::{fitted, width};
use super::theme::Paint;

/// Distance of the outermost points from the sides of the plot.
const INSET: f64 = 26.0;
/// A series of at most this many points, alone in its panel, bears its figures.
const MAX_VALUE_LABELS: usize = 8;
/// Widest column.
const MAX_COLUMN: f64 = 84.0;
/// Least distance of the names at line ends.
const NAME_GAP: f64 = 18.0;

/// A rectangle of the page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rect {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

impl Rect {
    fn right(self) -> f64 {
        self.left + self.width
    }

    fn bottom(self) -> f64 {
        self.top + self.height
    }
}

/// What the panels of a figure share.
pub(super) struct Frame<'a> {
    pub figure: &'a Figure,
    pub x: &'a Scale,
    pub y: &'a Scale,
    /// Whether there is one position only, so that columns say more than points.
    pub is_columns: bool,
    /// How far series are set beside each other, in pixels.
    pub dodge: f64,
}

impl Frame<'_> {
    fn at_x(&self, area: Rect, x: f64) -> f64 {
        area.left + INSET + self.x.position(x) * (area.width - 2.0 * INSET)
    }

    fn at_y(&self, area: Rect, y: f64) -> f64 {
        area.bottom() - self.y.position(y) * area.height
    }

    /// Where a point of series `index` of `count` stands.
    fn place(
        &self,
        area: Rect,
        (index, count): (usize, usize),
        point: &Point,
    ) -> Option<(f64, f64)> {
        let beside = self.dodge * (index as f64 - (count as f64 - 1.0) / 2.0);
        let beside = beside.clamp(4.0 - INSET, INSET - 4.0);
        point.value().map(|y| (self.at_x(area, point.x) + beside, self.at_y(area, y)))
    }
}

/// Which tick texts a panel bears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum YTicks {
    /// The first of a row names its ticks.
    Named,
    /// The others share them.
    Shared,
}

/// Draws a panel into its area.
pub(super) fn draw_panel(
    svg: &mut Svg,
    frame: &Frame<'_>,
    panel: &Panel,
    area: Rect,
    ticks: YTicks,
) {
    draw_axes(svg, frame, area, ticks);
    if !panel.title.is_empty() {
        let at = (area.left, area.top - 10.0);
        svg.text(at, Anchor::Start, style::PANEL_TITLE, &panel.title);
    }
    if panel.series.iter().all(|series| series.points.iter().all(|p| p.value().is_none())) {
        let middle = (area.left + area.width / 2.0, area.top + area.height / 2.0);
        svg.text(middle, Anchor::Middle, style::SUBTITLE, "no figures");
    }
    if frame.is_columns {
        draw_columns(svg, frame, panel, area);
        return;
    }
    draw_lines(svg, frame, panel, area);
    if let Key::Direct(heading) = &frame.figure.key {
        draw_names(svg, frame, panel, area, heading);
    }
}

fn draw_axes(svg: &mut Svg, frame: &Frame<'_>, area: Rect, ticks: YTicks) {
    for &tick in &frame.y.ticks {
        let y = frame.at_y(area, tick);
        svg.line((area.left, y), (area.right(), y), Paint::Grid, "");
        if ticks == YTicks::Named {
            let text = frame.y.tick_text(tick);
            svg.text((area.left - 8.0, y + 4.0), Anchor::End, style::TICK, &text);
        }
    }
    let (left, right, bottom) = (area.left, area.right(), area.bottom());
    svg.line((left, bottom), (right, bottom), Paint::Axis, "");
    // The ends matter most, so they are named first; what would touch a name goes without.
    let mut named: Vec<(f64, f64)> = Vec::new();
    let last = frame.x.ticks.len().saturating_sub(1);
    let order = [0, last].into_iter().chain(1..last);
    for index in order.take(frame.x.ticks.len()) {
        let x = frame.at_x(area, frame.x.ticks[index]);
        svg.line((x, bottom), (x, bottom + 5.0), Paint::Axis, "");
        let text = frame.x.tick_text(frame.x.ticks[index]);
        let half = width(&text, style::TICK.size, style::TICK.weight) / 2.0 + 4.0;
        if named.iter().all(|&(from, to)| x + half <= from || x - half >= to) {
            svg.text((x, bottom + 20.0), Anchor::Middle, style::TICK, &text);
            named.push((x - half, x + half));
        }
    }
}

fn draw_lines(svg: &mut Svg, frame: &Frame<'_>, panel: &Panel, area: Rect) {
    let count = panel.series.len();
    for (index, series) in panel.series.iter().enumerate() {
        let look = Style::of(frame.figure.palette, index, count);
        let places: Vec<_> =
            series.points.iter().map(|p| frame.place(area, (index, count), p)).collect();
        for run in places.split(Option::is_none) {
            let run: Vec<(f64, f64)> = run.iter().copied().flatten().collect();
            if run.len() > 1 {
                svg.polyline(&run, look.colour, &look.stroke());
            }
        }
    }
    for (index, series) in panel.series.iter().enumerate() {
        let look = Style::of(frame.figure.palette, index, count);
        for point in &series.points {
            let Some(at) = frame.place(area, (index, count), point) else { continue };
            draw_whisker(svg, frame, area, point, at.0, look.colour);
            look.marker(svg, at, point.mark);
        }
    }
    if let [series] = panel.series.as_slice()
        && series.points.len() <= MAX_VALUE_LABELS
    {
        for point in &series.points {
            let place = frame.place(area, (0, 1), point);
            if let (Some((x, y)), Some(value)) = (place, point.value()) {
                let top = point.whisker().map_or(y, |ends| frame.at_y(area, ends[1]).min(y));
                svg.text_on_lines((x, top - 11.0), style::VALUE, &value_text(value));
            }
        }
    }
}

fn draw_whisker(svg: &mut Svg, frame: &Frame<'_>, area: Rect, point: &Point, x: f64, ink: Paint) {
    let Some(ends) = point.whisker() else { return };
    let [low, high] = ends.map(|end| frame.at_y(area, end));
    svg.line((x, low), (x, high), ink, r#" stroke-width="1.5""#);
    for y in [low, high] {
        svg.line((x - 4.0, y), (x + 4.0, y), ink, r#" stroke-width="1.5""#);
    }
}

/// A column per series from zero, with its figure above it.
fn draw_columns(svg: &mut Svg, frame: &Frame<'_>, panel: &Panel, area: Rect) {
    let count = panel.series.len();
    let pitch = ((area.width - 2.0 * INSET) / count.max(1) as f64).min(MAX_COLUMN * 1.4);
    let column = pitch / 1.4;
    let first = area.left + area.width / 2.0 - pitch * (count as f64 - 1.0) / 2.0;
    for (index, series) in panel.series.iter().enumerate() {
        let look = Style::of(frame.figure.palette, index, count);
        let x = first + index as f64 * pitch;
        for point in &series.points {
            let Some(value) = point.value() else { continue };
            let top = frame.at_y(area, value);
            let more = match point.mark {
                Mark::Whole => String::new(),
                Mark::Partial => {
                    format!(
                        r#" fill-opacity="0.15" stroke="{}" stroke-width="2""#,
                        svg.css(look.colour)
                    )
                }
            };
            let height = (frame.at_y(area, 0.0) - top).max(0.0);
            svg.rect(x - column / 2.0, top, column, height, look.colour, &more);
            draw_whisker(svg, frame, area, point, x, Paint::Ink);
            let above = point.whisker().map_or(top, |ends| frame.at_y(area, ends[1]).min(top));
            let text = value_text(value);
            if width(&text, style::VALUE.size, style::VALUE.weight) <= pitch {
                svg.text_on_lines((x, above - 7.0), style::VALUE, &text);
            }
        }
    }
}

/// The name of each line beside its last point.
fn draw_names(svg: &mut Svg, frame: &Frame<'_>, panel: &Panel, area: Rect, heading: &str) {
    let count = panel.series.len();
    let mut names: Vec<(usize, (f64, f64), String)> = panel
        .series
        .iter()
        .enumerate()
        .map(|(index, series)| {
            match series
                .points
                .iter()
                .rev()
                .find_map(|point| frame.place(area, (index, count), point))
            {
                Some(end) => (index, end, series.name.clone()),
                None => {
                    let nowhere = (area.right(), area.bottom());
                    (index, nowhere, format!("{} (no figures)", series.name))
                }
            }
        })
        .collect();
    names.sort_by(|a, b| a.1.1.total_cmp(&b.1.1));
    let wanted: Vec<f64> = names.iter().map(|name| name.1.1).collect();
    let heights = spread(&wanted, NAME_GAP, area.top + NAME_GAP, area.bottom() - 6.0);
    let x = area.right() + 14.0;
    for ((index, end, name), &y) in names.iter().zip(&heights) {
        let look = Style::of(frame.figure.palette, *index, count);
        svg.line((end.0 + 7.0, end.1), (x - 7.0, y), Paint::Axis, r#" stroke-width="0.75""#);
        look.marker(svg, (x, y), Mark::Whole);
        let text = fitted(name, style::KEY.size, style::KEY.weight, 300.0);
        svg.text((x + 11.0, y + 4.5), Anchor::Start, style::KEY, &text);
    }
    if let Some(&first) = heights.first() {
        let at = (x - 5.0, first - NAME_GAP);
        svg.text(at, Anchor::Start, style::KEY_TITLE, heading);
    }
}

/// A figure beside its point.
fn value_text(value: f64) -> String {
    crate::number::significant(value)
}
