//! The table in the form of published results. Its columns, its padding and its two decimals are the same
//! as in the published tables, so that results can be compared. Figures never include failed requests.

use std::fmt::Write as _;

use inferometer_analysis::{Cell, PassSummary, Summary, table_import::TableForm, trust};
use inferometer_model::metrics::{Definition, itl, registry, throughput, ttft};
use inferometer_model::{OutcomeCounts, PassKind, Statistic};

use crate::escape::heading;
use crate::mark::marked;
use crate::number::{length, three_digits, two_decimals};
use crate::{Align, MISSING, Table, answers, count, extra_tables, label, left, mark, right};

/// The columns of the published tables.
const RECORD_COLUMNS: [&str; 6] = [
    "Input Length",
    "Output Length",
    "Throughput (requests/s)",
    "Throughput (output token/s)",
    "Average latency per token (ms)",
    "Average latency per output token (ms)",
];

/// The headings (model, card, engine), the tables and the footnotes of each target. The headings of model
/// and card are only written if they change. So several engines on one card are below the same heading.
///
/// Figures have two decimals; a missing figure is `-`. Below the table, each pass with failed requests
/// has a line with their number and the reasons. If there are closed-loop or open-loop passes, a table
/// with a row per pass follows. A run with a search or a sweep has its answers and its trials instead of these
/// tables.
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
    if answers::has_answers(summary) {
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
        out.extend(failures.iter().map(|line| format!("- {line}\n")));
    }
    let interrupted = interrupted(summary);
    if !interrupted.is_empty() {
        let _ = write!(out, "\n- {}\n", interrupted.join("\n- "));
    }
    if let Some(sentence) = which_pass(summary) {
        let _ = writeln!(out, "\n{sentence}");
    }
    // Without closed-loop or open-loop passes, this table is left out: programs that parse the published
    // form expect only one table.
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

/// The answers of a search or a sweep, each with the table of its loads, and then the table of all
/// trials.
fn of_trials(summary: &Summary) -> String {
    let mut out = String::new();
    for answer in answers::of(summary) {
        let sentence = crate::escape::markdown(&answer.sentence);
        let _ = write!(out, "{}: {sentence}\n\n", answer.cell);
        let explanation = crate::escape::markdown(&answer.explanation);
        let _ = writeln!(out, "{}\n{explanation}\n", answer.table.to_markdown());
    }
    let explanation = crate::escape::markdown(answers::OF_TRIALS);
    let _ = write!(out, "Trials:\n\n{}\n{explanation}\n", passes(summary).to_markdown());
    let failures = failures(summary);
    if !failures.is_empty() {
        let _ = write!(out, "\n- {}\n", failures.join("\n- "));
    }
    out
}

/// The meaning of the marks in the tables of a target, one sentence for each kind of mark.
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
        let [input_length, output_length] = lengths(cell);
        table
            .push(vec![input_length, output_length, requests, tokens, per_token, per_output_token]);
    }
    table
}

/// The input length and the output length of a cell. If each request has its own length, the text has the mean
/// over completed requests, if it is known: `own (mean 128)`.
pub fn lengths(cell: &Cell) -> [String; 2] {
    [
        own_length(cell.input_length, cell, |pass| pass.input_tokens),
        own_length(cell.output_length, cell, |pass| Some(pass.output_tokens)),
    ]
}

fn own_length(of_grid: u32, cell: &Cell, tokens: fn(&PassSummary) -> Option<u64>) -> String {
    let complete: u64 = cell.passes.iter().map(|pass| pass.outcomes.complete).sum();
    let sum: u64 = cell.passes.iter().map(tokens).sum::<Option<u64>>().unwrap_or(0);
    match of_grid {
        0 if complete > 0 && sum > 0 => {
            format!("{} (mean {:.0})", length(0), sum as f64 / complete as f64)
        }
        length_of_grid => length(length_of_grid),
    }
}

/// The number of columns of [`main_figures`] that identify a pass.
pub(crate) const MAIN_KEYS: usize = 3;

/// The table of passes: a row per pass, with its load, its rates and its latencies.
pub(crate) fn passes(summary: &Summary) -> Table {
    of_passes(summary, true)
}

/// The columns of [`passes`] that fit on most terminals: medians, and the 99th percentile of TTFT. Figures have three
/// significant digits.
pub(crate) fn main_figures(summary: &Summary) -> Table {
    of_passes(summary, false)
}

