//! The files of a run, made from its results when they are asked for. No file is opened for them.

use inferometer_core::summary::Summary;
use inferometer_report::plot::Theme;
use inferometer_report::trace::Traces;
use inferometer_report::{
    chart, csv, html, json, markdown, page, plot, published, table, title, view,
};
use inferometer_store::StoredRun;

use crate::answer::{Answer, Trouble};
use crate::asked::Asked;
use crate::page::run::{Report, plan};
use crate::site::Site;

/// A file: its name, its type, and what makes it; nothing where a run has none such.
type File = (&'static str, &'static str, fn(&StoredRun, &Summary) -> Option<String>);

const MARKDOWN: &str = "text/markdown; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";

const FILES: [File; 8] = [
    ("report.html", "text/html; charset=utf-8", |stored, summary| {
        Some(html::report(&Report::of(stored, summary).input(summary)))
    }),
    ("report.md", MARKDOWN, |stored, summary| {
        Some(markdown::report(&Report::of(stored, summary).input(summary)))
    }),
    ("table.md", MARKDOWN, |_, summary| Some(table::markdown(std::slice::from_ref(summary)))),
    ("cells.csv", "text/csv; charset=utf-8", |_, summary| Some(csv::cells(summary))),
    ("summary.json", "application/json", |_, summary| Some(json::summary(summary) + "\n")),
    ("plan.toml", PLAIN, |stored, _| Some(plan(stored))),
    ("blocks.log", PLAIN, |_, summary| published::log(summary)),
    ("blocks.md", MARKDOWN, |_, summary| published::size_tables(summary)),
];

/// Pixels of a plot for each unit of its drawing.
const PNG_SCALE: f32 = 2.0;

/// The names of the files that a run has.
pub(crate) fn names(summary: &Summary) -> Vec<String> {
    let blocks = published::log(summary).is_some();
    let has = |name: &str| blocks || !name.starts_with("blocks.");
    let fixed = FILES.iter().map(|file| file.0).filter(|name| has(name)).map(str::to_owned);
    let plots = plots(summary).into_iter();
    let plots = plots.flat_map(|(name, _)| ["svg", "png"].map(|end| format!("{name}.{end}")));
    fixed.chain(plots).collect()
}

/// The plots of a run under their names, as SVG: those that its results alone make.
fn plots(summary: &Summary) -> Vec<(String, String)> {
    let figures = plot::figures(std::slice::from_ref(summary), Theme::Light).into_iter();
    let charts = view::of_run(summary, &Traces::default()).into_iter();
    let subtitle = title(summary);
    let charts = charts.map(|chart| {
        let svg = chart::file(&chart, &subtitle, Theme::Light);
        (chart.id, svg)
    });
    figures.map(|plot| (plot.name.to_owned(), plot.svg)).chain(charts).collect()
}

/// `/runs/RUN/FILE`
pub(crate) fn file(site: &mut Site, asked: &Asked) -> Result<Answer, Trouble> {
    let stored = site.store.run(asked.segment(1))?;
    let name = asked.segment(2);
    let missing = || Trouble::NotFound(format!("run {} has no file {name}", stored.row.id));
    let summary = stored.summary.as_ref().ok_or_else(missing)?;
    if let Some((_, content_type, make)) = FILES.iter().find(|file| file.0 == name) {
        let text = make(&stored, summary).ok_or_else(missing)?;
        let answer = Answer::of(content_type, text.into_bytes());
        return Ok(match name {
            // It stands alone: its style is its own.
            "report.html" => {
                let policy = page::policy("frame-ancestors 'none'");
                answer.with("content-security-policy", policy)
            }
            _ => answer,
        });
    }
    let (stem, end) = name.rsplit_once('.').ok_or_else(missing)?;
    let (_, svg) = plots(summary).into_iter().find(|(plot, _)| plot == stem).ok_or_else(missing)?;
    match end {
        "svg" => Ok(Answer::of("image/svg+xml", svg.into_bytes())),
        "png" => match plot::png(&svg, PNG_SCALE) {
            Ok(png) => Ok(Answer::of("image/png", png)),
            Err(error) => Err(Trouble::Asked(error.to_string())),
        },
        _ => Err(missing()),
    }
}
