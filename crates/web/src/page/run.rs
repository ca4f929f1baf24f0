//! The page of one run: its report and the list of its files, or only its plan if it has no results.
//! Another module makes the report.

use inferometer_store::{Note, RunState, StoredRun};

use crate::page::lines::RunLine;
use crate::report::plan_text;
use crate::{Html, Layout, PageError, Section, Site, html_response};
use inferometer_net::http::pages::{RequestTarget, Response, link};

/// The page `/runs/RUN`.
pub(crate) fn run(site: &mut Site, target: &RequestTarget) -> Result<Response, PageError> {
    let stored = site.store.run(target.segment(1))?;
    let id = stored.row.id.to_string();
    if target.segment(1) != id {
        return Ok(Response::redirect(link(&["runs", &id], &[])));
    }
    let title = format!("{} · {id}", stored.row.model);
    let content = match &stored.summary {
        Some(summary) => {
            let report = site.reports.of_run(&stored, summary)?;
            let notes = site.store.notes(&stored.row.id)?;
            let mut content = above_report(&stored, &notes, &report.files);
            content.append(&report.markup);
            content
        }
        None => without_results(stored),
    };
    Ok(html_response(&Layout::new(&title, Section::Runs).wrap(&content)))
}

/// The part of the page above the report: state, failures, tags, files, a link to a comparison, and notes.
fn above_report(stored: &StoredRun, notes: &[Note], files: &[String]) -> Html {
    let id = stored.row.id.as_str();
    let mut out = Html::new();
    out.raw("<div class=\"above\">\n<p>Run <code>").text(id).raw("</code>");
    if stored.row.state != RunState::Complete {
        let state = stored.row.state.name();
        out.raw(" <span class=\"badge warning\">").text(state).raw("</span>");
    }
    for text in [stored.row.missing.clone(), stored.row.failures()].into_iter().flatten() {
        out.raw(" <span class=\"badge warning\">").text(&text).raw("</span>");
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

/// The page of a run that is in progress, or that ended without results.
fn without_results(stored: StoredRun) -> Html {
    let plan = plan_text(&stored);
    let has_log = stored.log.is_file();
    let line = RunLine::of(stored.row);
    let mut out = Html::new();
    out.raw("<h1>").text(&format!("{} on {}", line.model, line.engine)).raw("</h1>\n");
    out.raw("<div class=\"callout note\"><p><b>")
        .text(&format!("Run {} is {}", line.id, line.state));
    out.raw("</b></p>\n");
    out.paragraph(&format!("It began at {} UTC and has no results.", line.started));
    out.raw("<p>");
    match has_log {
        true => out.link(&link(&["runs", &line.id, "live"], &[]), "Records so far"),
        false => out.text("It has no records: its log does not exist."),
    };
    out.raw("</p></div>\n<h2>Plan</h2>\n<pre><code>");
    for text in plan.trim_end().lines() {
        out.text(text).raw("\n");
    }
    out.raw("</code></pre>\n");
    out
}
