//! The values of metrics that requests and tokens have, gathered over a pass or a class.

use inferometer_metrics::{Definition, Gaps, Over, Timeline, Value, registry};
use inferometer_stats::{Distribution, Pool, Sample};

use crate::distributions::Distributions;

/// A column for each metric whose distribution results hold.
#[derive(Clone, Debug)]
pub(crate) struct PerRequest {
    columns: Vec<(&'static Definition, Column)>,
    gaps: Gaps,
}

/// The values of one metric.
#[derive(Clone, Debug)]
pub(crate) enum Column {
    /// One value per request.
    Requests(Sample),
    /// Several values per request.
    Pooled(Pool),
}

impl Column {
    /// An empty one; none for a metric of whole passes.
    pub(crate) fn of(metric: &Definition) -> Option<Self> {
        match metric.value {
            Value::Request(_) => Some(Self::Requests(Sample::default())),
            Value::Pooled(_) => Some(Self::Pooled(Pool::default())),
            Value::Pass(_) => None,
        }
    }

    /// The distribution; `seed` makes the resamples of intervals.
    pub(crate) fn finish(self, seed: u64) -> Option<Distribution> {
        match self {
            Self::Requests(sample) => sample.distribution(seed),
            Self::Pooled(pool) => pool.distribution(seed),
        }
    }
}

impl PerRequest {
    /// Columns for those of the metrics that are wanted.
    pub(crate) fn new(is_wanted: impl Fn(&Definition) -> bool) -> Self {
        let wanted = registry::in_results().map(|(_, metric)| metric).filter(|it| is_wanted(it));
        let columns = wanted.filter_map(|metric| Some((metric, Column::of(metric)?))).collect();
        Self { columns, gaps: Gaps::default() }
    }

    /// Takes in a request, by each metric that counts it.
    pub(crate) fn add(&mut self, timeline: &Timeline<'_>) {
        let is_complete = timeline.record.outcome.is_complete();
        if is_complete {
            self.gaps.add(timeline.record);
        }
        for (metric, column) in &mut self.columns {
            if !is_complete && metric.over == Over::Completed {
                continue;
            }
            match (metric.value, column) {
                (Value::Request(value), Column::Requests(sample)) => sample.extend(value(timeline)),
                (Value::Pooled(append), Column::Pooled(pool)) => {
                    pool.add_request(|values| append(timeline, values));
                }
                _ => unreachable!("invariant: a column is of its metric's kind"),
            }
        }
    }

    /// Whether times between tokens are known.
    pub(crate) fn has_gaps(&self) -> bool {
        self.gaps.are_known()
    }

    /// The distributions; `seed` makes the resamples of intervals.
    pub(crate) fn finish(self, seed: u64) -> Distributions {
        let are_known = self.has_gaps();
        Distributions::of(self.columns.into_iter().map(|(metric, column)| {
            let is_known = are_known || !metric.of_gaps;
            (metric, column.finish(seed).filter(|_| is_known))
        }))
    }
}
