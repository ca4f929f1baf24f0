//! A chart as an SVG file, which also contains the title, the subject, the notice, the notes, the footnotes, the
//! origin and the legend.

use super::font::{Font, LEGEND, NOTE, NOTICE, SUBJECT, TITLE};
use super::layout::{Layout, MARGIN};
use super::look::{SAMPLE, sample};
use super::svg::{Anchor, Svg};
use super::{axes, ink, legend, line_ends, theme::Theme};
use crate::chart::{Chart, Legend, Series};

/// The vertical positions, in pixels, of the baselines of the title and of the line below it.
const FIRST_LINES: (f64, f64) = (36.0, 58.0);
/// The space below the footnotes, in pixels.
const BELOW: f64 = 12.0;
/// The distance between lines of text, in pixels.
const LINE: f64 = 19.0;
/// The space between the sample and the name of a legend entry, and between two entries, in pixels.
const LEGEND_GAPS: (f64, f64) = (6.0, 20.0);

/// The chart as an SVG document, which refers to no other file. Hidden series are left out.
pub fn file(chart: &Chart, theme: Theme) -> String {
    drawn(chart, theme, Svg::new)
}

/// As [`file()`], without the background.
pub(super) fn clear(chart: &Chart, theme: Theme) -> String {
    drawn(chart, theme, Svg::clear)
}

fn drawn(chart: &Chart, theme: Theme, begin: fn(f64, f64, Theme) -> Svg) -> String {
    let mut chart = chart.on_its_axes();
    chart.panels.iter_mut().for_each(|panel| panel.series.retain(|series| !series.hidden));
    let chart = &chart;
    // The width of the layout does not depend on the position at which it begins.
    let width = Layout::of(chart, 0.0, true).width;
    let room = width - 2.0 * MARGIN;
    let head = Head::of(chart, room);
    let layout = Layout::of(chart, head.height(), true);
    let notes = wrapped(chart.footnotes.iter().chain([&chart.origin]), room);
    let mut svg = begin(width, layout.height + BELOW + notes.len() as f64 * LINE, theme);
    head.draw(&mut svg, room);
    let panels = || chart.panels.iter().zip(&layout.panels);
    panels().for_each(|(panel, placed)| ink::draw_bands(&mut svg, &layout, placed, panel));
    svg.group(r#"class="axes""#, |svg| axes::draw_grid(svg, chart, &layout));
    for (panel, placed) in panels() {
        ink::draw_panel(&mut svg, &layout, placed, panel);
        if let Legend::LineEnds(heading) = &chart.legend {
            line_ends::draw(&mut svg, &layout, placed, panel, heading);
        }
    }
    axes::draw_titles(&mut svg, chart, &layout);
    for (line, (font, text)) in notes.iter().enumerate() {
        let at = (MARGIN, layout.height + LINE + line as f64 * LINE);
        svg.text(at, Anchor::Start, *font, text);
    }
    svg.finish(&chart.title, &chart.notes.join(" "))
}

/// Paragraphs of notes or footnotes, wrapped to lines that fit.
fn wrapped<'a>(paragraphs: impl IntoIterator<Item = &'a String>, room: f64) -> Vec<(Font, String)> {
    let lines = paragraphs.into_iter().flat_map(|text| NOTE.wrapped(text, room));
    lines.map(|line| (NOTE, line)).collect()
}

/// The baseline of the line that is `lines` lines below the title.
fn below_title(lines: usize) -> f64 {
    FIRST_LINES.1 + (lines as f64 - 1.0) * LINE
}

/// The part of the picture above the panels: lines of text, and the legend.
struct Head<'a> {
    lines: Vec<(Font, String)>,
    /// The entries of the legend, each with its horizontal position in pixels and its row.
    legend: Vec<(&'a Series, f64, usize)>,
}

impl<'a> Head<'a> {
    fn of(chart: &'a Chart, room: f64) -> Self {
        let mut lines = vec![(TITLE, chart.title.clone())];
        if !chart.subject.is_empty() {
            lines.push((SUBJECT, chart.subject.clone()));
        }
        lines.extend(chart.notice.iter().map(|notice| (NOTICE, notice.clone())));
        lines.extend(wrapped(&chart.notes, room));
        let entries = match chart.legend {
            Legend::Above => legend::entries(chart),
            Legend::LineEnds(_) | Legend::Absent => Vec::new(),
        };
        let (mut x, mut row) = (0.0, 0);
        let mut legend = Vec::new();
        for series in entries {
            let taken = SAMPLE.0 + LEGEND_GAPS.0 + LEGEND.width(&series.name) + LEGEND_GAPS.1;
            if x > 0.0 && x + taken > room {
                (x, row) = (0.0, row + 1);
            }
            legend.push((series, x, row));
            x += taken;
        }
        Self { lines, legend }
    }

    fn height(&self) -> f64 {
        let rows = self.legend.last().map_or(0, |(.., row)| row + 1);
        below_title(self.lines.len() + rows)
    }

    fn draw(&self, svg: &mut Svg, room: f64) {
        for (row, (font, text)) in self.lines.iter().enumerate() {
            let baseline = if row == 0 { FIRST_LINES.0 } else { below_title(row) };
            let at = (MARGIN, baseline);
            svg.text(at, Anchor::Start, *font, &font.fitted(text, room));
        }
        let top = below_title(self.lines.len()) + 8.0;
        for (series, x, row) in &self.legend {
            let (x, y) = (MARGIN + x, top + *row as f64 * LINE);
            sample(svg, (x, y - 4.5), series);
            let beside = SAMPLE.0 + LEGEND_GAPS.0;
            let name = LEGEND.fitted(&series.name, room - beside);
            svg.text((x + beside, y), Anchor::Start, LEGEND, &name);
        }
    }
}
