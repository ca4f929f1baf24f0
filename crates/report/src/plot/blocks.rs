//! The plot of text blocks: output tokens/s over the size of a block, a line for each length that
//! was asked for. Never draws.

use std::collections::BTreeSet;

use inferometer_analysis::summary::Summary;

use super::axis::Axis;
use super::figure::{Figure, Key, Mark, Panel, Point, Series};
use super::grid::{self, Named};
use super::style::Palette;
use super::theme::Theme;
use crate::number::count;
use crate::published;

/// The plot of a run over text blocks; nothing of another.
pub(super) fn figure(summary: &Summary, theme: Theme) -> Option<Named> {
    let passes = published::passes(summary);
    let wanted: BTreeSet<u32> = passes.iter().map(|(_, _, figures)| figures.wanted_chars).collect();
    let series = |wanted_chars: u32| {
        let of = passes.iter().filter(|(_, _, figures)| figures.wanted_chars == wanted_chars);
        let mut points: Vec<Point> = of
            .map(|(_, pass, figures)| Point {
                x: f64::from(figures.block_chars.max(1)),
                y: pass.output_tokens_per_s,
                interval: None,
                mark: if pass.outcomes.failed() > 0 { Mark::Partial } else { Mark::Whole },
            })
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Series { name: count(u64::from(wanted_chars)), points }
    };
    if passes.is_empty() {
        return None;
    }
    let summaries = std::slice::from_ref(summary);
    let figure = Figure {
        title: "Output tokens over input, in text blocks".to_owned(),
        subtitle: grid::common_subtitle(summaries),
        definition: "Output tokens of the completed requests per second, closed loop. \
                     Higher is better."
            .to_owned(),
        notice: grid::notice(summaries),
        x: Axis::new("Size of a block", "characters"),
        y: Axis::new("Throughput", "output tokens/s"),
        panels: vec![Panel {
            title: String::new(),
            series: wanted.into_iter().map(series).collect(),
        }],
        palette: Palette::Ordered,
        key: Key::Direct("Asked for (characters)".to_owned()),
        footer: grid::footer(summaries),
    };
    Some(grid::named(
        "blocks-token-out",
        "Output tokens over input, in text blocks",
        &figure,
        theme,
    ))
}
