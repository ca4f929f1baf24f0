//! Every metric, in one list. A new metric needs its file, its `mod` line in `lib.rs`, and a line here.
//! Schemas and the store also need its key: see ARCHITECTURE.md, "The key of a metric".
//!
//! The [`Definition`] of a metric determines its use: whether its distribution is in results, whether
//! objectives may name it, and where it is shown. The code for results, objectives, goodput, searches,
//! comparisons, tables, charts, exports and live views iterates over this list.

use crate::definition::{Definition, Exported, JudgedOn, Live, OnRequests};
use crate::statistic::Statistic;
use crate::{
    concurrency, duration, e2e, failures, goodput, icl, itl, latency_per_output_token,
    latency_per_token, per_user_speed, send_delay, steady_state, throughput, tpot, ttfot, ttft,
};

static DEFINITIONS: [&Definition; 25] = [
    &ttft::FROM_SENT,
    &tpot::DEFINITION,
    &itl::DEFINITION,
    &e2e::FROM_SENT,
    &ttft::FROM_DUE,
    &e2e::FROM_DUE,
    &send_delay::DEFINITION,
    &latency_per_token::DEFINITION,
    &latency_per_output_token::DEFINITION,
    &ttfot::FROM_SENT,
    &ttfot::FROM_DUE,
    &icl::DEFINITION,
    &per_user_speed::DEFINITION,
    &throughput::REQUESTS,
    &throughput::INPUT_TOKENS,
    &throughput::OUTPUT_TOKENS,
    &throughput::TOTAL_TOKENS,
    &failures::DEFINITION,
    &steady_state::REQUESTS,
    &steady_state::OUTPUT_TOKENS,
    &goodput::DEFINITION,
    &goodput::ATTAINMENT,
    &concurrency::PEAK,
    &concurrency::MEAN,
    &duration::DEFINITION,
];

/// Every definition, in the order in which results and lists show them.
pub fn definitions() -> &'static [&'static Definition] {
    &DEFINITIONS
}

/// The metrics whose distribution is in the results of a pass, each with its key.
pub fn in_results() -> impl Iterator<Item = (&'static str, &'static Definition)> {
    DEFINITIONS.iter().filter_map(|metric| Some((metric.result_key?, *metric)))
}

/// The metrics that objectives on the figures of a pass may name.
pub fn judged() -> impl Iterator<Item = &'static Definition> {
    DEFINITIONS.iter().copied().filter(|metric| !matches!(metric.judged, JudgedOn::No))
}

/// The metrics that objectives on single requests may name, each with the functions that judge a request.
pub fn judged_on_requests() -> impl Iterator<Item = (&'static Definition, &'static OnRequests)> {
    DEFINITIONS.iter().filter_map(|metric| match &metric.judged {
        JudgedOn::OnRequests(how) => Some((*metric, how)),
        JudgedOn::No | JudgedOn::OnPasses => None,
    })
}

/// The columns of tables of passes, in their order.
pub fn in_tables() -> impl Iterator<Item = (&'static Definition, Statistic)> {
    DEFINITIONS.iter().flat_map(|metric| metric.in_tables.iter().map(|of| (*metric, *of)))
}

/// The metrics whose distributions are plotted.
pub fn drawn() -> impl Iterator<Item = &'static Definition> {
    DEFINITIONS.iter().copied().filter(|metric| !metric.in_tables.is_empty())
}

/// The metrics whose error bounds are in results, each with its key.
pub fn bounded() -> impl Iterator<Item = (&'static Definition, &'static str)> {
    DEFINITIONS.iter().filter_map(|metric| Some((*metric, metric.bound?.key?)))
}

/// The metrics in exported rows of requests, in the order of their columns.
pub fn exported() -> Vec<(&'static Definition, &'static Exported)> {
    let columns =
        DEFINITIONS.iter().filter_map(|metric| Some((*metric, metric.exported.as_ref()?)));
    let mut columns: Vec<_> = columns.collect();
    columns.sort_by_key(|(_, column)| column.place);
    columns
}

/// The metrics that are shown during a pass, in the order of [`Live::place`].
pub fn live() -> Vec<(&'static Definition, &'static Live)> {
    let shown = DEFINITIONS.iter().filter_map(|metric| Some((*metric, metric.live.as_ref()?)));
    let mut shown: Vec<_> = shown.collect();
    shown.sort_by_key(|(_, live)| live.place);
    shown
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::request_figures::MOST_JUDGED;

    #[test]
    fn metric_names_and_result_keys_are_unique() {
        let names: BTreeSet<&str> = definitions().iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), definitions().len());
        let keys: BTreeSet<&str> = in_results().map(|(key, _)| key).collect();
        assert_eq!(keys.len(), in_results().count());
    }

    #[test]
    fn the_capacity_for_judged_metrics_covers_all_metrics_judged_per_request() {
        assert!(judged_on_requests().count() <= MOST_JUDGED, "raise MOST_JUDGED");
    }
}
