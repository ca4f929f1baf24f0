//! Collects the values of metrics of requests and of tokens, over a pass or a part of a pass.

use inferometer_model::metrics::{CoveredRequests, Gaps, registry};
use inferometer_model::{Definition, Timeline};

use crate::Distributions;
use crate::column::Column;
use crate::interval::Layout;
use crate::range_fold::RangeFold;

/// A column for each metric whose distribution is in results.
#[derive(Clone, Debug)]
pub(crate) struct PerRequest {
    columns: Vec<(&'static Definition, Column)>,
    gaps: Gaps,
    ranges: RangeFold,
}

impl PerRequest {
    /// Columns for the metrics in results for which `is_wanted` is true.
    pub(crate) fn new(is_wanted: impl Fn(&Definition) -> bool) -> Self {
        let wanted = registry::in_results().map(|(_, metric)| metric).filter(|it| is_wanted(it));
        let columns = wanted.filter_map(|metric| Some((metric, Column::of(metric)?))).collect();
        Self { columns, gaps: Gaps::default(), ranges: RangeFold::default() }
    }

    /// Adds a request to each metric that counts it. `at` is the index of the request in the course of its pass; `None`
    /// if the course did not store it.
    pub(crate) fn add(&mut self, timeline: &Timeline<'_>, at: Option<u32>) {
        let is_complete = timeline.record.outcome.is_complete();
        if is_complete {
            self.gaps.add(timeline);
        }
        self.ranges.add(timeline, &self.columns);
        for (metric, column) in &mut self.columns {
            if is_complete || metric.over == CoveredRequests::Sent {
                column.add(metric, timeline, at);
            }
        }
    }

    /// Whether the times between tokens are known.
    pub(crate) fn has_gaps(&self) -> bool {
        self.gaps.are_known()
    }

    /// Removes and returns the fold that computes the ranges of the true figures.
    pub(crate) fn take_ranges(&mut self) -> RangeFold {
        std::mem::take(&mut self.ranges)
    }

    /// Computes the distributions, with confidence intervals if the pass has a layout that allows them.
    pub(crate) fn finish(self, layout: Option<&Layout>) -> Distributions {
        let are_known = self.has_gaps();
        Distributions::of(self.columns.into_iter().map(|(metric, column)| {
            let is_known = are_known || !metric.of_gaps;
            (metric, column.finish(layout).filter(|_| is_known))
        }))
    }
}
