//! Collects the values of one metric over requests into a distribution.

mod places;

use inferometer_model::stats::{Distribution, Ordered, Pool, Sample, Weighted};
use inferometer_model::{Definition, Nanos, Timeline, metrics::Value};

use crate::interval::{Contribution, Layout, Series, Shares};
use places::Places;

/// The values of one metric over the requests of a pass.
#[derive(Clone, Debug)]
pub(crate) enum Column {
    /// One value per request, and for each request the index that `Course::add` returned, if the course stored it.
    Requests(Sample, Places),
    /// Several values per request. For each request: its contribution to the mean, and the number of its values.
    Pooled(Pool, Vec<(Contribution, u32)>),
}

impl Column {
    /// An empty column; `None` for a metric of whole passes.
    pub(crate) fn of(metric: &Definition) -> Option<Self> {
        match metric.value {
            Value::Request(_) => Some(Self::Requests(Sample::default(), Places::default())),
            Value::Pooled(_) => Some(Self::Pooled(Pool::default(), Vec::new())),
            Value::Pass(_) => None,
        }
    }

    /// Adds the values of a request, and returns the largest; `None` if it has none. `at` is the index that
    /// `Course::add` returned for the request; `None` if the course did not store the request.
    pub(crate) fn add(
        &mut self,
        metric: &Definition,
        timeline: &Timeline<'_>,
        at: Option<u32>,
    ) -> Option<f64> {
        match (metric.value, self) {
            (Value::Request(value), Self::Requests(sample, places)) => {
                let value = value(timeline)?;
                sample.extend([value]);
                at.into_iter().for_each(|at| places.push(at));
                Some(value)
            }
            (Value::Pooled(append), Self::Pooled(pool, parts)) => {
                let added = pool.add_request(|values| append(timeline, values));
                if let (Some(at), true) = (at, added.weight > 0.0) {
                    let part = Contribution { at, total: added.total, weight: added.weight };
                    parts.push((part, added.samples as u32));
                }
                added.largest
            }
            _ => unreachable!("invariant: a column is of its metric's kind"),
        }
    }

    /// A copy of the values, without the requests that they belong to.
    pub(crate) fn values_alone(&self) -> Self {
        match self {
            Self::Requests(sample, _) => Self::Requests(sample.clone(), Places::default()),
            Self::Pooled(pool, _) => Self::Pooled(pool.clone(), Vec::new()),
        }
    }

    /// Adds the values of one request, without the index of the request.
    pub(crate) fn extend(&mut self, values: impl Iterator<Item = Weighted>) {
        match self {
            Self::Requests(sample, _) => sample.extend(values.map(|of| of.value)),
            Self::Pooled(pool, _) => {
                pool.add_request(|pool| pool.extend(values));
            }
        }
    }

    /// Computes the distribution, with confidence intervals if the pass has a layout that allows them. `None` if
    /// there is no value.
    pub(crate) fn finish(self, layout: Option<&Layout>) -> Option<Distribution> {
        match (self, layout) {
            (Self::Pooled(pool, _), None) => pool.distribution(),
            (column, _) => column.finish_and(layout, |_| ()).map(|(found, ())| found),
        }
    }

    /// Like [`Self::finish`], with what `more` makes of the values in their order.
    pub(crate) fn finish_and<T>(
        self,
        layout: Option<&Layout>,
        more: impl FnOnce(&Ordered<'_>) -> T,
    ) -> Option<(Distribution, T)> {
        match self {
            Self::Requests(mut sample, places) => {
                let parts = layout.and_then(|_| of_requests(&sample, &places));
                let mut found = sample.distribution()?;
                if let (Some(layout), Some(parts)) = (layout, parts) {
                    let values: Vec<f64> = parts.iter().map(|part| part.total).collect();
                    let sorted = sample.values().unwrap_or_default();
                    let below = |value: f64| {
                        values.iter().map(|of| f64::from(u8::from(*of <= value))).collect()
                    };
                    let between = |[low, high]: [f64; 2], largest: f64| {
                        let n = sorted.len() as f64;
                        let (low, high) = (low * n, high * n + 1.0);
                        let within = low > 0.0 && high < n * largest + 1.0;
                        within.then(|| {
                            let ends =
                                [low.floor().max(1.0), high.ceil().min((n * largest).round())];
                            ends.map(|rank| sorted[rank as usize - 1])
                        })
                    };
                    add_intervals(&mut found, layout, parts, below, |_| None, between);
                }
                Some((found, more(&sample.ordered())))
            }
            Self::Pooled(pool, parts) => {
                let ordered = pool.ordered();
                let mut found = pool.distribution_of(&ordered)?;
                if let (Some(layout), false) = (layout, parts.is_empty()) {
                    let found_exact = found.exact;
                    let counts: Vec<usize> = parts.iter().map(|part| part.1 as usize).collect();
                    let parts: Vec<Contribution> = parts.into_iter().map(|part| part.0).collect();
                    let firsts: Vec<Option<Nanos>> =
                        parts.iter().map(|part| layout.first(part.at)).collect();
                    let below = |value: f64| match pool.samples() {
                        Some(samples) => weights_below(samples, &counts, value),
                        None => Vec::new(),
                    };
                    let median_by_time = |median| {
                        let (work, samples) = layout.work.as_ref().zip(pool.samples())?;
                        let each = of_requests_in(samples, &counts).zip(&firsts);
                        let below = each.map(|(own, first)| below_median(own, *first, median));
                        work.variance_by_time(below)
                    };
                    let between = |[low, high]: [f64; 2], largest: f64| {
                        let within = low > 0.0 && high < largest && found_exact;
                        within.then(|| [low, high].map(|share| ordered.percentile(share)))
                    };
                    add_intervals(&mut found, layout, parts, below, median_by_time, between);
                }
                Some((found, more(&ordered)))
            }
        }
    }
}

/// The contribution of each request, for a metric with one value per request. `None` if a request has no index in the
/// course, or if there were too many values to store.
fn of_requests(sample: &Sample, places: &Places) -> Option<Vec<Contribution>> {
    let values = sample.values().filter(|values| values.len() == places.len())?;
    let part = |(&total, at): (&f64, u32)| Contribution { at, total, weight: 1.0 };
    Some(values.iter().zip(places.iter()).map(part).collect())
}

/// The samples of each request.
fn of_requests_in<'a>(
    samples: &'a [Weighted],
    counts: &'a [usize],
) -> impl Iterator<Item = &'a [Weighted]> {
    let mut rest = samples;
    counts.iter().map(move |&count| {
        let (own, others) = rest.split_at(count.min(rest.len()));
        rest = others;
        own
    })
}

