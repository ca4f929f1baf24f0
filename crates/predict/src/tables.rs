//! Additional tables of a prediction, as text: its intervals, the figures of its passes, and the comparison with
//! measured results.

use std::fmt::Write as _;

use inferometer_analysis::prediction::{Columns, PassPrediction};
use inferometer_analysis::{Cell, Summary};
use inferometer_model::code;
use inferometer_report::table::lengths;

/// Short names of the columns.
const SHORT: [&str; 4] = ["requests/s", "tokens/s", "ms/token", "ms/out token"];

/// Rows of text under headings.
struct Grid {
    headings: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Grid {
    fn lines(
        &self,
        open: &str,
        between: &str,
        close: &str,
        rule: impl Fn(usize) -> String,
    ) -> String {
        let all = || std::iter::once(&self.headings).chain(&self.rows);
        let widths: Vec<usize> = (0..self.headings.len())
            .map(|at| all().map(|row| row[at].chars().count()).max().unwrap_or(0))
            .collect();
        let mut out = String::new();
        for (number, row) in all().enumerate() {
            let cells: Vec<String> =
                row.iter().zip(&widths).map(|(text, &width)| format!("{text:>width$}")).collect();
            let _ = writeln!(out, "{open}{}{close}", cells.join(between).trim_end());
            if number == 0 {
                let rules: Vec<String> = widths.iter().map(|&width| rule(width)).collect();
                let _ = writeln!(out, "{open}{}{close}", rules.join(between));
            }
        }
        out
    }
}

/// The tables as text for a terminal.
pub fn terminal(summary: &Summary) -> String {
    let text = |grid: &Grid| grid.lines("", "  ", "", |width| "-".repeat(width));
    sections(summary, |title| format!("{title}\n"), text)
}

/// The tables as Markdown.
pub fn markdown(summary: &Summary) -> String {
    let text = |grid: &Grid| {
        grid.lines("| ", " | ", " |", |width| format!("{}:", "-".repeat(width.max(2) - 1)))
    };
    sections(summary, |title| format!("## {title}\n\n"), text)
}

fn sections(
    summary: &Summary,
    title: impl Fn(&str) -> String,
    text: impl Fn(&Grid) -> String,
) -> String {
    let mut out = title("Ranges that are expected to contain 90 % of measurements");
    out += &text(&intervals(summary));
    let of = by_reason(summary, |cell| cell.prediction.interval_of.as_ref());
    for (words, cells) in &of {
        let of_all = summary.cells.iter().all(|cell| cell.prediction.uncalibrated.is_none());
        let cells = if of_all && of.len() == 1 { String::new() } else { format!(" ({cells})") };
        let _ = writeln!(out, "\nThese ranges follow from the errors of {words}{cells}");
    }
    for (why, cells) in by_reason(summary, |cell| cell.prediction.uncalibrated.as_ref()) {
        let _ = writeln!(
            out,
            "\nuncalibrated, so the true value may be from half to twice the prediction: {why} ({cells})"
        );
    }
    let passes = passes(summary);
    if !passes.rows.is_empty() {
        out.push('\n');
        out += &title(
            "Each pass: prediction, and the range of 90 % of measurements (~: uncalibrated)",
        );
        out += &text(&passes);
    }
    if let Some(errors) = &summary.errors {
        out.push('\n');
        out += &title("Measured, predicted, error in %");
        for finding in summary.findings.iter().filter(|finding| finding.is(code::IN_SAMPLE)) {
            let _ = writeln!(out, "{}\n", finding.message);
        }
        out += &text(&comparison(summary));
        out.push('\n');
        let headings = ["absolute error, %", "mean", "median", "p90", "max"];
        let named = Columns::NAMES.iter().zip(SHORT);
        let rows = named.filter_map(|(name, short)| {
            let e = errors.get(*name)?;
            let figures = [e.mean, e.median, e.p90, e.max].map(|value| format!("{value:.2}"));
            Some(std::iter::once(short.to_owned()).chain(figures).collect())
        });
        out += &text(&Grid { headings: headings.map(str::to_owned).into(), rows: rows.collect() });
    }
    out
}

fn intervals(summary: &Summary) -> Grid {
    let mut headings = vec!["Input".to_owned(), "Output".to_owned()];
    headings.extend(SHORT.map(str::to_owned));
    let row = |cell: &Cell| {
        let mut row = lengths(cell).to_vec();
        let ranges = cell.prediction.interval.unwrap_or_default();
        let latencies = [ranges.latency_per_token_ms, ranges.latency_per_output_token_ms];
        let ranges =
            [ranges.requests_per_s, ranges.output_tokens_per_s].into_iter().chain(latencies);
        row.extend(ranges.map(|range| match range {
            Some([low, high]) => format!("{low:.2} to {high:.2}"),
            None => "-".to_owned(),
        }));
        row
    };
    Grid { headings, rows: summary.cells.iter().map(row).collect() }
}

/// Every figure of every pass, with the measured figure if there is one.
fn passes(summary: &Summary) -> Grid {
    let all = || summary.cells.iter().flat_map(|cell| &cell.prediction.passes);
    let figures = || all().flat_map(|pass| pass.figures().into_iter().flatten());
    let is_measured = figures().any(|figure| figure.measured.is_some());
    let mut headings = vec!["Input", "Output", "Load", "Figure", "predicted", "range"];
    if is_measured {
        headings.extend(["measured", "error, %", "inside"]);
    }
    let mut rows = Vec::new();
    for cell in &summary.cells {
        let place = lengths(cell);
        for pass in &cell.prediction.passes {
            for (name, figure) in PassPrediction::NAMES.iter().zip(pass.figures()) {
                let Some(figure) = figure else { continue };
                let mark = if figure.calibrated { "" } else { "~" };
                let [low, high] = figure.interval;
                let mut row = place.to_vec();
                row.extend([
                    pass.load.clone(),
                    (*name).to_owned(),
                    format!("{:.2}", figure.predicted),
                    format!("{mark}{low:.2} to {high:.2}"),
                ]);
                if is_measured {
                    let measured = figure.measured.map_or("-".to_owned(), |it| format!("{it:.2}"));
                    let error = figure.error_pct.map_or("-".to_owned(), |it| format!("{it:+.1}"));
                    let inside = figure.holds().map_or("-", |it| if it { "yes" } else { "no" });
                    row.extend([measured, error, inside.to_owned()]);
                }
                rows.push(row);
            }
        }
    }
    Grid { headings: headings.into_iter().map(str::to_owned).collect(), rows }
}

/// The different reasons, each with the cells that have this reason.
fn by_reason(
    summary: &Summary,
    reason: impl Fn(&Cell) -> Option<&String>,
) -> Vec<(String, String)> {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for cell in &summary.cells {
        if let Some(why) = reason(cell) {
            let place = cell.plan().to_string();
            match reasons.iter_mut().find(|(known, _)| known == why) {
                Some((_, cells)) => cells.push(place),
                None => reasons.push((why.clone(), vec![place])),
            }
        }
    }
    reasons.into_iter().map(|(why, cells)| (why, cells.join(", "))).collect()
}

fn comparison(summary: &Summary) -> Grid {
    let mut headings = vec!["Input".to_owned(), "Output".to_owned()];
    for short in SHORT {
        headings.extend([short.to_owned(), "predicted".to_owned(), "error".to_owned()]);
    }
    let row = |cell: &Cell| {
        let measured = cell.prediction.measured?;
        let mut row = lengths(cell).to_vec();
        let errors = cell.prediction.error_pct.unwrap_or_default().values();
        let figures = measured.values().into_iter().zip(cell.columns().values());
        for ((measured, predicted), error) in figures.zip(errors) {
            let two = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.2}"));
            row.extend([two(measured), two(predicted)]);
            row.push(error.map_or("left out".to_owned(), |error| format!("{error:+.1}")));
        }
        Some(row)
    };
    Grid { headings, rows: summary.cells.iter().filter_map(row).collect() }
}
