//! The page that compares several runs with a baseline, which is the first run. It shows a table of metrics
//! for each other run, and charts with all runs. The analysis crate does the comparison.

use std::collections::HashSet;

use inferometer_analysis::Summary;
use inferometer_analysis::compare::{Options, Subject, compare as compare_subjects};
use inferometer_report::{charts, difference, plot};

use minijinja::{Value, context};

use crate::{PageError, Site, html_response, page::lines::lines, trusted};
use inferometer_net::http::pages::{RequestTarget, Response, link};

/// The maximum number of runs in one comparison. More runs would make the charts unreadable, because charts
/// name each run.
const MAX_RUNS: usize = 8;
/// The number of recent runs that the form offers.
const RECENT_RUNS: usize = 200;

/// The page `/compare`. With the query `run=A&run=B`, the oldest run is the baseline. With the query
/// `a=A&b=B`, the run A is the baseline.
pub(crate) fn compare(site: &mut Site, target: &RequestTarget) -> Result<Response, PageError> {
    let mut names = target.values(&["a", "b", "run"]);
    let mut known = HashSet::new();
    names.retain(|name| known.insert(*name));
    if names.len() > MAX_RUNS {
        return Err(PageError::BadQuery(format!(
            "{} runs are chosen, but at most {MAX_RUNS} can be compared: choose fewer",
            names.len()
        )));
    }
    let margin = margin(target)?;
    let mut stored = Vec::new();
    for name in &names {
        stored.push(site.store.run(name)?);
    }
    // A browser sends the checkboxes in the order of the list, which may begin with the latest run.
    if target.value("a").is_none() {
        stored.sort_by_cached_key(|run| (run.row.started_at.clone(), run.row.id.to_string()));
    }
    stored.dedup_by_key(|run| run.row.id.to_string());
    let mut summaries = Vec::new();
    for run in stored {
        let id = run.row.id.to_string();
        let without = || PageError::BadQuery(format!("run {id} has no results"));
        summaries.push((id.clone(), run.summary.ok_or_else(without)?));
    }
    if summaries.len() < 2 {
        let mut offered = lines(&site.store)?;
        offered.retain(|line| line.has_results);
        let offered: Vec<_> = offered.iter().rev().take(RECENT_RUNS).collect();
        let first = names.first();
        return html_response("page/compare.html", context! { offered, first });
    }
    let chosen: Vec<_> = summaries.iter().map(|run| chosen(run, &summaries, margin)).collect();
    let differences = differences(&summaries, margin);
    let summaries: Vec<Summary> = summaries.into_iter().map(|(_, summary)| summary).collect();
    let charts = charts::of_several(&summaries);
    let subject = charts.first().map(|first| &first.subject);
    let figures: Vec<Value> = charts.iter().map(|chart| trusted(plot::figure(chart))).collect();
    let offered = ();
    html_response("page/compare.html", context! { offered, chosen, differences, subject, figures })
}

/// The margin in percent. Smaller differences do not matter.
fn margin(target: &RequestTarget) -> Result<f64, PageError> {
    let Some(text) = target.value("margin") else { return Ok(100.0 * Options::default().margin) };
    let percent = text.parse().ok().filter(|percent: &f64| *percent > 0.0 && *percent < 100.0);
    percent.ok_or_else(|| {
        PageError::BadQuery(format!("margin={text}: is not a percentage between 0 and 100"))
    })
}

/// A compared run: its id, its model and engine, and the link that makes it the baseline.
fn chosen(
    (id, summary): &(String, Summary),
    all: &[(String, Summary)],
    margin: f64,
) -> (String, String, String) {
    let engine = summary.target.engine.as_deref().unwrap_or("unknown engine");
    let margin = margin.to_string();
    let others = all.iter().map(|(other, _)| other).filter(|other| *other != id);
    let mut query = vec![("a", id.as_str())];
    query.extend(others.map(|other| ("b", other.as_str())));
    query.push(("margin", &margin));
    (id.clone(), format!("{} on {engine}", summary.target.model), link(&["compare"], &query))
}

/// The comparison of each run with the baseline: a heading, and tables or the reason why there are none.
fn differences(
    summaries: &[(String, Summary)],
    margin: f64,
) -> Vec<(String, Option<Value>, Option<String>)> {
    let options = Options { margin: margin / 100.0, ..Options::default() };
    let mut subjects = summaries.iter().map(|(id, summary)| Subject::of_run(id.clone(), summary));
    let Some(baseline) = subjects.next() else { return Vec::new() };
    let against = |contender: Subject| {
        let heading = format!("{} against {}", contender.name, baseline.name);
        match compare_subjects(&baseline, &contender, options) {
            Ok(comparison) => (heading, Some(trusted(difference::html(&comparison))), None),
            Err(nothing) => (heading, None, Some(nothing.to_string())),
        }
    };
    subjects.map(against).collect()
}
