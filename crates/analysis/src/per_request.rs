//! Collects the values of metrics of requests and of tokens, over a pass or a part of a pass.

use inferometer_model::metrics::{CoveredRequests, Gaps, registry};
use inferometer_model::stats::Ordered;
use inferometer_model::{Definition, Timeline};

use crate::Distributions;
use crate::column::Column;
use crate::drawn::{COLUMNS, Latency, POINTS, tail_of};
use crate::interval::Layout;
use crate::range_fold::RangeFold;
use crate::tail::Tail;

/// A column for each metric whose distribution is in results.
#[derive(Clone, Debug)]
pub(crate) struct PerRequest {
    columns: Vec<(&'static Definition, Column)>,
    /// For each column, the requests with the largest values, if charts show the metric.
    tails: Vec<Option<Tail>>,
    gaps: Gaps,
    ranges: RangeFold,
}

impl PerRequest {
    /// Columns for the metrics in results for which `is_wanted` is true.
    pub(crate) fn new(is_wanted: impl Fn(&Definition) -> bool) -> Self {
        let wanted = registry::in_results().map(|(_, metric)| metric).filter(|it| is_wanted(it));
        let columns: Vec<_> =
            wanted.filter_map(|metric| Some((metric, Column::of(metric)?))).collect();
        let tails = columns.iter().map(|(metric, _)| tail_of(metric)).collect();
        Self { columns, tails, gaps: Gaps::default(), ranges: RangeFold::default() }
    }

    /// Adds a request to each metric that counts it. `at` is the index of the request in the course of its pass; `None`
    /// if the course did not store it.
    pub(crate) fn add(&mut self, timeline: &Timeline<'_>, at: Option<u32>) {
        let is_complete = timeline.record.outcome.is_complete();
        if is_complete {
            self.gaps.add(timeline);
        }
        self.ranges.add(timeline, &self.columns);
        for ((metric, column), tail) in self.columns.iter_mut().zip(&mut self.tails) {
            if is_complete || metric.over == CoveredRequests::Sent {
                let largest = column.add(metric, timeline, at);
                tail.iter_mut().for_each(|tail| tail.add(timeline.record.index, largest));
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

    /// Computes the distributions, with confidence intervals if the pass has a layout that allows them. Also those that
    /// charts show, if they are wanted.
    pub(crate) fn finish(
        self,
        layout: Option<&Layout>,
        are_drawn: bool,
    ) -> (Distributions, Vec<Latency>) {
        let are_known = self.has_gaps();
        let mut drawn = Vec::new();
        let columns = self.columns.into_iter().zip(self.tails);
        let found = columns.map(|((metric, column), tail)| {
            let is_known = are_known || !metric.of_gaps;
            let tail = tail.filter(|_| are_drawn && is_known);
            let curve = |ordered: &Ordered<'_>| {
                tail.and_then(|tail| Some((ordered.curve(POINTS, COLUMNS)?, tail.finish())))
            };
            let found = column.finish_and(layout, curve).map(|(found, curve)| {
                drawn.extend(curve.map(|(curve, tail)| Latency { metric, curve, tail }));
                found
            });
            (metric, found.filter(|_| is_known))
        });
        (Distributions::of(found), drawn)
    }
}
