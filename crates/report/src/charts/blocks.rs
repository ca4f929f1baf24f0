//! The chart of a run over text blocks: output tokens/s over the block size, with a line for each
//! requested output length.

use std::collections::BTreeSet;

use inferometer_analysis::Summary;

use super::positions::{FigureLine, OverPositions, Point};
use crate::chart::{Axis, Chart, Legend};
use crate::{Traces, count, published};

/// The chart of a run over text blocks; empty for other runs.
pub(super) fn charts(summary: &Summary, _: &Traces) -> Vec<Chart> {
    let passes = published::passes(summary);
    if passes.is_empty() {
        return Vec::new();
    }
    let wanted: BTreeSet<u32> = passes.iter().map(|(_, _, figures)| figures.wanted_chars).collect();
    let line = |wanted_chars: u32| {
        let of = passes.iter().filter(|(_, _, figures)| figures.wanted_chars == wanted_chars);
        let mut points: Vec<Point> = of
            .map(|(_, pass, figures)| Point {
                x: f64::from(figures.block_chars.max(1)),
                y: pass.output_tokens_per_s,
                interval: None,
                is_partial: pass.outcomes.failed() > 0,
            })
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        FigureLine { name: count(u64::from(wanted_chars)), points }
    };
    let mut chart = Chart::new(
        "blocks-token-out",
        "Output tokens over input, in text blocks",
        Axis::new("Size of a block", "characters"),
    );
    let definition = "Output tokens of the completed requests per second. Higher is better.";
    chart.notes = vec![definition.to_owned()];
    chart.legend = Legend::LineEnds("Requested (characters)".to_owned());
    let chart = OverPositions {
        chart,
        y: Axis::new("Throughput", "output tokens/s"),
        panels: vec![(String::new(), wanted.into_iter().map(line).collect())],
        is_ordered: true,
        intervals: "",
    };
    vec![chart.into_chart()]
}
