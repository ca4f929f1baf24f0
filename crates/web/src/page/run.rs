//! The page of one run: its report and the list of its files, or only its plan if it has no results.
//! Another module makes the report.

use minijinja::context;

use inferometer_store::{Note, RunState, StoredRun};

use crate::page::lines::RunLine;
use crate::report::plan_text;
use crate::{PageError, Site, html_response};
use inferometer_net::http::pages::{RequestTarget, Response, link};

/// The page `/runs/RUN`.
pub(crate) fn run(site: &mut Site, target: &RequestTarget) -> Result<Response, PageError> {
    let stored = site.store.run(target.segment(1))?;
    let id = stored.row.id.to_string();
    if target.segment(1) != id {
        return Ok(Response::redirect(link(&["runs", &id], &[])));
    }
    let StoredRun { row, summary, .. } = &stored;
    let title = format!("{} · {id}", row.model);
    let Some(summary) = summary else { return without_results(stored, &title) };
    let report = site.reports.of_run(&stored, summary)?;
    let state = (row.state != RunState::Complete).then(|| row.state.name().to_owned());
    let badges: Vec<String> =
        [state, row.missing.clone(), row.failures()].into_iter().flatten().collect();
    let notes = site.store.notes(&row.id)?;
    let day = |note: &Note| note.at.get(..10).unwrap_or(&note.at).to_owned();
    let notes: Vec<_> = notes.iter().map(|note| (day(note), &note.text)).collect();
    let (tags, files, report) = (&row.tags, &report.files, &report.markup);
    html_response("page/run.html", context! { title, id, badges, tags, files, notes, report })
}

/// The page of a run that is in progress, or that ended without results.
fn without_results(stored: StoredRun, title: &str) -> Result<Response, PageError> {
    let (plan, has_log) = (plan_text(&stored), stored.log.is_file());
    let (plan, line) = (plan.trim_end().lines().collect::<Vec<_>>(), RunLine::of(stored.row));
    html_response("page/no_results.html", context! { title, line, has_log, plan })
}
