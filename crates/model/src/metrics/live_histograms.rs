//! Histograms of the latencies of ended requests, with fixed buckets. A Prometheus scraper reads them during a run.
//! Figures of reports do not come from these histograms: the crate `analysis` computes exact figures.

use crate::metrics::definition::{CoveredRequests, Live};
use crate::stats::buckets::{Buckets, INSTRUMENT_S};
use crate::{Definition, Timeline, metrics::registry, stats::Weighted};

/// The histograms of a run.
#[derive(Clone, Debug)]
pub struct LiveHistograms {
    /// One histogram for each metric that is shown during a pass, in the order of [`Live::place`].
    pub metrics: Vec<(&'static Definition, &'static Live, Buckets)>,
    /// The delay from the kernel's stamp of a read until the program had the data, in seconds.
    pub receive_lateness: Buckets,
    /// How much earlier than its stamp each token event may have arrived, in seconds.
    pub arrival_width: Buckets,
    /// The values of one request. The memory is reused for the next request.
    values: Vec<Weighted>,
}

impl Default for LiveHistograms {
    fn default() -> Self {
        let metrics = registry::live().into_iter();
        Self {
            metrics: metrics.map(|(of, live)| (of, live, Buckets::new(live.bounds_s))).collect(),
            receive_lateness: Buckets::new(&INSTRUMENT_S),
            arrival_width: Buckets::new(&INSTRUMENT_S),
            values: Vec::new(),
        }
    }
}

impl LiveHistograms {
    /// Adds a request that has ended. A request that did not complete has values only of metrics over all sent
    /// requests.
    pub fn add(&mut self, timeline: &Timeline<'_>) {
        let is_complete = timeline.record.outcome.is_complete();
        for (metric, _, buckets) in &mut self.metrics {
            if is_complete || metric.over == CoveredRequests::Sent {
                self.values.clear();
                metric.value.append(timeline, &mut self.values);
                self.values.iter().for_each(|of| buckets.add(of.value / 1e3, of.weight));
            }
        }
        for read in &timeline.record.reads {
            let late = read.kernel.map(|kernel| read.user.seconds_after(kernel));
            late.into_iter().for_each(|seconds| self.receive_lateness.add(seconds, 1.0));
        }
        for event in &timeline.events {
            self.arrival_width.add(event.width_ms / 1e3, 1.0);
        }
    }

    /// Adds the counts of another set of requests.
    pub fn add_all(&mut self, other: &Self) {
        for ((_, _, mine), (_, _, theirs)) in self.metrics.iter_mut().zip(&other.metrics) {
            mine.add_all(theirs);
        }
        self.receive_lateness.add_all(&other.receive_lateness);
        self.arrival_width.add_all(&other.arrival_width);
    }
}
