//! The charts of a grid of lengths: how input and output length change throughput and latency, as in the
//! published records.
//!
//! With one target, a chart has one line per input length, over the output length. With several targets, it
//! has one panel per input length and one line per target. Readers compare targets within a panel. They
//! compare lengths between panels, because all panels have the same axes. If one of the two lengths does not
//! vary, the horizontal axis is the other length, and there is one line per target.

use inferometer_model::metrics::{latency_per_output_token, latency_per_token};
use std::collections::BTreeSet;

use inferometer_analysis::{Cell, PassSummary, Summary, cell::CellSpread};
use inferometer_model::stats::{Distribution, Spread};

use super::positions::{FigureLine, OverPositions, Point};
use crate::chart::{Axis, Chart, Legend};
use crate::{Traces, answers, count, label};

/// A chart of one of the four figures of the published table.
pub(super) struct Metric {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    quantity: &'static str,
    pub(super) unit: &'static str,
    pub(super) definition: &'static str,
    pub(super) value: fn(&Cell) -> Option<f64>,
    /// The distribution that has the figure as its mean; absent for throughputs.
    spread: fn(&PassSummary) -> Option<&Distribution>,
    /// The variation of the figure over the repeats of a cell.
    over_repeats: fn(&CellSpread) -> Option<Spread>,
    source: Source,
}

/// The pass from which a figure of the published table comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The pass that loads the server. If there is none, the one-by-one pass.
    Loading,
    /// The one-by-one pass. If there is none, the pass that loads the server.
    OneByOne,
}

/// The figures of the published table, in the order of its columns.
const METRICS: [Metric; 4] = [
    Metric {
        name: "throughput-req",
        title: "Throughput in requests",
        quantity: "Throughput",
        unit: "requests/s",
        definition: "Completed requests per second under load. Higher is better.",
        value: |cell| cell.requests_per_s,
        spread: |_| None,
        over_repeats: |spread| spread.requests_per_s,
        source: Source::Loading,
    },
    Metric {
        name: "throughput-token-out",
        title: "Throughput in output tokens",
        quantity: "Throughput",
        unit: "output tokens/s",
        definition: "Output tokens of the completed requests per second under load. \
                     Higher is better.",
        value: |cell| cell.output_tokens_per_s,
        spread: |_| None,
        over_repeats: |spread| spread.output_tokens_per_s,
        source: Source::Loading,
    },
    Metric {
        name: "pertoken",
        title: "Average latency per token",
        quantity: "Latency per token",
        unit: "ms",
        definition: "Mean over requests of latency / (input + output tokens), from the one_by_one \
            pass if there is one. Lower is better.",
        value: |cell| cell.latency_per_token_ms,
        spread: |pass| pass.latencies.get(&latency_per_token::DEFINITION),
        over_repeats: |spread| spread.latency_per_token_ms,
        source: Source::OneByOne,
    },
    Metric {
        name: "per-out-token",
        title: "Average latency per output token",
        quantity: "Latency per output token",
        unit: "ms",
        definition: "Mean over requests of latency / output tokens, from the one_by_one pass if \
            there is one. Lower is better.",
        value: |cell| cell.latency_per_output_token_ms,
        spread: |pass| pass.latencies.get(&latency_per_output_token::DEFINITION),
        over_repeats: |spread| spread.latency_per_output_token_ms,
        source: Source::OneByOne,
    },
];

/// The figures that are also drawn as a map over both lengths: output tokens per second, and latency per
/// output token.
pub(super) fn mapped() -> impl Iterator<Item = &'static Metric> {
    [&METRICS[1], &METRICS[3]].into_iter()
}

/// The charts of one run. Empty for runs over text blocks (they have their own charts), for runs with a
/// single cell, and for searches and sweeps.
pub(super) fn charts(summary: &Summary, _: &Traces) -> Vec<Chart> {
    let is_over_blocks = !crate::published::passes(summary).is_empty();
    // A single trial of a search or a sweep is not a result.
    if is_over_blocks || summary.cells.len() < 2 || answers::has_answers(summary) {
        return Vec::new();
    }
    of_several(std::slice::from_ref(summary))
}

