//! The files of a run, made from its results on request. Only the run's log is read for them.

use inferometer_analysis::summary::Summary;
use inferometer_report::plot::Theme;
use inferometer_report::{csv, html, json, markdown, plot, published, table};
use inferometer_store::StoredRun;

use crate::report::{ReportParts, plan_text};

/// A file: its name, its media type, and the function that makes it if the run has such a file.
type File = (&'static str, &'static str, fn(&StoredRun, &Summary, &ReportParts) -> Option<String>);

const MARKDOWN: &str = "text/markdown; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";

const FILES: [File; 8] = [
    ("report.html", "text/html; charset=utf-8", |_, summary, parts| {
        Some(html::report(&parts.input(summary)))
    }),
    ("report.md", MARKDOWN, |_, summary, parts| Some(markdown::report(&parts.input(summary)))),
    ("table.md", MARKDOWN, |_, summary, _| Some(table::markdown(std::slice::from_ref(summary)))),
    ("cells.csv", "text/csv; charset=utf-8", |_, summary, _| Some(csv::cells(summary))),
    ("summary.json", "application/json", |_, summary, _| Some(json::summary(summary) + "\n")),
    ("plan.toml", PLAIN, |stored, _, _| Some(plan_text(stored))),
    ("blocks.log", PLAIN, |_, summary, _| published::log(summary)),
    ("blocks.md", MARKDOWN, |_, summary, _| published::size_tables(summary)),
];

/// The names of a run's files.
pub(crate) fn names(summary: &Summary, parts: &ReportParts) -> Vec<String> {
    let blocks = published::log(summary).is_some();
    let has = |name: &str| blocks || !name.starts_with("blocks.");
    let fixed = FILES.iter().map(|file| file.0).filter(|name| has(name)).map(str::to_owned);
    let charts = parts.charts.iter().map(|chart| &chart.id);
    let drawn = charts.flat_map(|name| [format!("{name}.svg"), format!("{name}.png")]);
    fixed.chain(drawn).collect()
}

/// A text file of a run with its media type, by name.
pub(crate) fn text(
    name: &str,
    stored: &StoredRun,
    summary: &Summary,
    parts: &ReportParts,
) -> Option<(&'static str, String)> {
    let (_, content_type, make) = FILES.iter().find(|file| file.0 == name)?;
    Some((content_type, make(stored, summary, parts)?))
}

/// A chart of the run as SVG, by name.
pub(crate) fn picture(name: &str, parts: &ReportParts) -> Option<String> {
    let chart = parts.charts.iter().find(|chart| chart.id == name)?;
    Some(plot::file(chart, Theme::Light))
}
