//! The page with the trend of the runs with a tag: since when a figure is worse or better, and charts over the runs.

use std::collections::BTreeMap;

use inferometer_analysis::compare::FALSE_ALARMS;
use inferometer_report::{charts, page, plot, trend as text};
use inferometer_store::RunFilter;

use crate::{Html, Layout, PageError, Section, Site, html_response};
use inferometer_net::http::pages::{RequestTarget, Response, link};

/// The page `/trend`. With the query `tag=TAG`, the trend of the runs with this tag; several tags must all be there. `by`
/// says how runs are named, as for the command. Without a tag, a list of tags.
pub(crate) fn trend(site: &mut Site, target: &RequestTarget) -> Result<Response, PageError> {
    let tags: Vec<String> = target.values(&["tag"]).into_iter().map(str::to_owned).collect();
    let mut content = Html::new();
    content.raw("<h1>Trend</h1>\n");
    if tags.is_empty() {
        content.append(&choice(site)?);
        return Ok(html_response(&Layout::new("Trend", Section::Trend).wrap(&content)));
    }
    let filter = RunFilter { tags: tags.clone(), ..RunFilter::default() };
    let (trend, left_out) =
        inferometer_run::trend(&site.store, &filter, target.value("by"), &[], FALSE_ALARMS)?;
    content.raw("<p>").text(&format!("Runs with the tag {}. ", tags.join(" and ")));
    let query: Vec<(&str, &str)> = tags.iter().map(|tag| ("tag", tag.as_str())).collect();
    content.link(&link(&[], &query), "List them").raw("</p>\n");
    let told = text::sentences(&trend);
    if trend.runs.is_empty() {
        content.paragraph("No run with results has this tag.");
    } else if told.is_empty() {
        content.paragraph("No change is found.");
    } else {
        content.raw("<ul>\n");
        for sentence in told {
            content.raw("<li>").text(&sentence).raw("</li>\n");
        }
        content.raw("</ul>\n");
    }
    content.append(&Html::trusted(page::table(&text::table(&trend))));
    content.paragraph(&text::explanation(&trend));
    for why in left_out {
        content.paragraph(&format!("Left out: {why}"));
    }
    for chart in charts::of_trend(&trend) {
        content.append(&Html::trusted(plot::figure(&chart)));
    }
    Ok(html_response(&Layout::new("Trend", Section::Trend).wrap(&content)))
}

/// The tags of the store, each with its number of runs, those of most runs first.
fn choice(site: &Site) -> Result<Html, PageError> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for row in site.store.runs()? {
        for tag in row.tags.into_iter().filter(|tag| !tag.contains('=')) {
            *counts.entry(tag).or_default() += 1;
        }
    }
    let mut tags: Vec<(String, usize)> = counts.into_iter().collect();
    tags.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(&other.0)));
    let mut out = Html::new();
    if tags.is_empty() {
        out.paragraph("No run has a tag. `inferometer tag RUN nightly` adds one.");
        return Ok(out);
    }
    out.paragraph("Choose the tag of a series of runs, such as nightly runs.");
    out.raw("<ul>\n");
    for (tag, runs) in tags {
        let runs = inferometer_model::digits::counted(runs as u64, "run");
        out.raw("<li>").link(&link(&["trend"], &[("tag", &tag)]), &tag);
        out.text(&format!(" ({runs})")).raw("</li>\n");
    }
    out.raw("</ul>\n");
    Ok(out)
}
