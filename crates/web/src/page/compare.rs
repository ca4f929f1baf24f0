//! The page that compares several runs with a baseline, which is the first run. It shows a table of metrics
//! for each other run, and charts with all runs. The analysis crate does the comparison.

use std::collections::HashSet;

use inferometer_analysis::Summary;
use inferometer_analysis::compare::{Options, Subject, compare as compare_subjects};
use inferometer_report::{charts, difference, plot};

use crate::{Html, Layout, PageError, Section, Site, html_response, page::lines::lines};
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
    let mut content = Html::new();
    content.raw("<h1>Comparison</h1>\n");
    if summaries.len() < 2 {
        content.paragraph("Choose two runs, or select several runs in the list of runs.");
        content.append(&form(site, names.first().copied())?);
    } else {
        content.append(&chosen(&summaries, margin));
        content.append(&differences(&summaries, margin));
        content.append(&plots(summaries));
    }
    Ok(html_response(&Layout::new("Comparison", Section::Runs).wrap(&content)))
}

/// The margin in percent. Smaller differences do not matter.
fn margin(target: &RequestTarget) -> Result<f64, PageError> {
    let Some(text) = target.value("margin") else { return Ok(100.0 * Options::default().margin) };
    let percent = text.parse().ok().filter(|percent: &f64| *percent > 0.0 && *percent < 100.0);
    percent.ok_or_else(|| {
        PageError::BadQuery(format!("margin={text}: is not a percentage between 0 and 100"))
    })
}

/// A form in which a user selects two runs. `first` is selected as the baseline.
fn form(site: &Site, first: Option<&str>) -> Result<Html, PageError> {
    let mut runs = lines(&site.store)?;
    runs.retain(|line| line.has_results);
    let mut out = Html::new();
    out.raw("<form class=\"filters\" method=\"get\">\n");
    for (name, label, chosen) in [("a", "Baseline", first), ("b", "Compared run", None)] {
        out.raw("<label>").text(label).raw(" <select").attribute("name", name).raw(">");
        for line in runs.iter().rev().take(RECENT_RUNS) {
            out.raw("<option").attribute("value", &line.id);
            if chosen == Some(&line.id) {
                out.raw(" selected");
            }
            let text = format!("{} · {} · {} ({})", line.id, line.model, line.engine, line.kind);
            out.raw(">").text(&text).raw("</option>");
        }
        out.raw("</select></label>\n");
    }
    out.raw("<button>Compare</button></form>\n");
    Ok(out)
}

/// The list of the compared runs. Each run except the baseline has a link that makes it the baseline.
fn chosen(summaries: &[(String, Summary)], margin: f64) -> Html {
    let mut out = Html::new();
    out.raw("<ul>\n");
    for (at, (id, summary)) in summaries.iter().enumerate() {
        out.raw("<li>").link(&link(&["runs", id], &[]), id).raw(" ");
        let engine = summary.target.engine.as_deref().unwrap_or("unknown engine");
        out.text(&format!("{} on {engine}", summary.target.model));
        if at == 0 {
            out.raw(" <b>(the baseline)</b>");
        } else {
            let margin = margin.to_string();
            let mut query = vec![("a", id.as_str())];
            query.extend(summaries.iter().filter(|(o, _)| o != id).map(|(o, _)| ("b", o.as_str())));
            query.push(("margin", &margin));
            out.raw(" (").link(&link(&["compare"], &query), "use as baseline").raw(")");
        }
        out.raw("</li>\n");
    }
    out.raw("</ul>\n");
    out
}

/// The comparison of each run with the baseline.
fn differences(summaries: &[(String, Summary)], margin: f64) -> Html {
    let options = Options { margin: margin / 100.0, ..Options::default() };
    let mut subjects = summaries.iter().map(|(id, summary)| Subject::of_run(id.clone(), summary));
    let mut out = Html::new();
    let Some(baseline) = subjects.next() else { return out };
    for contender in subjects {
        out.raw("<h2>").text(&format!("{} against {}", contender.name, baseline.name));
        out.raw("</h2>\n");
        match compare_subjects(&baseline, &contender, options) {
            Ok(comparison) => out.append(&Html::trusted(difference::html(&comparison))),
            Err(nothing) => {
                out.raw("<div class=\"callout warning\">").paragraph(&nothing.to_string());
                out.raw("</div>\n")
            }
        };
    }
    out
}

/// The charts of all runs together.
fn plots(summaries: Vec<(String, Summary)>) -> Html {
    let summaries: Vec<Summary> = summaries.into_iter().map(|(_, summary)| summary).collect();
    let mut out = Html::new();
    out.raw("<h2>Plots</h2>\n");
    let charts = charts::of_several(&summaries);
    if let Some(first) = charts.first() {
        out.paragraph(&first.subject);
    }
    for chart in &charts {
        out.append(&Html::trusted(plot::figure(chart)));
    }
    out
}
