//! Queries on the list of metrics, which stands in `lib.rs`.
//!
//! The [`Definition`] of a metric determines its use: its key in results, whether objectives may name it, and where
//! it is shown. The code for results, objectives, goodput, searches, comparisons, tables, charts, exports, the store
//! and live views iterates over the list.

use crate::metrics::definition::{JudgedOn, Live, OnRequests, Value};
use crate::{Definition, Statistic, metrics::DEFINITIONS};

/// Every definition, in the order in which results and lists show them.
pub fn definitions() -> &'static [&'static Definition] {
    DEFINITIONS
}

/// The metrics of requests and of tokens, each with the key of its distribution in the results of a pass.
pub fn in_results() -> impl Iterator<Item = (&'static str, &'static Definition)> {
    let of_requests = DEFINITIONS.iter().filter(|metric| !is_of_passes(metric));
    of_requests.map(|metric| (metric.result_key, *metric))
}

/// The metrics of whole passes, each with the key of its value in the results of a pass.
pub fn of_passes() -> impl Iterator<Item = (&'static str, &'static Definition)> {
    let of_passes = DEFINITIONS.iter().filter(|metric| is_of_passes(metric));
    of_passes.map(|metric| (metric.result_key, *metric))
}

fn is_of_passes(metric: &Definition) -> bool {
    matches!(metric.value, Value::Pass(_))
}

/// The columns of tables of passes with metrics of whole passes, each with its heading.
pub fn columns_of_passes() -> impl Iterator<Item = (&'static str, &'static Definition)> {
    DEFINITIONS.iter().filter_map(|metric| Some((metric.column?, *metric)))
}

/// The metrics that objectives on the figures of a pass may name.
pub fn judged() -> impl Iterator<Item = &'static Definition> {
    DEFINITIONS.iter().copied().filter(|metric| !matches!(metric.judged, JudgedOn::No))
}

/// The metrics that objectives on single requests may name, each with the functions that judge a request.
pub fn judged_on_requests() -> impl Iterator<Item = (&'static Definition, &'static OnRequests)> {
    DEFINITIONS.iter().filter_map(|metric| match &metric.judged {
        JudgedOn::OnRequests(how) => Some((*metric, how)),
        JudgedOn::No | JudgedOn::OnPasses | JudgedOn::OnJobs(_) => None,
    })
}

/// The columns of tables of passes with statistics of metrics of requests, in their order.
pub fn in_tables() -> impl Iterator<Item = (&'static Definition, Statistic)> {
    DEFINITIONS.iter().flat_map(|metric| metric.in_tables.iter().map(|of| (*metric, *of)))
}

/// The columns of tables of passes with reasoning, in their order, beside those of [`in_tables`].
pub fn when_reasoning() -> impl Iterator<Item = (&'static Definition, Statistic)> {
    DEFINITIONS.iter().flat_map(|metric| metric.when_reasoning.iter().map(|of| (*metric, *of)))
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
pub fn exported() -> Vec<&'static Definition> {
    let mut columns = DEFINITIONS.to_vec();
    columns.retain(|metric| metric.exported.is_some());
    columns.sort_by_key(|metric| metric.exported);
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
    use crate::metrics::request_figures::MOST_JUDGED;

    #[test]
    fn metric_names_and_result_keys_are_unique() {
        let names: BTreeSet<&str> = definitions().iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), definitions().len());
        let keys: BTreeSet<&str> = definitions().iter().map(|metric| metric.result_key).collect();
        assert_eq!(keys.len(), definitions().len());
        assert!(!keys.contains(""));
    }

    #[test]
    fn objectives_may_name_every_metric_for_which_a_direction_is_better() {
        let has_direction = |metric: &&&Definition| metric.direction.is_some();
        let named: Vec<&str> =
            definitions().iter().filter(has_direction).map(|metric| metric.name).collect();
        assert_eq!(judged().map(|metric| metric.name).collect::<Vec<_>>(), named);
    }

    #[test]
    fn the_capacity_for_judged_metrics_covers_all_metrics_judged_per_request() {
        assert!(judged_on_requests().count() <= MOST_JUDGED, "raise MOST_JUDGED");
    }
}
