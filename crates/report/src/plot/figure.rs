//! A chart as a part of an HTML page. The title, the notes and the legend are HTML, and the drawing is
//! SVG. The data is JSON for the script of the page.

use std::fmt::Write as _;

use super::look::{SAMPLE, sample};
use super::svg::{Svg, coordinate};
use super::{axes, data, ink, layout::Layout, legend, theme::Theme};
use crate::chart::{Chart, Legend, Series};
use crate::escape::xml;

/// The chart as a `<figure>` element for a page of [`crate::page`].
pub fn figure(chart: &Chart) -> String {
    let mut chart = chart.on_its_axes();
    if let Legend::LineEnds(heading) = &chart.legend {
        // A file has one heading above the names. A page has none, so each name begins with the heading.
        let named = chart.panels.iter_mut().flat_map(|panel| &mut panel.series);
        named.for_each(|series| series.name = format!("{heading} {}", series.name));
    }
    let chart = &chart;
    let layout = Layout::of(chart, 0.0, false);
    let (id, title) = (xml(&chart.id), xml(&chart.title));
    let mut out = format!(
        "<figure class=\"chart\" id=\"{id}\">\n<div class=\"head\">\
         <figcaption>{title}</figcaption></div>\n"
    );
    if let Some(notice) = &chart.notice {
        let _ = writeln!(out, "<p class=\"note notice\">{}</p>", xml(notice));
    }
    out += &legend(&legend::entries(chart));
    let mut svg = Svg::clear(layout.width, layout.height, Theme::Page);
    svg.group(r#"class="axes""#, |svg| axes::draw_grid(svg, chart, &layout));
    for (panel, placed) in chart.panels.iter().zip(&layout.panels) {
        // The script clips the outer group and moves the inner one.
        svg.group("", |svg| {
            svg.group(r#"class="ink""#, |svg| {
                ink::draw_bands(svg, &layout, placed, panel);
                ink::draw_panel(svg, &layout, placed, panel);
            });
        });
    }
    axes::draw_titles(&mut svg, chart, &layout);
    let _ = writeln!(
        out,
        "<div class=\"plot\"><svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{title}\">\n\
         {}</svg></div>\n{}<script type=\"application/json\">{}</script>\n</figure>",
        coordinate(layout.width),
        coordinate(layout.height),
        svg.into_body(),
        about(chart),
        data::json(chart, &layout)
    );
    out
}

/// The notes of a chart, collapsed at first.
fn about(chart: &Chart) -> String {
    let notes = chart.notes.iter().chain(&chart.footnotes);
    let notes: String =
        notes.map(|note| format!("<p class=\"note\">{}</p>\n", xml(note))).collect();
    match notes.as_str() {
        "" => notes,
        _ => format!(
            "<details class=\"about\">\n<summary>About this chart</summary>\n{notes}</details>\n"
        ),
    }
}

fn legend(entries: &[&Series]) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let items = entries.iter().map(|series| {
        let mut swatch = Svg::clear(SAMPLE.0, SAMPLE.1, Theme::Page);
        sample(&mut swatch, (0.0, SAMPLE.1 / 2.0), series);
        let (name, swatch) = (xml(&series.name), swatch.into_body());
        let off = if series.hidden { " data-off" } else { "" };
        format!("<li{off}><svg aria-hidden=\"true\">{}</svg>{name}</li>", swatch.replace('\n', ""))
    });
    format!("<ul class=\"key\">{}</ul>\n", items.collect::<String>())
}