fn of_passes(summary: &Summary, all: bool) -> Table {
    let digits = if all { two_decimals } else { three_digits };
    let is_wanted = |(metric, of): &(&Definition, Statistic)| {
        let is_median = *of == Statistic::P50 && **metric != itl::DEFINITION;
        all || is_median || (*of == Statistic::P99 && **metric == ttft::FROM_SENT)
    };
    Table::of(summary.passes().map(|(cell, pass)| {
        let [input, output] = lengths(cell);
        let mut row = vec![right("Input", input), right("Output", output)];
        let load = label::load(pass);
        match pass.repeat {
            _ if all => row.extend([left("Pass", label::kind(pass)), right("Load", load)]),
            0 | 1 => row.push(right("Load", load)),
            repeat => row.push(right("Load", format!("{load}, repeat {repeat}"))),
        }
        row.push(right("Completed / planned", completed(pass)));
        // The rates of a pass that was interrupted before any request completed are unknown.
        let is_known = !(pass.is_interrupted() && pass.outcomes.complete == 0);
        let rates = registry::columns_of_passes()
            .filter(|(_, metric)| all || **metric != throughput::TOTAL_TOKENS);
        row.extend(rates.map(|(heading, metric)| {
            let value = pass.figure(metric).filter(|_| is_known);
            right(heading, marked(digits(value), value, trust::value(pass, metric)))
        }));
        row.extend(registry::in_tables().filter(is_wanted).map(|(metric, of)| {
            let figure = pass.latency(metric).and_then(|it| of.of(it));
            let text = marked(digits(figure), figure, trust::latency(pass, metric, of));
            right(label::latency((metric, of)), text)
        }));
        if all {
            let peak = pass.peak_concurrency.map_or_else(|| MISSING.to_owned(), count);
            row.push(right("Peak in flight", peak));
        }
        row
    }))
}

/// Whether the published table is useful: for imported results, and for runs with a one-by-one or a
/// saturated pass.
pub(crate) fn is_published_form(summary: &Summary) -> bool {
    let passes = summary.cells.iter().flat_map(|cell| &cell.passes);
    let mut kinds = passes.map(|pass| pass.kind);
    summary.imported.is_some()
        || kinds.any(|kind| matches!(kind, PassKind::OneByOne | PassKind::Saturated))
}

/// The numbers of completed and planned requests: `143 / 500`. A trial that was cut off is marked,
/// because its figures come only from its few fastest requests.
fn completed(pass: &PassSummary) -> String {
    let cut = if pass.is_cut_off() { ", cut off" } else { "" };
    format!("{} / {}{cut}", count(pass.outcomes.complete), count(pass.planned))
}

/// A sentence that explains the table if a cell has several passes with load, or if latencies are from a
/// saturated pass. Otherwise `None`.
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
            "Each row shows the pass with the highest requests/s, and {latencies}; another table \
                shows all passes."
        ));
    }
    let at_once = |cell: &Cell| {
        !alone(cell) && cell.passes.iter().any(|pass| pass.kind == PassKind::Saturated)
    };
    summary.cells.iter().any(at_once).then(|| {
        "Latencies are those of requests sent all at once, and include queueing behind each \
            other; --passes table measures them one by one."
            .to_owned()
    })
}

/// A sentence for each pass that the user interrupted, with the numbers of completed and planned
/// requests.
pub(crate) fn interrupted(summary: &Summary) -> Vec<String> {
    let of_cell = |cell: &'_ Cell| {
        let passes = cell.passes.iter().filter(|pass| pass.is_interrupted());
        let told = |pass: &PassSummary| {
            format!(
                "{}: interrupted after {} of {} requests had completed; the figures of the pass \
                    cover only these requests, and the figures of the cell exclude the pass",
                cell.place(pass),
                count(pass.outcomes.complete),
                count(pass.planned),
            )
        };
        passes.map(told).collect::<Vec<_>>()
    };
    summary.cells.iter().flat_map(of_cell).collect()
}

/// The failed requests of a pass, by their outcomes.
pub(crate) fn failed(pass: &PassSummary) -> OutcomeCounts {
    let mut why = pass.outcomes;
    (why.complete, why.abandoned) = (0, 0);
    if pass.is_cut_off() || pass.is_interrupted() || pass.stopped.is_some() {
        // Requests that were cancelled or skipped for these reasons are not failures: a finding reports
        // them.
        (why.cancelled, why.skipped) = (0, 0);
    }
    why
}

/// How many requests of a run failed, such as `, 52 of 60 requests failed`; empty if none did.
pub(crate) fn failed_of_all(summary: &Summary) -> String {
    let passes = || summary.cells.iter().flat_map(|cell| &cell.passes);
    let [failed, planned] = [
        passes().map(|pass| failed(pass).failed()).sum(),
        passes().map(PassSummary::judged).sum::<u64>(),
    ];
    match failed {
        0 => String::new(),
        _ => format!(", {} of {} requests failed", count(failed), count(planned)),
    }
}

/// A sentence for each pass with failed requests, with their number and the reasons.
pub(crate) fn failures(summary: &Summary) -> Vec<String> {
    let failures = summary.passes().map(|(cell, pass)| (cell, pass, failed(pass)));
    let line = |(cell, pass, why): (&Cell, &PassSummary, OutcomeCounts)| {
        format!(
            "{}: {} of {} requests failed ({why}); figures cover the {} that completed",
            cell.place(pass),
            count(why.failed()),
            count(pass.judged()),
            count(pass.outcomes.complete),
        )
    };
    failures.filter(|(.., why)| why.failed() > 0).map(line).collect()
}
