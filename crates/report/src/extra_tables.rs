//! The tables below the published table: figures over repeats, figures by class of request, goodput,
//! steady state, and others. A table without rows is left out. No figure is computed here.

mod parts;

use inferometer_analysis::Summary;
use inferometer_model::stats::Spread;

use crate::number::{in_table, length, two_decimals};
use crate::{Align, MISSING, Table, count, published, significant};

/// The tables that have rows, each with its heading.
pub(crate) fn tables(summary: &Summary) -> Vec<(&'static str, Table)> {
    [
        ("Text blocks", published::blocks(summary)),
        ("Requested and generated lengths", published::keeping(summary)),
        ("As vLLM 0.2's benchmark_serving.py prints it", published::serving_run(summary)),
        ("Over repeats", repeats(summary)),
        ("By class of request", parts::classes(summary)),
        ("By server", parts::servers(summary)),
        ("Ranks that differ", parts::ranks(summary)),
        ("Metrics of each server", parts::metrics(summary)),
        ("Goodput", goodput(summary)),
        ("With each failed request as +inf", failures_as_inf(summary)),
        ("Steady state", steady_state(summary)),
    ]
    .into_iter()
    .filter(|(_, table)| !table.is_empty())
    .collect()
}

/// A row per cell and figure of the published table: its mean and its variation over repeats.
fn repeats(summary: &Summary) -> Table {
    let mut table = Table::new([
        ("Input", Align::Right),
        ("Output", Align::Right),
        ("Figure", Align::Left),
        ("Mean", Align::Right),
        ("95 % interval", Align::Right),
        ("Variation (%)", Align::Right),
        ("Repeats", Align::Right),
    ]);
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
            table.push(vec![
                length(cell.input_length),
                length(cell.output_length),
                figure.to_owned(),
                in_table(spread.mean),
                interval,
                two_decimals(spread.cv.map(|cv| cv * 100.0)),
                count(spread.n),
            ]);
        }
    }
    table
}

/// A row per pass that has objectives on single requests.
fn goodput(summary: &Summary) -> Table {
    let mut table = Table::new([
        ("Pass", Align::Left),
        ("Objectives of each request", Align::Left),
        ("Met / planned", Align::Right),
        ("Attainment (%)", Align::Right),
        ("Goodput (requests/s)", Align::Right),
    ]);
    for cell in &summary.cells {
        for pass in &cell.passes {
            let Some(goodput) = &pass.goodput else { continue };
            table.push(vec![
                cell.place(pass),
                goodput.objectives.clone(),
                format!("{} / {}", count(goodput.met), count(pass.planned)),
                with_interval(
                    goodput.attainment.map(|share| share * 100.0),
                    goodput.attainment_ci.map(|ends| ends.map(|end| end * 100.0)),
                ),
                with_interval(goodput.requests_per_s, goodput.requests_per_s_ci),
            ]);
        }
    }
    table
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
    let before =
        [("Pass", Align::Left), ("Failed / planned", Align::Right), ("Latency (ms)", Align::Left)];
    let percentiles = ["P50", "P90", "P95", "P99", "P99.9", "Max"];
    let mut table =
        Table::new(before.into_iter().chain(percentiles.map(|name| (name, Align::Right))));
    for cell in &summary.cells {
        for pass in &cell.passes {
            let Some(found) = &pass.failures_as_inf else { continue };
            for (metric, tail) in found.measured() {
                let values = [tail.p50, tail.p90, tail.p95, tail.p99, tail.p999, tail.max];
                let mut row = vec![
                    cell.place(pass),
                    format!("{} / {}", count(found.failed), count(pass.planned)),
                    metric.title.to_owned(),
                ];
                row.extend(values.map(|value| match value.0.is_finite() {
                    true => significant(value.0),
                    false => "+inf".to_owned(),
                }));
                table.push(row);
            }
        }
    }
    table
}

/// A row per pass with a steady state. In a steady state, the number of requests in flight stays near one
/// value.
fn steady_state(summary: &Summary) -> Table {
    let mut table = Table::new([
        ("Pass", Align::Left),
        ("In flight", Align::Right),
        ("Start-up (s)", Align::Right),
        ("Window (s)", Align::Right),
        ("Drain (s)", Align::Right),
        ("Requests/s", Align::Right),
        ("Output tokens/s", Align::Right),
        ("Output tokens/s in start-up", Align::Right),
        ("Output tokens/s in drain", Align::Right),
    ]);
    for cell in &summary.cells {
        for pass in &cell.passes {
            let Some(steady) = &pass.steady_state else { continue };
            table.push(vec![
                cell.place(pass),
                two_decimals(Some(steady.mean_concurrency)),
                two_decimals(Some(steady.startup_s)),
                two_decimals(Some(steady.duration_s)),
                two_decimals(Some(steady.drain_s)),
                two_decimals(Some(steady.requests_per_s)),
                two_decimals(Some(steady.output_tokens_per_s)),
                two_decimals(steady.startup_output_tokens_per_s),
                two_decimals(steady.drain_output_tokens_per_s),
            ]);
        }
    }
    table
}
