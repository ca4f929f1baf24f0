//! Writes SVG text. Every coordinate is finite, and every text is escaped.

use std::fmt::Write as _;

use super::font::{Font, TICK};
use super::theme::{Paint, Theme};
use crate::escape::xml as escape;

/// The horizontal alignment of a text at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// An SVG document in progress.
pub(crate) struct Svg {
    width: f64,
    height: f64,
    body: String,
    theme: Theme,
}

/// The names of fonts: first the bundled fonts, then the default fonts of a browser.
const FONT_FAMILY: &str = "Noto Sans, Droid Sans Fallback, system-ui, sans-serif";

impl Svg {
    /// A document that contains only its background.
    pub(crate) fn new(width: f64, height: f64, theme: Theme) -> Self {
        let mut svg = Self { width, height, body: String::new(), theme };
        svg.rect(0.0, 0.0, width, height, Paint::Paper, "");
        svg
    }

    /// The colour as CSS, for the theme of the document.
    pub(crate) fn css(&self, paint: Paint) -> String {
        self.theme.css(paint)
    }

    pub(crate) fn theme(&self) -> Theme {
        self.theme
    }

    /// Draws a filled rectangle; `more` are further attributes.
    pub(crate) fn rect(&mut self, x: f64, y: f64, w: f64, h: f64, fill: Paint, more: &str) {
        self.rect_of([x, y, w, h], &self.css(fill), more);
    }

    /// Draws a rectangle in a colour with this opacity, between 0 and 1, on the background. The background shows
    /// through in a page, whose colours are not known here; in a file, the colours are mixed.
    pub(crate) fn tint(&mut self, area: [f64; 4], fill: Paint, opacity: f64) {
        match self.theme.mixed(fill, opacity) {
            Some(css) => self.rect_of(area, &css, ""),
            None => {
                let more = format!(r#" fill-opacity="{opacity}""#);
                self.rect_of(area, &self.css(fill), &more);
            }
        }
    }

    fn rect_of(&mut self, area: [f64; 4], css: &str, more: &str) {
        let [x, y, w, h] = area.map(coordinate);
        let crisp = self.crisp();
        let _ = writeln!(
            self.body,
            r#"<rect x="{x}" y="{y}" width="{w}" height="{h}" fill="{css}"{crisp}{more}/>"#
        );
    }

    /// The attribute of shapes with horizontal and vertical edges: their edges are not blurred, which also saves
    /// most of the time of drawing them. In a page, a browser draws them.
    pub(crate) fn crisp(&self) -> &'static str {
        if self.theme == Theme::Page { "" } else { r#" shape-rendering="crispEdges""# }
    }

    /// Draws a straight line; `more` are further attributes.
    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: Paint, more: &str) {
        let stroke = self.css(stroke);
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(coordinate);
        let _ = writeln!(
            self.body,
            r#"<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{stroke}"{more}/>"#
        );
    }

