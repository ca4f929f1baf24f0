//! The page with the trend of the runs with a tag: since when a figure is worse or better, and charts over the runs.

use std::collections::BTreeMap;

use inferometer_analysis::compare::FALSE_ALARMS;
use inferometer_report::{charts, page, plot, trend as text};
use inferometer_store::RunFilter;

use minijinja::context;

use crate::{PageError, Site, html_response, trusted};
use inferometer_net::http::pages::{RequestTarget, Response, link};

/// The page `/trend`. With the query `tag=TAG`, the trend of the runs with this tag; several tags must all be there. `by`
/// says how runs are named, as for the command. Without a tag, a list of tags.
pub(crate) fn trend(site: &mut Site, target: &RequestTarget) -> Result<Response, PageError> {
    let tags: Vec<String> = target.values(&["tag"]).into_iter().map(str::to_owned).collect();
    if tags.is_empty() {
        let tags = choice(site)?;
        return html_response("page/trend.html", context! { tags });
    }
    let filter = RunFilter { tags: tags.clone(), ..RunFilter::default() };
    let (trend, left_out) =
        inferometer_run::trend(&site.store, &filter, target.value("by"), &[], FALSE_ALARMS)?;
    let query: Vec<(&str, &str)> = tags.iter().map(|tag| ("tag", tag.as_str())).collect();
    let figures = charts::of_trend(&trend).into_iter().map(|chart| trusted(plot::figure(&chart)));
    html_response(
        "page/trend.html",
        context! {
            tags => (), chosen => tags, list => link(&[], &query),
            has_runs => !trend.runs.is_empty(), sentences => text::sentences(&trend),
            without_a_change => text::without_a_change(&trend),
            warnings => [text::workloads(&trend), text::warnings(&trend)].concat(),
            table => trusted(page::table(&text::table(&trend))),
            explanation => text::explanation(&trend), left_out,
            figures => figures.collect::<Vec<_>>(),
        },
    )
}

/// The tags of the store, each with its number of runs, those of most runs first.
fn choice(site: &Site) -> Result<Vec<(String, String)>, PageError> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for row in site.store.runs()? {
        for tag in row.tags.into_iter().filter(|tag| !tag.contains('=')) {
            *counts.entry(tag).or_default() += 1;
        }
    }
    let mut tags: Vec<(String, usize)> = counts.into_iter().collect();
    tags.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(&other.0)));
    let counted = |(tag, runs)| (tag, inferometer_model::digits::counted(runs as u64, "run"));
    Ok(tags.into_iter().map(counted).collect())
}
