//! The plots of a grid: which figure goes where. Never draws.
//!
//! With one target a figure has a line per input length over the output length. With several it
//! has a panel per input length and a line per target, so that targets are compared within a
//! panel and lengths across panels that share their axes. Where one of the two lengths does not
//! vary, the other is the axis and targets are the lines.

use std::collections::BTreeSet;

use inferometer_analysis::cell::{Cell, CellSpread};
use inferometer_analysis::pass::PassSummary;
use inferometer_analysis::summary::Summary;
use inferometer_stats::{Distribution, Spread};

use super::axis::Axis;
use super::figure::{Figure, Key, Mark, Panel, Point, Series};
use super::style::Palette;
use super::theme::Theme;
use crate::chart::Chart;
use crate::label;
use crate::number::count;

/// A plot under the name that its files bear.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// The file's name without its extension: `throughput-req`.
    pub name: &'static str,
    /// What it shows, in a few words.
    pub title: &'static str,
    /// The plot.
    pub svg: String,
    /// The same for a page, where a reader can go into it; absent where there is one position
    /// only, and so nothing to go into.
    pub chart: Option<Chart>,
}

/// One of the four columns of the table as a plot.
struct Metric {
    name: &'static str,
    title: &'static str,
    quantity: &'static str,
    unit: &'static str,
    definition: &'static str,
    value: fn(&Cell) -> Option<f64>,
    /// The distribution whose mean the figure is; throughputs have none.
    spread: fn(&PassSummary) -> Option<&Distribution>,
    /// The same figure over repeats.
    over_repeats: fn(&CellSpread) -> Option<Spread>,
    source: Source,
}

/// Which pass a column of the table comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The pass that loads the server.
    Loading,
    /// The one by one pass, else the one that loads the server.
    OneByOne,
}

/// The columns of the table, in its order.
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
        definition: "Mean over requests of latency divided by input and output tokens, from the \
                     one by one pass where there is one. Lower is better.",
        value: |cell| cell.latency_per_token_ms,
        spread: |pass| pass.latency_per_token_ms.as_ref(),
        over_repeats: |spread| spread.latency_per_token_ms,
        source: Source::OneByOne,
    },
    Metric {
        name: "per-out-token",
        title: "Average latency per output token",
        quantity: "Latency per output token",
        unit: "ms",
        definition: "Mean over requests of latency divided by output tokens, from the one by one \
                     pass where there is one. Lower is better.",
        value: |cell| cell.latency_per_output_token_ms,
        spread: |pass| pass.latency_per_output_token_ms.as_ref(),
        over_repeats: |spread| spread.latency_per_output_token_ms,
        source: Source::OneByOne,
    },
];

/// The plots of one target or of several together: the four of the published records; of a run
/// over text blocks that record's own.
#[must_use]
pub fn figures(summaries: &[Summary], theme: Theme) -> Vec<Named> {
    if let [summary] = summaries
        && let Some(blocks) = super::blocks::figure(summary, theme)
    {
        return vec![blocks];
    }
    let grid = METRICS
        .iter()
        .map(|metric| named(metric.name, metric.title, &figure(metric, summaries), theme));
    let search = match summaries {
        [summary] => super::search::figure(summary, theme),
        _ => None,
    };
    // What a search was made for comes before how its trials went.
    search.into_iter().chain(grid).collect()
}

/// A figure under the name of its files.
pub(super) fn named(
    name: &'static str,
    title: &'static str,
    figure: &Figure,
    theme: Theme,
) -> Named {
    Named { name, title, svg: figure.to_svg(theme), chart: figure.to_chart(name) }
}

/// The two lengths of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
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

    fn title(self) -> &'static str {
        match self {
            Self::Input => "Input length",
            Self::Output => "Output length",
        }
    }

    /// The values that occur, ascending.
    fn values(self, summaries: &[Summary]) -> Vec<u32> {
        let cells = summaries.iter().flat_map(|summary| &summary.cells);
        cells.map(|cell| self.of(cell)).collect::<BTreeSet<_>>().into_iter().collect()
    }
}

