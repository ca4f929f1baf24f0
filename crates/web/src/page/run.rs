//! One run: its report, the files that can be had of it, and what goes on while it has none yet.

use std::rc::Rc;

use inferometer_analysis::summary::Summary;
use inferometer_plan::Plan;
use inferometer_report::chart::Chart;
use inferometer_report::trace::Traces;
use inferometer_report::{ReportInput, charts, html, plan_toml};
use inferometer_run::traces;
use inferometer_store::{Note, RunState, StoredRun};

use crate::answer::{Answer, Trouble};
use crate::asked::{Asked, link};
use crate::chrome::{Frame, Part};
use crate::markup::Html;
use crate::page::files;
use crate::page::lines::Line;
use crate::page::reports::{Reports, Takes};
use crate::site::Site;

/// Logs of more bytes than this are read on a thread of their own: some 20 MB are read in a second.
const LONG_LOG: u64 = 4 << 20;

/// A report as markup, what it was made of, and the names of the files beside it.
pub(crate) struct Written {
    markup: Html,
    files: Vec<String>,
    /// What it was made of: to read a log takes long.
    pub(crate) report: Report,
}

/// `/runs/RUN`
pub(crate) fn run(site: &mut Site, asked: &Asked) -> Result<Answer, Trouble> {
    let stored = site.store.run(asked.segment(1))?;
    let id = stored.row.id.to_string();
    if asked.segment(1) != id {
        return Ok(Answer::see(link(&["runs", &id], &[])));
    }
    let title = format!("{} · {id}", stored.row.model);
    let content = match &stored.summary {
        Some(summary) => {
            let written = written(&mut site.reports, &stored, summary)?;
            let notes = site.store.notes(&stored.row.id)?;
            let mut content = around(&stored, &notes, &written.files);
            content.piece(&written.markup);
            content
        }
        None => without_results(stored),
    };
    Ok(Answer::page(&Frame::of(&title, Part::Runs).around(&content)))
}

/// The report of a run, made anew where it was not made lately.
///
/// # Errors
/// [`Trouble::NotYet`] while a long log is read.
pub(crate) fn written(
    reports: &mut Reports,
    stored: &StoredRun,
    summary: &Summary,
) -> Result<Rc<Written>, Trouble> {
    let is_long = stored.log.metadata().is_ok_and(|log| log.len() > LONG_LOG);
    let takes = if is_long { Takes::Longer } else { Takes::AMoment };
    let (id, stored, summary) = (stored.row.id.to_string(), stored.clone(), summary.clone());
    reports.of(&id, takes, move || Written::of(&stored, &summary))
}

impl Written {
    fn of(stored: &StoredRun, summary: &Summary) -> Result<Self, Trouble> {
        let report = Report::of(stored, summary)?;
        // Its files have a list of their own, above it.
        let input = ReportInput { files: &[], ..report.input(summary) };
        let markup = Html::made(html::body(&input));
        let files = files::names(summary, &report);
        Ok(Self { markup, files, report })
    }

    /// One without content.
    #[cfg(test)]
    pub(crate) fn empty() -> Self {
        let report = Report {
            charts: Vec::new(),
            traces: Traces::default(),
            plan: String::new(),
            again: String::new(),
        };
        Self { markup: Html::new(), files: Vec::new(), report }
    }
}

/// What a report is made of, for a stored run.
pub(crate) struct Report {
    /// Its charts.
    pub(crate) charts: Vec<Chart>,
    /// What its passes looked like.
    pub(crate) traces: Traces,
    plan: String,
    again: String,
}

impl Report {
    /// Makes the charts of a run from its results and its log, and writes its plan.
    ///
    /// # Errors
    /// When its log is there and cannot be read.
    pub(crate) fn of(stored: &StoredRun, summary: &Summary) -> Result<Self, Trouble> {
        let known = serde_json::from_str::<Plan>(&stored.plan_json).ok();
        // Runs without records of their own, such as imported ones, have no log.
        let traces = match known.filter(|_| stored.log.exists()) {
            Some(plan) => traces::of_log(&stored.log, &plan)?,
            None => Traces::default(),
        };
        Ok(Self {
            charts: charts::of_run(summary, &traces),
            traces,
            plan: plan(stored),
            again: format!("inferometer report {}", stored.row.id),
        })
    }

    /// The report's input.
    pub(crate) fn input<'a>(&'a self, summary: &'a Summary) -> ReportInput<'a> {
        ReportInput {
            summary,
            charts: &self.charts,
            traces: &self.traces,
            plan_toml: &self.plan,
            files: &["summary.json", "cells.csv", "table.md", "report.md"],
            report_command: &self.again,
            run_command: "inferometer run PLAN.toml",
        }
    }
}

/// The plan as a file; as it was stored, where it is of another version of this program.
pub(crate) fn plan(stored: &StoredRun) -> String {
    let salt = stored.environment.salt.as_deref();
    if let Some(file) = &stored.row.imported_from {
        return format!("# imported from {file}: it has no plan\n");
    }
    match serde_json::from_str::<Plan>(&stored.plan_json) {
        Ok(plan) => plan_toml(&plan, salt),
        Err(_) => format!("# of another version of this program\n{}\n", stored.plan_json),
    }
}

/// What stands above the report.
fn around(stored: &StoredRun, notes: &[Note], files: &[String]) -> Html {
    let id = stored.row.id.as_str();
    let mut out = Html::new();
    out.raw("<div class=\"above\">\n<p>Run <code>").text(id).raw("</code>");
    if stored.row.state != RunState::Complete {
        let state = stored.row.state.name();
        out.raw(" <span class=\"badge warning\">").text(state).raw("</span>");
    }
    if let Some(missing) = &stored.row.missing {
        out.raw(" <span class=\"badge warning\">").text(missing).raw("</span>");
    }
    for tag in &stored.row.tags {
        out.raw(" <a class=\"badge\"").attribute("href", &link(&[], &[("tag", tag)])).raw(">");
        out.text(tag).raw("</a>");
    }
    out.raw("</p>\n<details><summary>Files</summary><ul class=\"files\">\n");
    for name in files {
        out.raw("<li><a").attribute("href", &link(&["runs", id, name], &[]));
        out.raw(" download>").text(name).raw("</a></li>\n");
    }
    out.raw("</ul></details>\n<p>");
    out.link(&link(&["compare"], &[("run", id)]), "Compare with another run");
    out.raw("</p>\n</div>\n");
    if !notes.is_empty() {
        out.raw("<ul aria-label=\"Notes\">\n");
        for Note { at, text } in notes {
            let day = at.get(..10).unwrap_or(at);
            out.raw("<li>").text(text).raw(" <span class=\"soft\">").text(day);
            out.raw("</span></li>\n");
        }
        out.raw("</ul>\n");
    }
    out
}

/// A run that goes on, or ended without a word.
fn without_results(stored: StoredRun) -> Html {
    let plan = plan(&stored);
    let line = Line::of(stored.row);
    let mut out = Html::new();
    out.raw("<h1>").text(&format!("{} on {}", line.model, line.engine)).raw("</h1>\n");
    out.raw("<div class=\"callout note\"><p><b>")
        .text(&format!("Run {} is {}", line.id, line.state));
    out.raw("</b></p>\n");
    out.paragraph(&format!("It began at {} UTC and has no results yet.", line.started));
    out.raw("<p>").link(&link(&["runs", &line.id, "live"], &[]), "What it recorded so far");
    out.raw("</p></div>\n<h2>Plan</h2>\n<pre><code>");
    for text in plan.trim_end().lines() {
        out.text(text).raw("\n");
    }
    out.raw("</code></pre>\n");
    out
}
