//! The table in which results are published. Columns, padding and the two decimals are those of the
//! records that it is compared with. A failed request is never part of a figure.

use std::fmt::Write as _;

use inferometer_analysis::cell::Cell;
use inferometer_analysis::pass::PassSummary;
use inferometer_analysis::summary::Summary;
use inferometer_analysis::table_import::TableForm;
use inferometer_analysis::trust;
use inferometer_load::PassKind;
use inferometer_metrics::registry;

use crate::escape::heading;
use crate::mark::marked;
use crate::number::{MISSING, count, length, two_decimals};
use crate::text_table::{Align, Table};
use crate::{answers, extra_tables, label, mark};

/// The index of the first latency in the table of loads.
pub(crate) const LATENCIES_FROM: usize = 7;

/// The columns of the published tables.
const RECORD_COLUMNS: [&str; 6] = [
    "Input Length",
    "Output Length",
    "Throughput (requests/s)",
    "Throughput (output token/s)",
    "Average latency per token (ms)",
    "Average latency per output token (ms)",
];

/// Headings, table and footnotes of each target. A heading is only written again when it changes, so that
/// several engines on one card are below that card.
///
/// Figures have two decimals, and `-` if there is none. Below the table, each pass with failed requests
/// has a line with their number and reasons. If passes have a concurrency or a rate, a table with a row
/// per pass follows.
pub fn markdown(summaries: &[Summary]) -> String {
    let mut out = String::new();
    let mut above: Option<(String, String)> = None;
    for summary in summaries {
        let model = summary.target.model.clone();
        let card = label::with_reality(&label::card(&summary.target), summary);
        let same_model = above.as_ref().is_some_and(|above| above.0 == model);
        if !same_model {
            let _ = writeln!(out, "# {}\n", heading(&model));
        }
        if !same_model || above.as_ref().is_some_and(|above| above.1 != card) {
            let _ = writeln!(out, "## {}\n", heading(&card));
        }
        let _ = writeln!(out, "## {}\n", heading(&label::engine(&summary.target)));
        out += &body(summary);
        out.push('\n');
        above = Some((model, card));
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// The tables and footnotes of one target, without headings.
pub(crate) fn body(summary: &Summary) -> String {
    if answers::are_in(summary) {
        return of_trials(summary);
    }
    let tables = summary.imported.as_ref().map(|imported| imported.tables.as_slice());
    let mut out = match tables {
        Some(tables) if !tables.is_empty() => {
            tables.iter().map(TableForm::markdown).collect::<Vec<_>>().join("\n")
        }
        _ => records(summary).to_markdown(),
    };
    let failures = failures(summary);
    if !failures.is_empty() {
        out.push('\n');
        for line in &failures {
            let _ = writeln!(out, "- {line}");
        }
    }
    let interrupted = interrupted(summary);
    if !interrupted.is_empty() {
        let _ = write!(out, "\n- {}\n", interrupted.join("\n- "));
    }
    if let Some(sentence) = which_pass(summary) {
        let _ = writeln!(out, "\n{sentence}");
    }
    // The published form has no other table: programs read it again by its columns.
    let is_load = |pass: &PassSummary| matches!(pass.kind, PassKind::Closed | PassKind::Open);
    let has_loads = summary.cells.iter().flat_map(|cell| &cell.passes).any(is_load);
    let passes = if has_loads { passes(summary) } else { Table::new([("", Align::Left)]) };
    if !passes.is_empty() {
        let _ = write!(out, "\n{}", passes.to_markdown());
    }
    let extra = extra_tables::tables(summary);
    for sentence in marks(summary, &passes, &extra) {
        let _ = writeln!(out, "\n{}", crate::escape::markdown(&sentence));
    }
    for (heading, table) in extra {
        let _ = write!(out, "\n{heading}:\n\n{}", table.to_markdown());
    }
    out
}

/// The answers of a search or a sweep, what is known about each load, and its trials.
fn of_trials(summary: &Summary) -> String {
    let mut out = String::new();
    for answer in answers::of(summary) {
        let sentence = crate::escape::markdown(&answer.sentence);
        let _ = write!(out, "{}: {sentence}\n\n", answer.cell);
        let _ = writeln!(out, "{}", answer.table.to_markdown());
    }
    let _ = write!(out, "Trials:\n\n{}", passes(summary).to_markdown());
    let failures = failures(summary);
    if !failures.is_empty() {
        let _ = write!(out, "\n- {}\n", failures.join("\n- "));
    }
    out
}

/// What the marks in the tables of a target mean.
pub(crate) fn marks(summary: &Summary, loads: &Table, extra: &[(&str, Table)]) -> Vec<String> {
    let records = records(summary);
    let tables: Vec<&Table> =
        [&records, loads].into_iter().chain(extra.iter().map(|(_, table)| table)).collect();
    mark::explained(summary, &tables)
}

/// The published table: a row per cell.
pub(crate) fn records(summary: &Summary) -> Table {
    let mut table = Table::new(RECORD_COLUMNS.map(|name| (name, Align::Centre)));
    for cell in &summary.cells {
        let [requests, tokens, per_token, per_output_token] = trust::columns(cell)
            .map(|figure| marked(two_decimals(figure.value), figure.value, figure.range));
        table.push(vec![
            input_length(cell),
            output_length(cell),
            requests,
            tokens,
            per_token,
            per_output_token,
        ]);
    }
    table
}

/// The input length of a cell; if its requests have their own lengths, the mean of the completed ones.
fn input_length(cell: &Cell) -> String {
    own_length(cell.input_length, cell, |pass| pass.input_tokens)
}

/// The same for the output length.
fn output_length(cell: &Cell) -> String {
    own_length(cell.output_length, cell, |pass| pass.output_tokens)
}

fn own_length(of_grid: u32, cell: &Cell, tokens: fn(&PassSummary) -> u64) -> String {
    let complete: u64 = cell.passes.iter().map(|pass| pass.outcomes.complete).sum();
    let sum: u64 = cell.passes.iter().map(tokens).sum();
    match of_grid {
        0 if complete > 0 && sum > 0 => {
            format!("{} (mean {:.0})", length(0), sum as f64 / complete as f64)
        }
        length_of_grid => length(length_of_grid),
    }
}

/// The number of columns of [`passes`] that identify a pass.
pub(crate) const PASS_KEYS: usize = 4;

/// A row per pass.
pub(crate) fn passes(summary: &Summary) -> Table {
    let before = [
        ("Input", Align::Right),
        ("Output", Align::Right),
        ("Pass", Align::Left),
        ("Load", Align::Right),
        ("Completed / planned", Align::Right),
        ("Requests/s", Align::Right),
        ("Output tokens/s", Align::Right),
        ("Total tokens/s", Align::Right),
    ];
    let before = before.map(|(name, align)| (name.to_owned(), align));
    let latencies = registry::in_tables().map(label::latency);
    let right = latencies.chain(["Peak in flight".to_owned()]).map(|name| (name, Align::Right));
    let mut table = Table::new(before.into_iter().chain(right));
    for cell in &summary.cells {
        for pass in &cell.passes {
            let mut row = vec![
                input_length(cell),
                output_length(cell),
                label::kind(pass),
                label::load(pass),
                completed(pass),
            ];
            // If it ended before its first request did, no rate is known.
            let is_known = !(pass.is_interrupted() && pass.outcomes.complete == 0);
            let rates = [pass.requests_per_s, pass.output_tokens_per_s, total_tokens_per_s(pass)];
            let rates = rates.map(|rate| rate.filter(|_| is_known));
            row.extend(rates.map(|rate| marked(two_decimals(rate), rate, trust::rate(pass, rate))));
            row.extend(registry::in_tables().map(|(metric, of)| {
                let figure = pass.latency(metric).and_then(|it| of.of(it));
                marked(two_decimals(figure), figure, trust::latency(pass, metric, of))
            }));
            row.push(pass.peak_concurrency.map_or_else(|| MISSING.to_owned(), count));
            table.push(row);
        }
    }
    table
}

/// Prompt and output tokens per second; absent if either is unknown.
fn total_tokens_per_s(pass: &PassSummary) -> Option<f64> {
    let seconds = pass.duration_s.filter(|seconds| *seconds > 0.0 && pass.input_tokens > 0)?;
    Some(pass.output_tokens_per_s? + pass.input_tokens as f64 / seconds)
}

/// Whether the summary has passes of the published tables: one by one, or all at once.
pub(crate) fn is_published_form(summary: &Summary) -> bool {
    let passes = summary.cells.iter().flat_map(|cell| &cell.passes);
    let mut kinds = passes.map(|pass| pass.kind);
    summary.imported.is_some()
        || kinds.any(|kind| matches!(kind, PassKind::OneByOne | PassKind::Saturated))
}

/// How many of the planned requests completed. A trial that was cut off has a mark: its figures come from
/// few requests, the fastest ones, and must not be read like those of others.
fn completed(pass: &PassSummary) -> String {
    let cut = if pass.is_cut_off() { ", cut off" } else { "" };
    format!("{} / {}{cut}", count(pass.outcomes.complete), count(pass.planned))
}

/// Which pass the table shows if several passes of a cell load the server; and that latencies are those
/// under load if all requests were sent at once.
pub(crate) fn which_pass(summary: &Summary) -> Option<String> {
    let loading = |cell: &Cell| {
        cell.passes
            .iter()
            .filter(|pass| pass.kind != PassKind::OneByOne && pass.repeat <= 1)
            .count()
    };
    let several = summary.cells.iter().any(|cell| loading(cell) > 1);
    let alone = |cell: &Cell| cell.passes.iter().any(|pass| pass.kind == PassKind::OneByOne);
    let latencies = if summary.cells.iter().all(alone) {
        "latencies of the one_by_one pass"
    } else {
        "latencies of the same pass"
    };
    if several {
        return Some(format!(
            "Each row shows the pass with the highest requests/s, and {latencies}; all passes \
                follow below."
        ));
    }
    let at_once = |cell: &Cell| {
        !alone(cell) && cell.passes.iter().any(|pass| pass.kind == PassKind::Saturated)
    };
    summary.cells.iter().any(at_once).then(|| {
        "Latencies are those of requests sent all at once, and include their waiting for one \
            another; --passes table measures them one by one."
            .to_owned()
    })
}

/// Passes that the user interrupted, with what was measured of them.
pub(crate) fn interrupted(summary: &Summary) -> Vec<String> {
    let of_cell = |cell: &'_ Cell| {
        let passes = cell.passes.iter().filter(|pass| pass.is_interrupted());
        let told = |pass: &PassSummary| {
            format!(
                "{}: interrupted after {} of {} requests had completed; the main table leaves this \
                    pass out",
                cell.place(pass),
                count(pass.outcomes.complete),
                count(pass.planned),
            )
        };
        passes.map(told).collect::<Vec<_>>()
    };
    summary.cells.iter().flat_map(of_cell).collect()
}

/// A sentence for each pass with requests that did not complete.
pub(crate) fn failures(summary: &Summary) -> Vec<String> {
    let mut lines = Vec::new();
    for cell in &summary.cells {
        for pass in &cell.passes {
            let mut why = pass.outcomes;
            why.complete = 0;
            if pass.is_cut_off() || pass.is_interrupted() || pass.stopped.is_some() {
                // These are not failures: a finding reports them.
                (why.cancelled, why.skipped) = (0, 0);
            }
            let failed = why.failed();
            if failed == 0 {
                continue;
            }
            lines.push(format!(
                "{}: {} of {} requests failed ({why}); figures cover the {} that completed",
                cell.place(pass),
                count(failed),
                count(pass.planned),
                count(pass.outcomes.complete),
            ));
        }
    }
    lines
}
