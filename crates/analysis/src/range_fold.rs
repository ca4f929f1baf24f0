//! Computes the ranges of figures from the widths of arrival intervals. Each value of a request lies between two ends.
//! So each statistic lies between the statistic of the lower ends and the statistic of the upper ends.

use inferometer_model::metrics::{CoveredRequests, ErrorMargin};
use inferometer_model::stats::{Distribution, RELATIVE_ERROR, Weighted};
use inferometer_model::{Definition, Statistic, Timeline};

use crate::range::{Range, Ranges, trusted_share};
use crate::{Distributions, column::Column};

/// Collects the lower and the upper ends of the values. It is empty until an arrival time is inexact. From then on,
/// each metric that depends on an inexact arrival has two columns, in addition to the column of its values.
#[derive(Clone, Debug, Default)]
pub(crate) struct RangeFold {
    ends: Vec<Ends>,
    /// The margins and the values of the current request. The memory is reused.
    margins: Vec<ErrorMargin>,
    values: Vec<Weighted>,
}

#[derive(Clone, Debug)]
struct Ends {
    metric: &'static Definition,
    low: Column,
    high: Column,
}

impl RangeFold {
    /// Adds a request. Call this before the values of the request are added to `columns`.
    pub(crate) fn add(
        &mut self,
        timeline: &Timeline<'_>,
        columns: &[(&'static Definition, Column)],
    ) {
        if self.ends.is_empty() && timeline.is_exact() {
            return;
        }
        let is_complete = timeline.record.outcome.is_complete();
        for (metric, column) in columns {
            let Some(bound) = metric.bound else { continue };
            if !is_complete && metric.over == CoveredRequests::Completed {
                continue;
            }
            self.margins.clear();
            (bound.of)(timeline, &mut self.margins);
            let known = self.ends.iter().position(|ends| ends.metric == *metric);
            let at = match known {
                Some(at) => at,
                None if self.margins.iter().all(|margin| margin.larger() == 0.0) => continue,
                None => {
                    let [low, high] = [column, column].map(Column::values_alone);
                    self.ends.push(Ends { metric, low, high });
                    self.ends.len() - 1
                }
            };
            self.values.clear();
            metric.value.append(timeline, &mut self.values);
            debug_assert_eq!(self.values.len(), self.margins.len(), "{}", metric.name);
            let both = || self.values.iter().zip(&self.margins);
            let Ends { low, high, .. } = &mut self.ends[at];
            low.extend(both().map(|(of, margin)| Weighted {
                value: (of.value - margin.below).max(of.value.min(0.0)),
                ..*of
            }));
            high.extend(
                both().map(|(of, margin)| Weighted { value: of.value + margin.above, ..*of }),
            );
        }
    }

    /// Gives a metric the values that another one has had so far.
    pub(crate) fn copy(&mut self, from: &Definition, to: &'static Definition) {
        let known = self.ends.iter().find(|ends| ends.metric == from);
        self.ends.extend(known.cloned().map(|ends| Ends { metric: to, ..ends }));
    }

    /// Computes the ranges of `figures`, which must come from the same requests.
    pub(crate) fn finish(self, figures: &Distributions) -> Ranges {
        let mut ranges = Ranges::default();
        for Ends { metric, low, high } in self.ends {
            let (Some(figures), Some(low), Some(high)) =
                (figures.get(metric), low.finish(None), high.finish(None))
            else {
                continue;
            };
            for statistic in Statistic::ALL {
                let ends =
                    (statistic.of(figures), end(&low, statistic, -1.0), end(&high, statistic, 1.0));
                if let (Some(figure), Some(low), Some(high)) = ends {
                    let range = Range::of(figure, low, high, trusted_share(statistic));
                    ranges.set(metric, statistic, range);
                }
            }
        }
        ranges
    }
}

/// A statistic of the lower ends (`outwards` is -1) or of the upper ends (1). The error of a sketch makes the range
/// wider.
fn end(ends: &Distribution, statistic: Statistic, outwards: f64) -> Option<f64> {
    let of_sketch = !ends.exact && statistic.share().is_some();
    let error = if of_sketch { RELATIVE_ERROR } else { 0.0 };
    Some(statistic.of(ends)? * (1.0 + outwards * error))
}

#[cfg(test)]
mod tests;
