//! The spans of requests that are over, counted between fixed bounds: what a scraper of a run in
//! progress reads. Never a figure of a report: those are exact, and come from the crate `analysis`.

use inferometer_stats::Weighted;
use inferometer_stats::buckets::{Buckets, INSTRUMENT_S};

use crate::definition::{Definition, Live, Over};
use crate::{Timeline, arrival_widths, registry};

/// Spans by what they are.
#[derive(Clone, Debug)]
pub struct Spans {
    /// Those of each metric that is shown while a pass goes on, in the registry's order.
    pub metrics: Vec<(&'static Definition, &'static Live, Buckets)>,
    /// How late reads were made that the kernel had stamped.
    pub receive_lateness: Buckets,
    /// How far before its stamp each token event may have arrived.
    pub arrival_width: Buckets,
    /// Values of one request, kept to use its memory again.
    values: Vec<Weighted>,
}

impl Default for Spans {
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

impl Spans {
    /// Takes in a request that is over.
    pub fn add(&mut self, timeline: &Timeline<'_>) {
        let is_complete = timeline.record.outcome.is_complete();
        for (metric, _, buckets) in &mut self.metrics {
            if is_complete || metric.over == Over::Sent {
                self.values.clear();
                metric.value.append(timeline, &mut self.values);
                self.values.iter().for_each(|of| buckets.add(of.value / 1e3, of.weight));
            }
        }
        for read in &timeline.record.reads {
            let late = read.kernel.map(|kernel| read.user.seconds_after(kernel));
            late.into_iter().for_each(|seconds| self.receive_lateness.add(seconds, 1.0));
        }
        if timeline.record.streamed {
            for width in arrival_widths(timeline.record) {
                self.arrival_width.add(width.as_secs_f64(), 1.0);
            }
        }
    }

    /// Takes in all that another one has.
    pub fn add_all(&mut self, other: &Self) {
        for ((_, _, mine), (_, _, theirs)) in self.metrics.iter_mut().zip(&other.metrics) {
            mine.add_all(theirs);
        }
        self.receive_lateness.add_all(&other.receive_lateness);
        self.arrival_width.add_all(&other.arrival_width);
    }
}
