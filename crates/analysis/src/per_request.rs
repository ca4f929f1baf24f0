//! Collects the values of metrics of requests and of tokens, over a pass or a part of a pass.

use inferometer_model::metrics::{CoveredRequests, Equals, Gaps, registry};
use inferometer_model::{Definition, Timeline, stats::Ordered};

use crate::drawn::{Latency, POINTS, tail_of};
use crate::{Distributions, column::Column, interval::Layout, range_fold::RangeFold, tail::Tail};

/// A column for each metric whose distribution is in results.
#[derive(Clone, Debug)]
pub(crate) struct PerRequest {
    columns: Vec<(&'static Definition, Column)>,
    /// For each column, the requests with the largest values, if charts show the metric.
    tails: Vec<Option<Tail>>,
    /// Metrics without a column, because they have had the values of another one so far.
    equal: Vec<(&'static Definition, Equals)>,
    gaps: Gaps,
    ranges: RangeFold,
}

impl PerRequest {
    /// Columns for the metrics in results for which `is_wanted` is true.
    pub(crate) fn new(is_wanted: impl Fn(&Definition) -> bool) -> Self {
        let wanted = registry::in_results().map(|(_, metric)| metric).filter(|it| is_wanted(it));
        let (mut columns, mut equal) = (Vec::new(), Vec::new());
        for metric in wanted {
            match metric.equals.filter(|equals| is_wanted(equals.metric)) {
                Some(equals) => equal.push((metric, equals)),
                None => columns.extend(Column::of(metric).map(|column| (metric, column))),
            }
        }
        let tails = columns.iter().map(|(metric, _)| tail_of(metric)).collect();
        Self { columns, tails, equal, gaps: Gaps::default(), ranges: RangeFold::default() }
    }

    /// Adds a request to each metric that counts it. `at` is the index of the request in the course of its pass; `None`
    /// if the course did not store it.
    pub(crate) fn add(&mut self, timeline: &Timeline<'_>, at: Option<u32>) {
        let is_complete = timeline.record.outcome.is_complete();
        if is_complete {
            self.gaps.add(timeline);
            self.part_unequal(timeline);
        }
        self.ranges.add(timeline, &self.columns);
        for ((metric, column), tail) in self.columns.iter_mut().zip(&mut self.tails) {
            if is_complete || metric.over == CoveredRequests::Sent {
                let largest = column.add(metric, timeline, at);
                tail.iter_mut().for_each(|tail| tail.add(timeline.record.index, largest));
            }
        }
    }

    /// Gives a column of its own to each metric that has other values of this request than the metric it equalled.
    fn part_unequal(&mut self, timeline: &Timeline<'_>) {
        let Self { columns, tails, equal, ranges, .. } = self;
        equal.retain(|(metric, equals)| {
            let is_equal = (equals.of)(timeline);
            if let (false, Some(at)) = (is_equal, place(columns, equals.metric)) {
                columns.push((metric, columns[at].1.clone()));
                tails.push(tail_of(metric));
                ranges.copy(equals.metric, metric);
            }
            is_equal
        });
    }

    /// Whether the times between tokens are known.
    pub(crate) fn has_gaps(&self) -> bool {
        self.gaps.are_known()
    }

    /// Removes and returns the fold that computes the ranges of the true figures.
    pub(crate) fn take_ranges(&mut self) -> RangeFold {
        let mut ranges = std::mem::take(&mut self.ranges);
        self.equal.iter().for_each(|(metric, equals)| ranges.copy(equals.metric, metric));
        ranges
    }

    /// Computes the distributions, with confidence intervals if the pass has a layout that allows them. Also those that
    /// charts show, if they are wanted.
    pub(crate) fn finish(
        self,
        layout: Option<&Layout>,
        are_drawn: bool,
    ) -> (Distributions, Vec<Latency>) {
        let are_known = self.has_gaps();
        let (mut drawn, mut found) = (Vec::new(), Vec::new());
        for ((metric, column), tail) in self.columns.into_iter().zip(self.tails) {
            let is_known = are_known || !metric.of_gaps;
            let tail = tail.filter(|_| are_drawn && is_known);
            let curve = |ordered: &Ordered<'_>| {
                tail.and_then(|tail| Some((ordered.curve(POINTS)?, tail.finish())))
            };
            let distribution = column.finish_and(layout, curve).map(|(distribution, curve)| {
                drawn.extend(curve.map(|(curve, tail)| Latency { metric, curve, tail }));
                distribution
            });
            found.push((metric, distribution.filter(|_| is_known)));
        }
        for (metric, equals) in self.equal {
            found.extend(place(&found, equals.metric).map(|at| (metric, found[at].1)));
        }
        found.sort_by_key(|(metric, _)| registry::in_results().position(|(_, of)| of == *metric));
        (Distributions::of(found), drawn)
    }
}

/// The index of a metric in a list.
fn place<T>(list: &[(&'static Definition, T)], metric: &Definition) -> Option<usize> {
    list.iter().position(|(of, _)| *of == metric)
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_model::fixture::{steady, stream};
    use inferometer_model::metrics::{icl, itl};
    use inferometer_model::record::EventKind::Text;

    #[test]
    fn a_metric_that_equals_another_for_most_requests_has_its_own_values_in_any_order_of_requests()
    {
        let mut inexact = steady(0.0, 20.0, 10.0, 8);
        inexact.reads[4].kernel = None;
        let several = stream(0.0, &[20.0, 50.0, 90.0].map(|at| (at, Text, Some(3))));
        let fold = |records: &[&_]| {
            let mut fold = PerRequest::new(|_| true);
            records.iter().for_each(|record| fold.add(&Timeline::new(record), None));
            let ranges = fold.take_ranges();
            let (found, _) = fold.finish(None, false);
            (ranges.finish(&found), found)
        };
        let equal = fold(&[&inexact]);
        assert_eq!(equal.1.get(&icl::DEFINITION), equal.1.get(&itl::DEFINITION));
        let [before, after] =
            [fold(&[&inexact, &several, &inexact]), fold(&[&several, &inexact, &inexact])];
        assert_eq!(before, after);
        assert!(!after.0.is_empty());
        let icl = after.1.get(&icl::DEFINITION).expect("gaps");
        assert_eq!((icl.n, icl.max), (16, 40.0));
        let itl = after.1.get(&itl::DEFINITION).expect("gaps");
        assert_eq!((itl.n, (itl.max * 3.0).round()), (20, 40.0));
    }
}
