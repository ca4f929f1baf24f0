//! The tables below the published table: figures over repeats, figures by class of request, goodput,
//! steady state, and others. A table without rows is left out. No figure is computed here.

mod jobs;
mod media;
mod parts;
mod pooled;

use inferometer_analysis::{Summary, failures_as_inf::Latency, pass::Goodput, trust};
use inferometer_model::metrics::{reasoning, registry, ttft};
use inferometer_model::{Statistic, stats::Spread};

use crate::number::{in_table, length, two_decimals};
use crate::{
    MISSING, Table, cost, count, label, left, mark::marked, published, right, significant,
};

const STEADY_STATE: &str = "Steady state";

/// The tables that have rows, each with its heading.
pub(crate) fn tables(summary: &Summary) -> Vec<(&'static str, Table)> {
    [
        ("Text blocks", published::blocks(summary)),
        ("Requested and generated lengths", published::keeping(summary)),
        ("As vLLM 0.2's benchmark_serving.py prints it", published::serving_run(summary)),
        ("Over repeats", repeats(summary)),
        ("Jobs", jobs::jobs(summary)),
        ("Critical path of a job, mean", jobs::paths(summary)),
        ("Cached prompt tokens of jobs", jobs::caches(summary)),
        ("Embeddings and rankings (no TTFT, TPOT and output tokens)", pooled::pooled(summary)),
        ("Pictures", media::pictures(summary)),
        ("Sounds", media::sounds(summary)),
        ("Reasoning", reasoning(summary)),
        ("Tool calls and structured outputs", parts::forms(summary)),
        ("Where the time to the first token goes, mean", parts::first_token(summary)),
        ("By class of request", parts::classes(summary)),
        ("Classes beside others and alone", parts::isolation(summary)),
        ("By server", parts::servers(summary)),
        ("Ranks that differ", parts::ranks(summary)),
        ("Metrics of each server", parts::metrics(summary)),
        ("Goodput", goodput(summary)),
        ("Cost", cost::table(summary)),
        ("With each failed request as +inf", failures_as_inf(summary)),
        (STEADY_STATE, steady_state(summary)),
    ]
    .into_iter()
    .filter(|(_, table)| !table.is_empty())
    .collect()
}

/// The tables without those that explain figures of other tables.
pub(crate) fn main_tables(summary: &Summary) -> Vec<(&'static str, Table)> {
    let mut all = tables(summary);
    all.retain(|(heading, _)| *heading != STEADY_STATE);
    all
}

/// A row per cell and figure of the published table: its mean and its variation over repeats.
fn repeats(summary: &Summary) -> Table {
    let mut rows = Vec::new();
    for cell in &summary.cells {
        let Some(spread) = &cell.over_repeats else { continue };
        let figures: [(&str, Option<Spread>); 4] = [
            ("requests/s", spread.requests_per_s),
            ("output tokens/s", spread.output_tokens_per_s),
            ("latency per token (ms)", spread.latency_per_token_ms),
            ("latency per output token (ms)", spread.latency_per_output_token_ms),
        ];
        for (figure, spread) in figures {
            let Some(spread) = spread else { continue };
            let interval =
                spread.ci.map_or(MISSING.to_owned(), |ends| ends.map(in_table).join(" to "));
            rows.push([
                right("Input", length(cell.input_length)),
                right("Output", length(cell.output_length)),
                left("Figure", figure),
                right("Mean", in_table(spread.mean)),
                right("95 % interval", interval),
                right("Variation (%)", two_decimals(spread.cv.map(|cv| cv * 100.0))),
                right("Repeats", count(spread.n)),
            ]);
        }
    }
    Table::of(rows)
}

