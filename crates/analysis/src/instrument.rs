//! Measures the client's own error from the reads of records: how late data was read, and how wide the intervals of
//! possible arrival times are. It gives no verdict: see [`crate::validity`].

use std::time::Duration;

use inferometer_model::metrics::{ErrorMargin, registry};
use inferometer_model::stats::{Distribution, Pool, VALUES_KEPT, Weighted};
use inferometer_model::{Definition, Nanos, Process, Timeline, record::Read};
use serde::{Deserialize, Deserializer, Serialize};

use crate::{Distributions, column::Column, range::Ranges};

/// The client's own error, and its effect on the figures of the pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Instrument {
    /// The number of socket reads with data.
    pub reads: u64,
    /// The number of reads with a kernel time stamp.
    pub kernel_stamped_reads: u64,
    /// By how many microseconds the program's time stamp of a read is later than the kernel's.
    pub receive_lateness_us: Option<Distribution>,
    /// Width of the interval in which a token event may have arrived, in microseconds.
    pub arrival_width_us: Option<Distribution>,
    /// For each metric with a bound: the largest possible error of the client in microseconds, per completed request or
    /// per gap between tokens.
    #[serde(flatten, deserialize_with = "bounds")]
    pub bounds: Distributions,
    /// The ranges of the true figures of the pass, given the client's own error, by metric and statistic. A metric is
    /// absent if every arrival time that it depends on is exact.
    #[serde(default, skip_serializing_if = "Ranges::is_empty")]
    pub ranges: Ranges,
    /// By how many microseconds the last request may have ended earlier than measured. Not written if it is 0.
    #[serde(default, skip_serializing_if = "inferometer_model::is_default")]
    pub end_width_us: f64,
    /// The number of token events that shared their read with a later token event.
    pub coalesced_events: u64,
    /// Measurements of the client's process, which no record contains. Absent if there are none, and in logs of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
}

impl Default for Instrument {
    /// The error of a pass without any reads.
    fn default() -> Self {
        InstrumentFold::default().finish()
    }
}

/// Reads the bounds. A bound that is not in the document is absent, as in logs of earlier versions.
fn bounds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Distributions, D::Error> {
    let found = Distributions::deserialize(deserializer)?;
    Ok(Distributions::of_bounds(|metric| found.bound(metric).copied()))
}

/// Collects the records of a pass into its [`Instrument`].
#[derive(Clone, Debug)]
pub(crate) struct InstrumentFold {
    reads: u64,
    stamped: u64,
    lateness_us: Pool,
    widths_us: Pool,
    bounds_us: Vec<(&'static Definition, Column)>,
    coalesced: u64,
    /// When the last request ended: the measured time and the earliest possible one.
    last_end: Option<(Nanos, Nanos)>,
    /// The bounds of the current request. The memory is reused.
    bounds: Vec<ErrorMargin>,
}

impl Default for InstrumentFold {
    fn default() -> Self {
        Self {
            reads: 0,
            stamped: 0,
            // Nearly all widths are zero, and zeros are merged. But nearly every read is a little late, so the pool of
            // latenesses stores fewer values: at most `VALUES_KEPT`.
            lateness_us: Pool::keeping(VALUES_KEPT),
            widths_us: Pool::default(),
            bounds_us: registry::bounded()
                .filter_map(|(metric, _)| Some((metric, Column::of(metric)?)))
                .collect(),
            coalesced: 0,
            last_end: None,
            bounds: Vec::new(),
        }
    }
}

impl InstrumentFold {
    /// Adds a record. A response without streaming has reads, but no arrivals of tokens.
    pub(crate) fn add(&mut self, timeline: &Timeline<'_>) {
        let record = timeline.record;
        self.reads += record.reads.len() as u64;
        self.stamped += record.reads.iter().filter(|read| read.kernel.is_some()).count() as u64;
        let late_us = |read: &Read| Some(read.user.ms_after(read.kernel?) * 1e3);
        let lateness = record.reads.iter().filter_map(late_us);
        let lateness = lateness.map(|value| Weighted { value, weight: 1.0 });
        self.lateness_us.add_request(|pool| pool.extend(lateness));
        if let Some((_, ended)) = record.send_start.zip(record.ended) {
            let earliest = ended - Duration::from_secs_f64(timeline.end_width_ms / 1e3);
            let (last, at_the_earliest) = self.last_end.unwrap_or_default();
            self.last_end = Some((last.max(ended), at_the_earliest.max(earliest)));
        }
        if !record.streamed {
            return;
        }
        self.coalesced += (timeline.bundles.events - timeline.bundles.reads) as u64;
        let widths = timeline.events.iter();
        let widths = widths.map(|event| Weighted { value: event.width_ms * 1e3, weight: 1.0 });
        self.widths_us.add_request(|pool| append(widths, pool));
        if record.outcome.is_complete() && !timeline.events.is_empty() {
            self.add_bounds(timeline);
        }
    }

    fn add_bounds(&mut self, timeline: &Timeline<'_>) {
        for (metric, column) in &mut self.bounds_us {
            let Some(bound) = metric.bound else { continue };
            self.bounds.clear();
            (bound.of)(timeline, &mut self.bounds);
            let bounds = self.bounds.iter();
            let bounds = bounds.map(|of| Weighted { value: of.larger() * 1e3, weight: of.weight });
            match column {
                Column::Requests(sample, _) => sample.extend(bounds.map(|bound| bound.value)),
                Column::Pooled(pool, _) => {
                    pool.add_request(|pool| append(bounds, pool));
                }
            }
        }
    }

