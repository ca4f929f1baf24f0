//! A figure as SVG: where its parts stand. Never decides what is shown.

use super::figure::{Figure, Key, Mark};
use super::panel::{Frame, Rect, YTicks, draw_panel};
use super::scale::Scale;
use super::style::{self, Style};
use super::svg::{Anchor, Svg};
use super::text::{fitted, width};
use super::theme::Theme;

/// Width of a figure with one panel.
const SINGLE_WIDTH: f64 = 900.0;
/// Height of the plot area of a figure with one panel.
const SINGLE_HEIGHT: f64 = 380.0;
/// Plot area of one of several panels.
const SMALL: (f64, f64) = (250.0, 270.0);
/// Panels side by side at most.
const MAX_COLUMNS: usize = 4;
/// Space around everything.
const MARGIN: f64 = 28.0;
/// Space between panels, and below a row of them for their tick texts.
const GAP: (f64, f64) = (22.0, 62.0);
/// Distance of series at one position, so that their whiskers can be told apart.
const DODGE: f64 = 7.0;
/// Distance of the lines of the key and of the footnotes.
const LINE: f64 = 20.0;

impl Figure {
    /// The figure as an SVG document that needs nothing else but fonts.
    #[must_use]
    pub fn to_svg(&self, theme: Theme) -> String {
        let positions = self.positions();
        let values = self.values();
        let is_columns = positions.len() == 1;
        let y = if is_columns { Scale::of_columns(&values) } else { Scale::of_values(&values) };
        let x = Scale::of_lengths(&positions);

        let tick_room = y
            .ticks
            .iter()
            .map(|&tick| width(&y.tick_text(tick), style::TICK.size, style::TICK.weight));
        let left = MARGIN + tick_room.fold(0.0, f64::max) + 10.0;
        let right = MARGIN + self.direct_key_room();
        let (columns, rows) = shape(self.panels.len());
        let (plot_width, plot_height, total_width) = if columns == 1 && rows == 1 {
            (SINGLE_WIDTH - left - right, SINGLE_HEIGHT, SINGLE_WIDTH)
        } else {
            let panels = columns as f64 * SMALL.0 + (columns - 1) as f64 * GAP.0;
            (SMALL.0, SMALL.1, left + panels + right)
        };

        let head = Head::of(self, total_width);
        let panel_title = if self.panels.len() > 1 { 20.0 } else { 0.0 };
        let row_height = panel_title + plot_height + GAP.1;
        let notes = self.notes();
        let top = head.height + if self.panels.len() > 1 { 34.0 } else { 40.0 };
        let below = 12.0 + notes.len() as f64 * LINE;
        let total_height = top + rows as f64 * row_height + below;

        let mut svg = Svg::new(total_width, total_height, theme);
        head.draw(&mut svg, self);
        svg.text((MARGIN, top - 18.0), Anchor::Start, style::AXIS_TITLE, &self.y_label(&y));
        let dodge = if self.has_whiskers() { DODGE } else { 0.0 };
        let frame = Frame { figure: self, x: &x, y: &y, is_columns, dodge };
        for (index, panel) in self.panels.iter().enumerate() {
            let (column, row) = (index % columns, index / columns);
            let area = Rect {
                left: left + column as f64 * (plot_width + GAP.0),
                top: top + row as f64 * row_height + panel_title,
                width: plot_width,
                height: plot_height,
            };
            let ticks = if column == 0 { YTicks::Named } else { YTicks::Shared };
            draw_panel(&mut svg, &frame, panel, area, ticks);
        }
        let middle = (left + total_width - right) / 2.0;
        let x_title = top + rows as f64 * row_height - 12.0;
        let label = match is_columns {
            true => self.x.label(),
            false => format!("{}, log scale", self.x.label()),
        };
        svg.text((middle, x_title), Anchor::Middle, style::AXIS_TITLE, &label);
        for (index, note) in notes.iter().enumerate() {
            let baseline = total_height - 14.0 - (notes.len() - 1 - index) as f64 * LINE;
            let font = style::KEY_TITLE;
            let note = fitted(note, font.size, font.weight, total_width - 2.0 * MARGIN);
            svg.text((MARGIN, baseline), Anchor::Start, font, &note);
        }
        svg.finish(&self.title, &format!("{}. {}", self.subtitle, self.definition))
    }

