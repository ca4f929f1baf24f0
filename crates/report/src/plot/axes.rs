//! Draws everything around the series of a chart: grid, ticks, names of bands, axes and their titles.
//! When a reader of a page zooms, the script draws the grid, the ticks and the names again; axes and
//! titles do not change.

use std::fmt::Write as _;

use super::font::{AXIS_TITLE, Font, PANEL_TITLE, SUBJECT, TICK};
use super::layout::{Layout, PanelLayout};
use super::svg::{Anchor, Svg, coordinate};
use super::theme::Paint;
use crate::chart::{Arrangement, Axis, Chart, Range, Tick};

/// The font of the names of bands.
const NAME: Font = Font { size: 11.0, ..TICK };
/// How far the baseline of the title of a panel, and of the names of its bands, is above the top of the panel, in
/// pixels. At this distance, a marker at the top of the panel does not touch the title.
const ABOVE: f64 = 11.0;
const ABOVE_NAMES: f64 = 28.0;

/// Draws the grid, the ticks and the names of bands.
pub(super) fn draw_grid(svg: &mut Svg, chart: &Chart, layout: &Layout) {
    for placed in &layout.panels {
        let mut grid = String::new();
        for tick in &placed.y_ticks {
            let y = placed.at_y(tick.at);
            let (from, at) = (coordinate(placed.left), coordinate(y));
            let _ = write!(grid, "M{from},{at}h{}", coordinate(placed.width));
            if placed.labels_y {
                svg.text((placed.left - 8.0, y + 4.0), Anchor::End, TICK, &tick.text);
            }
        }
        for tick in layout.ticks.iter().filter(|_| layout.has_x_grid) {
            let (x, top) = (coordinate(layout.at_x(placed, tick.at)), coordinate(placed.top));
            let _ = write!(grid, "M{x},{top}v{}", coordinate(placed.height));
        }
        svg.path(&grid, &format!(r#" stroke="{}"{}"#, svg.css(Paint::Grid), svg.crisp()));
        if placed.labels_x {
            draw_x_ticks(svg, layout, placed);
        }
    }
    draw_band_names(svg, chart, layout);
}

/// Draws the labels of the horizontal ticks. The ends matter most, so they are labelled first. A label that
/// would touch another label is left out.
fn draw_x_ticks(svg: &mut Svg, layout: &Layout, placed: &PanelLayout) {
    let mut taken: Vec<(f64, f64)> = Vec::new();
    let last = layout.ticks.len().saturating_sub(1);
    let order = [0, last].into_iter().chain(1..last).take(layout.ticks.len());
    for Tick { at, text } in order.map(|index| &layout.ticks[index]) {
        let x = layout.at_x(placed, *at);
        let half = TICK.width(text) / 2.0 + 4.0;
        if taken.iter().all(|&(from, to)| x + half <= from || x - half >= to) {
            svg.text((x, placed.bottom() + 19.0), Anchor::Middle, TICK, text);
            taken.push((x - half, x + half));
        }
    }
}

/// Draws the names of bands above their panel: the whole name if there is room, otherwise the part before
/// the first colon (the number of a pass), otherwise nothing. A shorter part would have no meaning.
fn draw_band_names(svg: &mut Svg, chart: &Chart, layout: &Layout) {
    for (panel, placed) in chart.panels.iter().zip(&layout.panels) {
        for band in panel.bands.iter().filter(|band| !band.name.is_empty()) {
            let (from, to) = (layout.at_x(placed, band.from), layout.at_x(placed, band.to));
            let short = band.name.split(':').next().unwrap_or_default();
            let fits = |name: &&str| NAME.width(name) <= to - from - 4.0;
            if let Some(name) = [band.name.as_str(), short].into_iter().find(fits) {
                svg.text((from + 2.0, placed.top - ABOVE_NAMES), Anchor::Start, NAME, name);
            }
        }
    }
}

/// Draws the axes and the titles, which do not change when a reader zooms.
pub(super) fn draw_titles(svg: &mut Svg, chart: &Chart, layout: &Layout) {
    for (index, (panel, placed)) in chart.panels.iter().zip(&layout.panels).enumerate() {
        let bottom = placed.bottom();
        svg.line((placed.left, bottom), (placed.right(), bottom), Paint::Axis, svg.crisp());
        let label = label(&panel.y, placed.y);
        let above = (placed.left, placed.top - ABOVE);
        match (chart.arrangement, panel.title.as_str()) {
            (Arrangement::Grid, title) => {
                svg.text(above, Anchor::Start, PANEL_TITLE, title);
                if index == 0 {
                    let at = (placed.left, placed.top - ABOVE - 26.0);
                    svg.text(at, Anchor::Start, AXIS_TITLE, &label);
                }
            }
            (Arrangement::Stacked, "") => svg.text(above, Anchor::Start, AXIS_TITLE, &label),
            (Arrangement::Stacked, title) => {
                svg.text(above, Anchor::Start, AXIS_TITLE, &format!("{title}: {label}"));
            }
        }
        if panel.series.iter().all(|series| series.y.iter().all(|y| !y.is_finite())) {
            let middle = (placed.left + placed.width / 2.0, placed.top + placed.height / 2.0);
            svg.text(middle, Anchor::Middle, SUBJECT, "no figures");
        }
    }
    let (left, right) = layout.sides();
    let at = ((left + right) / 2.0, layout.bottom() + 39.0);
    svg.text(at, Anchor::Middle, AXIS_TITLE, &label(&chart.x, layout.x));
}

/// The title of an axis, with a remark on its scale.
fn label(axis: &Axis, range: Range) -> String {
    match axis.remark(range) {
        Some(remark) => format!("{}, {remark}", axis.label()),
        None => axis.label(),
    }
}
