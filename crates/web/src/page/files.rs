//! The files of a run, made from its results when they are asked for. No file is opened for them
//! but the run's log.

use inferometer_analysis::summary::Summary;
use inferometer_report::plot::Theme;
use inferometer_report::{csv, html, json, markdown, page, plot, published, table};
use inferometer_store::StoredRun;

use crate::answer::{Answer, Trouble};
use crate::asked::Asked;
use crate::page::run::{Report, plan, written};
use crate::site::Site;

/// A file: its name, its type, and what makes it; nothing where a run has none such.
type File = (&'static str, &'static str, fn(&StoredRun, &Summary, &Report) -> Made);

/// The text of a file.
type Made = Option<String>;

const MARKDOWN: &str = "text/markdown; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";

const FILES: [File; 8] = [
    ("report.html", "text/html; charset=utf-8", |_, summary, report| {
        Some(html::report(&report.input(summary)))
    }),
    ("report.md", MARKDOWN, |_, summary, report| Some(markdown::report(&report.input(summary)))),
    ("table.md", MARKDOWN, |_, summary, _| Some(table::markdown(std::slice::from_ref(summary)))),
    ("cells.csv", "text/csv; charset=utf-8", |_, summary, _| Some(csv::cells(summary))),
    ("summary.json", "application/json", |_, summary, _| Some(json::summary(summary) + "\n")),
    ("plan.toml", PLAIN, |stored, _, _| Some(plan(stored))),
    ("blocks.log", PLAIN, |_, summary, _| published::log(summary)),
    ("blocks.md", MARKDOWN, |_, summary, _| published::size_tables(summary)),
];

/// Pixels of a plot for each unit of its drawing.
const PNG_SCALE: f32 = 2.0;

/// The names of the files that a run has.
pub(crate) fn names(summary: &Summary, report: &Report) -> Vec<String> {
    let blocks = published::log(summary).is_some();
    let has = |name: &str| blocks || !name.starts_with("blocks.");
    let fixed = FILES.iter().map(|file| file.0).filter(|name| has(name)).map(str::to_owned);
    let charts = report.charts.iter().map(|chart| &chart.id);
    let drawn = charts.flat_map(|name| [format!("{name}.svg"), format!("{name}.png")]);
    fixed.chain(drawn).collect()
}

/// `/runs/RUN/FILE`
pub(crate) fn file(site: &mut Site, asked: &Asked) -> Result<Answer, Trouble> {
    let stored = site.store.run(asked.segment(1))?;
    let name = asked.segment(2);
    let missing = || Trouble::NotFound(format!("run {} has no file {name}", stored.row.id));
    let summary = stored.summary.as_ref().ok_or_else(missing)?;
    let written = written(&mut site.reports, &stored, summary)?;
    if let Some((_, content_type, make)) = FILES.iter().find(|file| file.0 == name) {
        let text = make(&stored, summary, &written.report).ok_or_else(missing)?;
        let answer = Answer::of(content_type, text.into_bytes());
        return Ok(match name {
            // It stands alone: its style and its script are its own.
            "report.html" => {
                let policy = page::policy("frame-ancestors 'none'");
                answer.with("content-security-policy", policy)
            }
            _ => answer,
        });
    }
    let (stem, end) = name.rsplit_once('.').ok_or_else(missing)?;
    if !["svg", "png"].contains(&end) {
        return Err(missing());
    }
    let svg = picture(stem, &written.report).ok_or_else(missing)?;
    if end == "svg" {
        return Ok(Answer::of("image/svg+xml", svg.into_bytes()));
    }
    match plot::png(&svg, PNG_SCALE) {
        Ok(png) => Ok(Answer::of("image/png", png)),
        Err(error) => Err(Trouble::Asked(error.to_string())),
    }
}

/// A chart of the run, by its name.
fn picture(name: &str, report: &Report) -> Made {
    let chart = report.charts.iter().find(|chart| chart.id == name)?;
    Some(plot::file(chart, Theme::Light))
}