/// For each request, the total weight of its samples that are not above `value`.
fn weights_below(samples: &[Weighted], counts: &[usize], value: f64) -> Vec<f64> {
    let below = |own: &[Weighted]| {
        own.iter().filter(|sample| sample.value <= value).map(|sample| sample.weight).sum()
    };
    of_requests_in(samples, counts).map(below).collect()
}

/// When each gap of a request ended, and by how much its weight below the median exceeds half of it. No gap if it is
/// unknown when the first token arrived.
fn below_median(
    own: &[Weighted],
    first: Option<Nanos>,
    median: f64,
) -> impl Iterator<Item = (Nanos, f64)> {
    let gaps = first.map_or(&[][..], |_| own).iter();
    let first_ns = first.unwrap_or_default().0 as f64;
    gaps.scan(first_ns, move |at_ns, gap| {
        // A stamp of the program may be later than the kernel's next one, so a gap may be negative.
        *at_ns += gap.value * gap.weight * 1e6;
        let below = if gap.value <= median { 0.5 } else { -0.5 };
        Some((Nanos(*at_ns as u64), below * gap.weight))
    })
}

/// Adds the confidence intervals of the mean and the percentiles. For each request, `below` returns the weight of its
/// values that are not above a given value. `median_by_time` returns the variance of the weight below a median, and
/// its degrees of freedom, if the times of the values are known. `between` returns the values at two quantiles; its
/// second parameter is the largest quantile. It returns `None` in three cases: the lower quantile is not above 0, the upper quantile is not
/// below the largest quantile, or the values were not stored.
fn add_intervals(
    found: &mut Distribution,
    layout: &Layout,
    parts: Vec<Contribution>,
    below: impl Fn(f64) -> Vec<f64>,
    median_by_time: impl Fn(f64) -> Option<(f64, usize)>,
    between: impl Fn([f64; 2], f64) -> Option<[f64; 2]>,
) {
    let Some(series) = Series::new(layout, &parts) else { return };
    let Some(mean) = series.mean() else { return };
    (found.mean_ci, found.effective_n) = (Some(mean.interval), Some(mean.effective));
    let shares = |share, value| series.shares(share, value, &below(value), &mean);
    let interval = |of: Shares, value| between(of.ends?, series.largest_share(value));
    let of_p90 = shares(0.90, found.p90);
    let of_p99 = of_p90.filter(Shares::carries_p99).and_then(|_| shares(0.99, found.p99));
    let of_median = || match median_by_time(found.p50) {
        Some(of) => between(series.ends_of_median(of), series.largest_share(found.p50)),
        None => shares(0.50, found.p50).and_then(|of| interval(of, found.p50)),
    };
    found.p50_ci = series.median_in_lockstep(found.p50, &mean).unwrap_or_else(of_median);
    found.p90_ci = of_p90.and_then(|of| interval(of, found.p90));
    found.p99_ci = of_p99.and_then(|of| interval(of, found.p99));
    // `p99_needs` is set only if all values were stored, and the requests do not run in lockstep. Otherwise, more
    // requests would not give an interval.
    let effective = [of_p90, of_p99].into_iter().flatten().map(|of| of.effective);
    let needs = series.needs_for_p99(effective.fold(mean.effective, f64::min));
    let would_help = found.exact && layout.lockstep.is_none();
    if found.p99_ci.is_none() && would_help && needs > parts.len() as u64 {
        found.p99_needs = Some(needs);
    }
}