    /// Draws a path from SVG path commands; `more` are its colours and further attributes.
    pub(crate) fn path(&mut self, commands: &str, more: &str) {
        let _ = writeln!(self.body, r#"<path d="{commands}"{more}/>"#);
    }

    /// Draws a filled polygon; `more` are further attributes.
    pub(crate) fn polygon(&mut self, points: &[(f64, f64)], fill: Paint, more: &str) {
        let fill = self.css(fill);
        let points: Vec<String> =
            points.iter().map(|&(x, y)| format!("{},{}", coordinate(x), coordinate(y))).collect();
        let _ =
            writeln!(self.body, r#"<polygon points="{}" fill="{fill}"{more}/>"#, points.join(" "));
    }

    /// Draws a filled circle; `more` are further attributes.
    pub(crate) fn circle(&mut self, at: (f64, f64), radius: f64, fill: Paint, more: &str) {
        let fill = self.css(fill);
        let [x, y, r] = [at.0, at.1, radius].map(coordinate);
        let _ = writeln!(self.body, r#"<circle cx="{x}" cy="{y}" r="{r}" fill="{fill}"{more}/>"#);
    }

    /// Writes one line of text; `at` is on its baseline.
    pub(crate) fn text(&mut self, at: (f64, f64), anchor: Anchor, font: Font, text: &str) {
        self.text_with(at, anchor, font, text, "");
    }

    fn text_with(&mut self, at: (f64, f64), anchor: Anchor, font: Font, text: &str, rim: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => r#" text-anchor="middle""#,
            Anchor::End => r#" text-anchor="end""#,
        };
        let [x, y, size] = [at.0, at.1, font.size].map(coordinate);
        // In a page, the style sheet contains the most common size, weight and colour, so they are left
        // out here.
        let usual = self.theme == Theme::Page;
        let mut more = String::new();
        if !(usual && font.size == TICK.size) {
            more += &format!(r#" font-size="{size}""#);
        }
        if !(usual && font.weight == TICK.weight) {
            more += &format!(r#" font-weight="{}""#, font.weight);
        }
        if !(usual && font.colour == TICK.colour) {
            more += &format!(r#" fill="{}""#, self.css(font.colour));
        }
        let text = escape(text);
        let _ = writeln!(self.body, r#"<text x="{x}" y="{y}"{anchor}{more}{rim}>{text}</text>"#);
    }

    /// Writes one line of text with an outline in the colour of the background, so that it can be read on
    /// top of lines.
    pub(crate) fn text_on_lines(&mut self, at: (f64, f64), anchor: Anchor, font: Font, text: &str) {
        let rim = format!(
            r#" stroke="{}" stroke-width="3" stroke-linejoin="round" paint-order="stroke""#,
            self.css(Paint::Paper)
        );
        self.text_with(at, anchor, font, text, &rim);
    }

    /// Adds the drawing of `draw`, such as a marker or a label, with its origin at `at`. The drawing
    /// keeps its size when a reader zooms.
    pub(crate) fn anchored(&mut self, at: (f64, f64), draw: impl FnOnce(&mut Self)) {
        let (x, y) = (coordinate(at.0), coordinate(at.1));
        let _ = writeln!(self.body, r#"<g class="at" transform="translate({x},{y})">"#);
        draw(self);
        self.body.push_str("</g>\n");
    }

    /// Adds the drawing of `draw` as a group with these attributes.
    pub(crate) fn group(&mut self, attributes: &str, draw: impl FnOnce(&mut Self)) {
        let _ = writeln!(self.body, "<g {attributes}>");
        draw(self);
        self.body.push_str("</g>\n");
    }

    /// The elements drawn so far, without the document around them.
    pub(crate) fn into_body(self) -> String {
        self.body
    }

    /// An empty document without a background.
    pub(crate) fn clear(width: f64, height: f64, theme: Theme) -> Self {
        Self { width, height, body: String::new(), theme }
    }

    /// The whole document. Screen readers read the title and the description.
    pub(crate) fn finish(self, title: &str, description: &str) -> String {
        let [w, h] = [self.width, self.height].map(coordinate);
        format!(
            concat!(
                r#"<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" "#,
                r#"viewBox="0 0 {w} {h}" role="img" font-family="{family}">"#,
                "\n<title>{title}</title>\n<desc>{description}</desc>\n{body}</svg>\n"
            ),
            w = w,
            h = h,
            family = FONT_FAMILY,
            title = escape(title),
            description = escape(description),
            body = self.body
        )
    }
}

/// A coordinate with at most one decimal.
pub(crate) fn coordinate(value: f64) -> String {
    assert!(value.is_finite(), "invariant: undefined figures never become points");
    let tenths = (value * 10.0).round() as i64;
    let (whole, rest) = (tenths.unsigned_abs() / 10, tenths.unsigned_abs() % 10);
    let sign = if tenths < 0 { "-" } else { "" };
    match rest {
        0 => format!("{sign}{whole}"),
        _ => format!("{sign}{whole}.{rest}"),
    }
}