    /// Whether any point has an interval.
    fn has_whiskers(&self) -> bool {
        self.points().any(|point| point.value().is_some() && point.whisker().is_some())
    }

    /// Space to the right of the plot for the names of the lines.
    fn direct_key_room(&self) -> f64 {
        let Key::Direct(title) = &self.key else { return 0.0 };
        if self.names().is_empty() {
            return 0.0;
        }
        let font = style::KEY;
        let names = self.names().into_iter().map(|name| width(name, font.size, font.weight));
        let heading = width(title, style::KEY_TITLE.size, style::KEY_TITLE.weight);
        names.fold(heading, f64::max).min(300.0) + 44.0
    }

    /// The title of the vertical axis with what must be known about its scale.
    fn y_label(&self, scale: &Scale) -> String {
        match scale.remark() {
            Some(remark) => format!("{}, {remark}", self.y.label()),
            None => self.y.label(),
        }
    }

    /// Small print: what markers and whiskers mean where they occur, and the origin.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let mut marks = Vec::new();
        if self.has_whiskers() {
            marks.push("Whiskers: 95 % interval of the mean.");
        }
        if self.points().any(|point| point.value().is_some() && point.mark == Mark::Partial) {
            marks.push("Hollow: some requests failed; the figure is of those that completed.");
        }
        if self.points().any(|point| point.value().is_none()) {
            marks.push("Gap: no figure.");
        }
        if !marks.is_empty() {
            notes.push(marks.join(" "));
        }
        if !self.footer.is_empty() {
            notes.push(self.footer.clone());
        }
        notes
    }
}

/// Columns and rows of panels.
fn shape(panels: usize) -> (usize, usize) {
    let rows = panels.div_ceil(MAX_COLUMNS).max(1);
    (panels.div_ceil(rows).max(1), rows)
}

/// What stands above the panels.
struct Head {
    /// Lines of (series, x) in the key.
    key: Vec<Vec<(usize, f64)>>,
    /// Baseline of the first line of the key.
    key_top: f64,
    /// Where it ends.
    height: f64,
    /// Room for texts.
    room: f64,
}

impl Head {
    fn of(figure: &Figure, total_width: f64) -> Self {
        let room = total_width - 2.0 * MARGIN;
        let lines = 1 + usize::from(figure.notice.is_some());
        let texts = 64.0 + lines as f64 * LINE;
        let mut key: Vec<Vec<(usize, f64)>> = Vec::new();
        if figure.key == Key::Above {
            let mut x = f64::INFINITY;
            for (index, name) in figure.names().iter().enumerate() {
                let entry = 26.0 + width(name, style::KEY.size, style::KEY.weight) + 22.0;
                if x + entry > room + 22.0 {
                    key.push(Vec::new());
                    x = 0.0;
                }
                let line = key.last_mut().expect("invariant: the first entry opens a line");
                line.push((index, x));
                x += entry;
            }
        }
        let height = texts + if key.is_empty() { 0.0 } else { 10.0 + key.len() as f64 * LINE };
        Self { key, key_top: texts + 14.0, height, room }
    }

    fn draw(&self, svg: &mut Svg, figure: &Figure) {
        let mut baseline = 36.0;
        let mut line = |svg: &mut Svg, font: super::svg::Font, text: &str, step: f64| {
            let text = fitted(text, font.size, font.weight, self.room);
            svg.text((MARGIN, baseline), Anchor::Start, font, &text);
            baseline += step;
        };
        line(svg, style::TITLE, &figure.title, 22.0);
        line(svg, style::SUBTITLE, &figure.subtitle, LINE);
        if let Some(notice) = &figure.notice {
            line(svg, style::NOTICE, notice, LINE);
        }
        line(svg, style::SUBTITLE, &figure.definition, LINE);
        let names = figure.names();
        for (row, entries) in self.key.iter().enumerate() {
            let y = self.key_top + row as f64 * LINE;
            for &(index, x) in entries {
                let look = Style::of(figure.palette, index, names.len());
                let from = MARGIN + x;
                svg.line((from, y - 4.5), (from + 20.0, y - 4.5), look.colour, &look.stroke());
                look.marker(svg, (from + 10.0, y - 4.5), Mark::Whole);
                let font = style::KEY;
                let text = fitted(names[index], font.size, font.weight, self.room - 26.0);
                svg.text((from + 26.0, y), Anchor::Start, font, &text);
            }
        }
    }
}