    pub(crate) fn finish(mut self) -> Instrument {
        Instrument {
            reads: self.reads,
            kernel_stamped_reads: self.stamped,
            receive_lateness_us: self.lateness_us.distribution(),
            arrival_width_us: self.widths_us.distribution(),
            bounds: Distributions::of_bounds(|metric| {
                let at = self.bounds_us.iter().position(|(of, _)| *of == metric)?;
                self.bounds_us.swap_remove(at).1.finish(None)
            }),
            ranges: Ranges::default(),
            end_width_us: self
                .last_end
                .map_or(0.0, |(last, earliest)| last.since(earliest).as_secs_f64() * 1e6),
            coalesced_events: self.coalesced,
            process: None,
        }
    }
}

/// Adds values to a pool. All zeros become one value with the sum of their weights, because nearly all widths are zero.
fn append(values: impl Iterator<Item = Weighted>, pool: &mut Vec<Weighted>) {
    let mut exact = Weighted { value: 0.0, weight: 0.0 };
    for value in values {
        if value.value > 0.0 {
            pool.push(value);
        } else {
            exact.weight += value.weight;
        }
    }
    if exact.weight > 0.0 {
        pool.push(exact);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_model::fixture::{LATENESS_MS, stream};
    use inferometer_model::metrics::{e2e, itl, tpot, ttft};
    use inferometer_model::outcome::Outcome;
    use inferometer_model::record::EventKind::{EmptyText, Role, Text, Usage};
    use inferometer_model::record::Record;

    fn widths_ms(record: &Record) -> Vec<f64> {
        Timeline::new(record).events.iter().map(|event| event.width_ms).collect()
    }

    #[test]
    fn only_the_last_event_of_a_read_has_an_exact_arrival_time() {
        // The socket was empty at 10.02 ms. Then one read had three tokens and a usage. The kernel's stamp of this read
        // may be that of the usage.
        let events =
            [(10.0, Text), (40.0, Text), (40.0, Text), (40.0, Text), (40.0, Usage), (50.0, Text)];
        let record = stream(0.0, &events.map(|(at, kind)| (at, kind, None)));
        let shared = 30.0 - LATENESS_MS;
        assert_eq!(widths_ms(&record), [0.0, shared, shared, shared, 0.0]);
    }

    #[test]
    fn an_arrival_without_kernel_timestamp_is_only_known_as_an_interval() {
        let mut record = stream(0.0, &[(10.0, Text, None), (40.0, Text, None)]);
        record.reads[1].kernel = None;
        assert_eq!(widths_ms(&record), [0.0, 30.0]);
    }

    #[test]
    fn the_timing_error_of_a_pass_is_computed_from_its_reads() {
        let coalesced = stream(0.0, &[(5.0, Role, None), (20.0, Text, None), (20.0, Text, None)]);
        let hidden = stream(0.0, &[(8.0, EmptyText, None), (8.0, Text, None), (9.0, Text, None)]);
        let mut failed = coalesced.clone();
        failed.outcome = Outcome::Truncated;
        failed.reads[0].kernel = None;
        let mut fold = InstrumentFold::default();
        for record in [&coalesced, &hidden, &failed] {
            fold.add(&Timeline::new(record));
        }
        let got = fold.finish();
        assert_eq!((got.reads, got.kernel_stamped_reads, got.coalesced_events), (6, 5, 3));
        let lateness = got.receive_lateness_us.expect("stamps");
        assert_eq!((lateness.n, lateness.max.round()), (5, 1e3 * LATENESS_MS));
        let widths = got.arrival_width_us.expect("tokens");
        assert_eq!((widths.n, widths.max.round()), (7, 14_980.0));
        // In one stream, the first token shares its read with a later one. In the other, it is the last event of its
        // read.
        let bound = got.bounds.bound(&ttft::FROM_SENT).expect("complete requests");
        assert_eq!((bound.n, bound.max.round(), bound.p50.round()), (2, 14_980.0, 7_490.0));
    }

    #[test]
    fn a_response_without_streaming_has_reads_but_no_token_arrivals() {
        let mut fold = InstrumentFold::default();
        let mut record = stream(0.0, &[(5.0, Text, None), (5.0, Text, None)]);
        record.streamed = false;
        fold.add(&Timeline::new(&record));
        let got = fold.finish();
        assert_eq!((got.reads, got.coalesced_events), (1, 0));
        assert_eq!((got.arrival_width_us, got.bounds), (None, Instrument::default().bounds));
    }

    #[test]
    fn the_error_bound_of_a_latency_is_the_wider_of_its_two_arrival_intervals() {
        // The first token shares its read, whose interval is 9.98 ms wide. The read of the last token has no kernel
        // stamp.
        let at = [(10.0, Role), (20.0, Text), (20.0, Text), (30.0, Text), (40.0, Text)];
        let mut record = stream(0.0, &at.map(|(at, kind)| (at, kind, None)));
        record.usage.completion = Some(4);
        record.reads[3].kernel = None;
        let mut fold = InstrumentFold::default();
        fold.add(&Timeline::new(&record));
        let got = fold.finish();
        let max = |metric| got.bounds.bound(metric).expect("a bound").max.round();
        let unstamped = 10.0 * 1e3;
        assert_eq!(max(&ttft::FROM_SENT), 10_000.0 - 20.0);
        assert_eq!(max(&e2e::FROM_SENT), unstamped);
        assert_eq!(max(&tpot::DEFINITION), (unstamped / 3.0).round());
        let itl = got.bounds.bound(&itl::DEFINITION).expect("gaps");
        // The gap after the first token, an exact gap, and the last gap.
        assert_eq!(
            (itl.n, itl.max, itl.mean.round()),
            (3, unstamped, (19_980.0_f64 / 3.0).round())
        );
    }
}