/// The charts of one run, or of several runs together.
pub(super) fn of_several(summaries: &[Summary]) -> Vec<Chart> {
    METRICS.iter().map(|metric| chart(metric, summaries)).collect()
}

/// One of the two lengths of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    Input,
    Output,
}

impl Length {
    fn of(self, cell: &Cell) -> u32 {
        match self {
            Self::Input => cell.input_length,
            Self::Output => cell.output_length,
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Input => "Input length",
            Self::Output => "Output length",
        }
    }

    /// The values of this length in the cells of these runs, in ascending order.
    pub(super) fn values(self, summaries: &[Summary]) -> Vec<u32> {
        let cells = summaries.iter().flat_map(|summary| &summary.cells);
        cells.map(|cell| self.of(cell)).collect::<BTreeSet<_>>().into_iter().collect()
    }
}

fn chart(metric: &Metric, summaries: &[Summary]) -> Chart {
    let inputs = Length::Input.values(summaries);
    let outputs = Length::Output.values(summaries);
    let axis = if outputs.len() <= 1 && inputs.len() > 1 { Length::Input } else { Length::Output };
    let (across, fixed) = match axis {
        Length::Input => (outputs, Length::Output),
        Length::Output => (inputs, Length::Input),
    };
    let mut chart = Chart::new(metric.name, metric.title, Axis::new(axis.title(), "tokens"));
    let mut note = metric.definition.to_owned();
    let targets = label::distinct(summaries);
    let lines = |length: u32| {
        let each = summaries.iter().zip(&targets);
        let line = |(summary, name): (&Summary, &String)| FigureLine {
            name: name.clone(),
            points: points(metric, summary, axis, fixed, length),
        };
        each.map(line).collect::<Vec<FigureLine>>()
    };
    let mut is_ordered = false;
    let panels = match (across.as_slice(), summaries) {
        (&[length], _) => {
            note += &format!(" {} {length} tokens.", fixed.title());
            chart.legend = if summaries.len() > 1 { Legend::Above } else { Legend::Absent };
            vec![(String::new(), lines(length))]
        }
        (lengths, [summary]) => {
            is_ordered = true;
            chart.legend = Legend::LineEnds(format!("{} (tokens)", fixed.title()));
            let line = |&length: &u32| FigureLine {
                name: count(u64::from(length)),
                points: points(metric, summary, axis, fixed, length),
            };
            vec![(String::new(), lengths.iter().map(line).collect())]
        }
        (lengths, _) => {
            let title =
                |length: u32| format!("{} {} tokens", fixed.title(), count(u64::from(length)));
            lengths.iter().map(|&length| (title(length), lines(length))).collect()
        }
    };
    chart.notes = vec![note];
    let y = Axis::new(metric.quantity, metric.unit);
    let intervals = "Whiskers: 95 % interval of the mean.";
    OverPositions { chart, y, panels, is_ordered, intervals }.into_chart()
}

/// The figures of one target over the length `axis`, from the cells in which the length `fixed` has the
/// value `length`.
fn points(
    metric: &Metric,
    summary: &Summary,
    axis: Length,
    fixed: Length,
    length: u32,
) -> Vec<Point> {
    let cells = summary.cells.iter().filter(|cell| fixed.of(cell) == length);
    let mut points: Vec<Point> = cells
        .map(|cell| {
            let pass = source(metric.source, cell);
            let failed = pass.is_some_and(|pass| pass.outcomes.failed() > 0);
            Point {
                x: f64::from(axis.of(cell).max(1)),
                y: (metric.value)(cell),
                // With repeats, this is the interval of the mean over the repeats.
                interval: match &cell.over_repeats {
                    Some(spread) => (metric.over_repeats)(spread).and_then(|spread| spread.ci),
                    None => pass.and_then(metric.spread).and_then(|values| values.mean_ci),
                },
                is_partial: failed,
            }
        })
        .collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    points
}

/// The pass of the cell from which a figure comes; absent if the cell has no such pass.
fn source(source: Source, cell: &Cell) -> Option<&PassSummary> {
    match source {
        Source::Loading => cell.throughput_pass().or_else(|| cell.latency_pass()),
        Source::OneByOne => cell.latency_pass(),
    }
}