fn figure(metric: &Metric, summaries: &[Summary]) -> Figure {
    let inputs = Length::Input.values(summaries);
    let outputs = Length::Output.values(summaries);
    let axis = if outputs.len() <= 1 && inputs.len() > 1 { Length::Input } else { Length::Output };
    let (across, fixed) = match axis {
        Length::Input => (outputs, Length::Output),
        Length::Output => (inputs, Length::Input),
    };
    let targets = names(summaries);
    let points = |summary, length| points(metric, summary, axis, fixed, length);
    let mut subtitle = common_subtitle(summaries);
    let (panels, palette, key) = match (across.as_slice(), summaries) {
        ([length], _) => {
            subtitle = format!("{subtitle} · {} {length} tokens", fixed.title().to_lowercase());
            let lines = summaries.iter().zip(targets);
            let series = lines.map(|(s, name)| Series { name, points: points(s, *length) });
            let key = if summaries.len() > 1 { Key::Above } else { Key::Absent };
            (vec![Panel { title: String::new(), series: series.collect() }], Palette::Named, key)
        }
        (lengths, [summary]) => {
            let series = lengths
                .iter()
                .map(|&length| Series {
                    name: count(u64::from(length)),
                    points: points(summary, length),
                })
                .collect();
            let key = Key::Direct(format!("{} (tokens)", fixed.title()));
            (vec![Panel { title: String::new(), series }], Palette::Ordered, key)
        }
        (lengths, _) => {
            let panel = |&length: &u32| Panel {
                title: format!("{} {} tokens", fixed.title(), count(u64::from(length))),
                series: summaries
                    .iter()
                    .zip(&targets)
                    .map(|(s, name)| Series { name: name.clone(), points: points(s, length) })
                    .collect(),
            };
            (lengths.iter().map(panel).collect(), Palette::Named, Key::Above)
        }
    };
    Figure {
        title: metric.title.to_owned(),
        subtitle,
        definition: metric.definition.to_owned(),
        notice: notice(summaries),
        x: Axis::new(axis.title(), "tokens"),
        y: Axis::new(metric.quantity, metric.unit),
        panels,
        palette,
        key,
        footer: footer(summaries),
    }
}

/// The figures of one target at one value of the length that is not the axis.
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
                // Where there are repeats, what varies between them is what a reader must know.
                interval: match &cell.over_repeats {
                    Some(spread) => (metric.over_repeats)(spread).and_then(|spread| spread.ci),
                    None => pass.and_then(metric.spread).and_then(|values| values.mean_ci),
                },
                mark: if failed { Mark::Partial } else { Mark::Whole },
            }
        })
        .collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    points
}

/// The pass that a figure of the cell comes from.
fn source(source: Source, cell: &Cell) -> Option<&PassSummary> {
    match source {
        Source::Loading => cell.loading().or_else(|| cell.alone()),
        Source::OneByOne => cell.alone(),
    }
}

/// What sets each target apart: the facts that they do not share.
fn names(summaries: &[Summary]) -> Vec<String> {
    let facts: Vec<[String; 3]> = summaries.iter().map(facts).collect();
    let differs: Vec<usize> =
        (0..3).filter(|&fact| facts.iter().any(|other| other[fact] != facts[0][fact])).collect();
    let mut names: Vec<String> = facts
        .iter()
        .zip(summaries)
        .map(|(facts, summary)| {
            let kept: Vec<&str> = match differs.as_slice() {
                [] => vec![&facts[2]],
                differs => differs.iter().map(|&fact| facts[fact].as_str()).collect(),
            };
            label::with_reality(&kept.join(" · "), summary)
        })
        .collect();
    for index in 0..names.len() {
        let is_taken = names.iter().filter(|name| **name == names[index]).count() > 1;
        if is_taken {
            names[index] = format!("{} · run {}", names[index], summaries[index].run_id);
        }
    }
    names
}

/// Model, card and engine.
fn facts(summary: &Summary) -> [String; 3] {
    let target = &summary.target;
    [target.model.clone(), label::card(target), label::engine(target)]
}

/// The facts that all targets share.
pub(super) fn common_subtitle(summaries: &[Summary]) -> String {
    let Some(first) = summaries.first().map(facts) else { return "nothing measured".to_owned() };
    let shared: Vec<&str> = first
        .iter()
        .enumerate()
        .filter(|(index, fact)| summaries.iter().all(|other| facts(other)[*index] == **fact))
        .map(|(_, fact)| fact.as_str())
        .collect();
    if shared.is_empty() { format!("{} targets", summaries.len()) } else { shared.join(" · ") }
}

/// Says loudly when a figure is a model's and not a server's.
pub(super) fn notice(summaries: &[Summary]) -> Option<String> {
    let notices: Vec<String> = summaries.iter().filter_map(label::notice).collect();
    let first = notices.first()?;
    if notices.len() < summaries.len() || notices.iter().any(|notice| notice != first) {
        return Some(
            "Some of these figures were not measured on a real server: see the key".into(),
        );
    }
    Some(first.clone())
}

/// Program and runs.
pub(super) fn footer(summaries: &[Summary]) -> String {
    let Some(first) = summaries.first() else { return String::new() };
    let runs: Vec<&str> = summaries.iter().map(|summary| summary.run_id.as_str()).collect();
    let word = if runs.len() > 1 { "runs" } else { "run" };
    format!("{} {} · {word} {}", first.tool.name, first.tool.version, runs.join(", "))
}
