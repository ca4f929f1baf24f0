//! What stands around a chart: in a page its title, notes, key and data; in a file of its own the
//! same as part of the picture.

use std::fmt::Write as _;

use super::draw::{self, Layout, WIDTH};
use super::{Chart, Series, Shape, data};
use crate::plot::svg::{Anchor, Font, Svg, coordinate};
use crate::plot::text::{fitted, width};
use crate::plot::{Mark, Theme, escape, style};

/// Space around the texts of a file.
const MARGIN: f64 = 20.0;
/// Distance of lines of text.
const LINE: f64 = 19.0;

/// The names of series with their looks, each once, in the order in which they are drawn.
fn key(chart: &Chart) -> Vec<&Series> {
    let mut key: Vec<&Series> = Vec::new();
    for series in chart.panels.iter().flat_map(|panel| &panel.series) {
        if !key.iter().any(|known| known.name == series.name) {
            key.push(series);
        }
    }
    key
}

/// The chart as a part of a page, from [`crate::page`].
#[must_use]
pub fn figure(chart: &Chart) -> String {
    let chart = &chart.on_its_axes();
    let layout = Layout::of(chart, 0.0);
    let mut out = format!(
        "<figure class=\"chart\" id=\"{id}\">\n<div class=\"head\"><figcaption>{title}</figcaption></div>\n",
        id = escape(&chart.id),
        title = escape(&chart.title)
    );
    if let Some(notice) = &chart.notice {
        let _ = writeln!(out, "<p class=\"said notice\">{}</p>", escape(notice));
    }
    for note in &chart.notes {
        let _ = writeln!(out, "<p class=\"said\">{}</p>", escape(note));
    }
    let key = key(chart);
    if !key.is_empty() {
        out.push_str("<ul class=\"key\">");
        for series in key {
            let mut swatch = Svg::clear(26.0, 12.0, Theme::Page);
            sample(&mut swatch, (0.0, 6.0), series);
            let name = escape(&series.name);
            let _ = write!(
                out,
                "<li data-name=\"{name}\"><svg width=\"26\" height=\"12\" aria-hidden=\"true\">{}\
                 </svg>{name}</li>",
                swatch.into_body().trim_end()
            );
        }
        out.push_str("</ul>\n");
    }
    let mut ink = Svg::clear(layout.width, layout.height, Theme::Page);
    draw::draw(&mut ink, chart, &layout);
    let mut around = Svg::clear(layout.width, layout.height, Theme::Page);
    draw::around(&mut around, chart, &layout);
    let _ = writeln!(
        out,
        "<div class=\"plot\"><svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\
         <g class=\"ink\">\n{}</g>\n{}</svg></div>\n<script type=\"application/json\">{}</script>\n\
         </figure>",
        coordinate(layout.width),
        coordinate(layout.height),
        escape(&chart.title),
        ink.into_body(),
        around.into_body(),
        data::json(chart, &layout)
    );
    out
}

/// The look of a series in the key.
fn sample(svg: &mut Svg, from: (f64, f64), series: &Series) {
    let (colour, shape) = (draw::paint(series), series.shape);
    let (x, y) = from;
    match shape {
        Shape::Bars => svg.rect(x + 4.0, y - 5.0, 16.0, 10.0, colour, r#" fill-opacity="0.75""#),
        Shape::Dots => svg.circle((x + 12.0, y), 3.0, colour, ""),
        Shape::Spans => svg.line((x, y), (x + 24.0, y), colour, r#" stroke-width="4""#),
        Shape::Marks => {
            let more = r#" stroke-width="1.5" stroke-dasharray="3 3""#;
            svg.line((x + 12.0, y - 6.0), (x + 12.0, y + 6.0), colour, more);
        }
        Shape::Line | Shape::Marked | Shape::Step => {
            let dash = draw::dash(series.look).filter(|_| shape != Shape::Marked);
            let dash = dash.map_or(String::new(), |dash| format!(r#" stroke-dasharray="{dash}""#));
            svg.line((x, y), (x + 24.0, y), colour, &format!(r#" stroke-width="2"{dash}"#));
            if shape == Shape::Marked {
                draw::marker(svg, series, (x + 12.0, y), Mark::Whole);
            }
        }
    }
}

/// The chart as an SVG file: title, of what it is, notes and key stand in the picture.
#[must_use]
pub fn file(chart: &Chart, subtitle: &str, theme: Theme) -> String {
    let chart = &chart.on_its_axes();
    let room = WIDTH - 2.0 * MARGIN;
    let mut lines: Vec<(Font, String)> =
        vec![(style::TITLE, chart.title.clone()), (style::SUBTITLE, subtitle.to_owned())];
    lines.extend(chart.notice.iter().map(|notice| (style::NOTICE, notice.clone())));
    for note in &chart.notes {
        let wrapped = wrapped(note, room);
        lines.extend(wrapped.into_iter().map(|line| (style::KEY_TITLE, line)));
    }
    let key = placed_key(chart, room);
    let rows = key.last().map_or(0.0, |(.., row)| row + 1.0);
    let top = 30.0 + (lines.len() as f64) * LINE + 8.0;
    let layout = Layout::of(chart, top + rows * LINE + 6.0);
    let mut svg = Svg::new(layout.width, layout.height, theme);
    for (row, (font, text)) in lines.iter().enumerate() {
        let text = fitted(text, font.size, font.weight, room);
        svg.text((MARGIN, 30.0 + row as f64 * LINE), Anchor::Start, *font, &text);
    }
    for (series, x, row) in key {
        let y = top + row * LINE;
        sample(&mut svg, (MARGIN + x, y - 4.5), series);
        let name = fitted(&series.name, style::KEY.size, style::KEY.weight, room - 32.0);
        svg.text((MARGIN + x + 32.0, y), Anchor::Start, style::KEY, &name);
    }
    draw::draw(&mut svg, chart, &layout);
    draw::around(&mut svg, chart, &layout);
    svg.finish(&chart.title, &chart.notes.join(" "))
}

/// Where the names of the key stand: how far to the right, and in which row.
fn placed_key(chart: &Chart, room: f64) -> Vec<(&Series, f64, f64)> {
    let (mut x, mut row) = (0.0, 0.0);
    let mut out = Vec::new();
    for series in key(chart) {
        let taken = 32.0 + width(&series.name, style::KEY.size, style::KEY.weight) + 20.0;
        if x > 0.0 && x + taken > room {
            x = 0.0;
            row += 1.0;
        }
        out.push((series, x, row));
        x += taken;
    }
    out
}

/// A text in lines of the small print that fit.
fn wrapped(text: &str, room: f64) -> Vec<String> {
    let font = style::KEY_TITLE;
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let longer = lines.last().map(|line| format!("{line} {word}"));
        match longer.filter(|line| width(line, font.size, font.weight) <= room) {
            Some(line) => *lines.last_mut().expect("invariant: it was made longer") = line,
            None => lines.push(word.to_owned()),
        }
    }
    lines
}