/// A row per pass with reasoning.
fn reasoning(summary: &Summary) -> Table {
    Table::of(summary.passes().filter_map(|(cell, pass)| {
        let from = pass.reasoning_from?;
        let ttft = [Statistic::P50, Statistic::P99].map(|of| (&ttft::FROM_SENT, of));
        let mut row = vec![left("Pass", cell.place(pass))];
        row.extend(ttft.into_iter().chain(registry::when_reasoning()).map(|(metric, of)| {
            let figure = pass.latency(metric).and_then(|it| of.of(it));
            let text = marked(
                figure.map_or(MISSING.to_owned(), significant),
                figure,
                trust::latency(pass, metric, of),
            );
            right(label::latency((metric, of)), text)
        }));
        let share = pass.figure(&reasoning::SHARE);
        row.push(right("Share of output (%)", share.map_or(MISSING.to_owned(), significant)));
        row.push(left("Counted by", from.name()));
        Some(row)
    }))
}

/// A row per pass that has objectives on single requests.
fn goodput(summary: &Summary) -> Table {
    let row = |place: String, goodput: &Goodput, judged: u64| {
        let attainment = with_interval(
            goodput.attainment.map(|share| share * 100.0),
            goodput.attainment_ci.map(|ends| ends.map(|end| end * 100.0)),
        );
        let rate = with_interval(goodput.requests_per_s, goodput.requests_per_s_ci);
        [
            left("Pass", place),
            left("Objectives of each request", &goodput.objectives),
            right("Met / planned", format!("{} / {}", count(goodput.met), count(judged))),
            right("Attainment (%)", attainment),
            right("Goodput (requests/s)", rate),
        ]
    };
    let mut rows = Vec::new();
    for (cell, pass) in summary.passes() {
        let place = cell.place(pass).to_string();
        let of_pass = pass.goodput.iter();
        rows.extend(of_pass.map(|goodput| row(place.clone(), goodput, pass.judged())));
        rows.extend(pass.classes.iter().filter_map(|class| {
            let place = format!("{place}: {}", class.class);
            let judged = class.figures.planned - class.figures.outcomes.abandoned;
            Some(row(place, class.goodput.as_ref()?, judged))
        }));
    }
    Table::of(rows)
}

/// A figure with its 95 % interval, if it has one: `12.30 (11.90 to 12.70)`.
fn with_interval(value: Option<f64>, ends: Option<[f64; 2]>) -> String {
    let value = two_decimals(value);
    ends.map_or(value.clone(), |[low, high]| {
        format!("{value} ({} to {})", two_decimals(Some(low)), two_decimals(Some(high)))
    })
}

/// A row per pass and latency: percentiles in which each failed request counts as an infinite latency.
fn failures_as_inf(summary: &Summary) -> Table {
    let mut rows = Vec::new();
    for (cell, pass) in summary.passes() {
        let Some(found) = &pass.failures_as_inf else { continue };
        for (metric, tail) in found.measured() {
            let value = |Latency(value): Latency| match value.is_finite() {
                true => significant(value),
                false => "+inf".to_owned(),
            };
            rows.push([
                left("Pass", cell.place(pass)),
                right(
                    "Failed / planned",
                    format!("{} / {}", count(found.failed), count(pass.judged())),
                ),
                left("Latency (ms)", metric.title),
                right("P50", value(tail.p50)),
                right("P90", value(tail.p90)),
                right("P95", value(tail.p95)),
                right("P99", value(tail.p99)),
                right("P99.9", value(tail.p999)),
                right("Max", value(tail.max)),
            ]);
        }
    }
    Table::of(rows)
}

/// A row per pass with a steady state. In a steady state, the number of requests in flight stays near one
/// value.
fn steady_state(summary: &Summary) -> Table {
    Table::of(summary.passes().filter_map(|(cell, pass)| {
        let steady = pass.steady_state.as_ref()?;
        let number = |heading: &str, value| right(heading, two_decimals(Some(value)));
        let of_edge = |heading: &str, value| right(heading, two_decimals(value));
        Some([
            left("Pass", cell.place(pass)),
            number("In flight", steady.mean_concurrency),
            number("Start-up (s)", steady.startup_s),
            number("Window (s)", steady.duration_s),
            number("Drain (s)", steady.drain_s),
            number("Requests/s", steady.requests_per_s),
            number("Output tokens/s", steady.output_tokens_per_s),
            of_edge("Output tokens/s in start-up", steady.startup_output_tokens_per_s),
            of_edge("Output tokens/s in drain", steady.drain_output_tokens_per_s),
        ])
    }))
}
