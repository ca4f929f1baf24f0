//! Makes the files of a run when they are requested, from the stored results and the charts of the run. This
//! module reads no file on disk.

use inferometer_analysis::Summary;
use inferometer_report::plot::{Form, Theme};
use inferometer_report::{csv, html, json, markdown, plot, published, table};
use inferometer_store::StoredRun;

use crate::report::{ReportParts, plan_text};

/// A file: its name, its media type, and the function that makes it. The function returns `None` if the
/// run has no such file.
type File = (&'static str, &'static str, fn(&StoredRun, &Summary, &ReportParts) -> Option<String>);

const MARKDOWN: &str = "text/markdown; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";

const FILES: [File; 8] = [
    ("report.html", "text/html; charset=utf-8", |_, summary, parts| {
        Some(html::report(&parts.input(summary)))
    }),
    ("report.md", MARKDOWN, |_, summary, parts| {
        Some(markdown::report(&parts.input(summary), Form::Png))
    }),
    ("table.md", MARKDOWN, |_, summary, _| Some(table::markdown(std::slice::from_ref(summary)))),
    ("cells.csv", "text/csv; charset=utf-8", |_, summary, _| Some(csv::cells(summary))),
    ("summary.json", "application/json", |_, summary, _| Some(json::summary(summary))),
    ("plan.toml", PLAIN, |stored, _, _| Some(plan_text(stored))),
    ("blocks.log", PLAIN, |_, summary, _| published::log(summary)),
    ("blocks.md", MARKDOWN, |_, summary, _| published::size_tables(summary)),
];

/// The names of all files of a run: text files, and each chart as SVG and PNG.
pub(crate) fn names(summary: &Summary, parts: &ReportParts) -> Vec<String> {
    let blocks = published::log(summary).is_some();
    let has = |name: &str| blocks || !name.starts_with("blocks.");
    let fixed = FILES.iter().map(|file| file.0).filter(|name| has(name)).map(str::to_owned);
    let charts = parts.charts.iter().map(|chart| &chart.id);
    let drawn = charts.flat_map(|name| [format!("{name}.svg"), format!("{name}.png")]);
    fixed.chain(drawn).collect()
}

/// The media type and the content of a text file of a run; `None` if the run has no such file.
pub(crate) fn text(
    name: &str,
    stored: &StoredRun,
    summary: &Summary,
    parts: &ReportParts,
) -> Option<(&'static str, String)> {
    let (_, content_type, make) = FILES.iter().find(|file| file.0 == name)?;
    Some((content_type, make(stored, summary, parts)?))
}

/// The chart with this id as SVG; `None` if the run has no such chart.
pub(crate) fn picture(name: &str, parts: &ReportParts) -> Option<String> {
    let chart = parts.charts.iter().find(|chart| chart.id == name)?;
    Some(plot::file(chart, Theme::Light))
}
