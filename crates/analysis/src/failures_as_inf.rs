//! Percentiles of latency over all planned requests, where a failed request counts as infinitely slow.
//!
//! Without this rule, a server that refuses requests looks fast, because only the completed requests count.

use std::collections::BTreeMap;

use inferometer_model::metrics::{Value, e2e, ttft};
use inferometer_model::stats::{Distribution, Sample};
use inferometer_model::{Definition, OutcomeKind, Timeline, json::one_of};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value as Json;

/// The latencies that are infinite for a failed request.
const METRICS: [&Definition; 4] =
    [&ttft::FROM_SENT, &ttft::FROM_DUE, &e2e::FROM_SENT, &e2e::FROM_DUE];

/// The value of a failed request during sorting, in milliseconds: larger than any measured value.
const NEVER_MS: f64 = 1e12;

/// The latencies of a pass in which every failed request counts as infinite.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FailuresAsInf {
    /// The number of requests that did not complete, without those whose clients left.
    pub failed: u64,
    /// The percentiles, under the metric's key in results. A metric is absent if no completed request has a value for
    /// it. Exception: if all requests failed, every metric is present, and all percentiles are infinite.
    #[serde(flatten)]
    pub latencies: BTreeMap<String, Tail>,
}

impl FailuresAsInf {
    /// Each metric that has percentiles, with these percentiles, in the order of reports.
    pub fn measured(&self) -> impl Iterator<Item = (&'static Definition, &Tail)> {
        METRICS
            .into_iter()
            .filter_map(|metric| Some((metric, self.latencies.get(metric.result_key)?)))
    }
}

/// Percentiles in milliseconds, some of which may be infinite.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tail {
    /// Median.
    pub p50: Latency,
    /// 90th percentile.
    pub p90: Latency,
    /// 95th percentile.
    pub p95: Latency,
    /// 99th percentile.
    pub p99: Latency,
    /// 99.9th percentile.
    pub p999: Latency,
    /// Largest value.
    pub max: Latency,
    /// Number of values, including the infinite ones.
    pub n: u64,
}

/// A latency in milliseconds, or infinity. In JSON infinity is the text `"inf"`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency(pub f64);

const INFINITE: &str = "inf";

impl Serialize for Latency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_finite() {
            serializer.serialize_f64(self.0)
        } else {
            serializer.serialize_str(INFINITE)
        }
    }
}

impl<'de> Deserialize<'de> for Latency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        one_of(deserializer, "a number or `inf`", |value| match value {
            Json::Number(number) => number.as_f64().map(Self),
            Json::String(word) if word == INFINITE => Some(Self(f64::INFINITY)),
            _ => None,
        })
    }
}

/// Collects the latencies of a pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct FailuresAsInfFold {
    failed: u64,
    completed: [Sample; METRICS.len()],
    counts: [u64; METRICS.len()],
}

impl FailuresAsInfFold {
    /// Adds a request, whatever its outcome.
    pub(crate) fn add(&mut self, timeline: &Timeline<'_>) {
        let outcome = timeline.record.outcome.kind();
        self.failed += u64::from(outcome.is_failed());
        if outcome != OutcomeKind::Complete {
            return;
        }
        for (at, metric) in METRICS.iter().enumerate() {
            let Value::Request(value) = metric.value else { continue };
            if let Some(value) = value(timeline) {
                self.completed[at].push(value);
                self.counts[at] += 1;
            }
        }
    }

    /// Computes the percentiles.
    pub(crate) fn finish(self) -> FailuresAsInf {
        let Self { failed, completed, counts } = self;
        let nothing_completed = counts.iter().all(|count| *count == 0);
        let values = METRICS.into_iter().zip(completed).zip(counts);
        let tails = values.filter_map(|((metric, mut sample), count)| {
            // If completed requests have no value for a metric, the metric is left out. For example, there is no TTFT
            // without streaming.
            if count == 0 && !nothing_completed {
                return None;
            }
            sample.extend((0..failed).map(|_| NEVER_MS));
            let tail = tail(&sample.distribution()?, count);
            Some((metric.result_key.to_owned(), tail))
        });
        FailuresAsInf { failed, latencies: tails.collect() }
    }
}

/// The percentiles of a distribution in which only the lowest `finite` values are finite.
fn tail(all: &Distribution, finite: u64) -> Tail {
    let at = |quantile: f64, value: f64| {
        // A percentile is interpolated between two ranks. The value at the upper rank must be finite too.
        let rank = (quantile * (all.n.saturating_sub(1)) as f64).ceil() as u64;
        Latency(if rank < finite { value } else { f64::INFINITY })
    };
    Tail {
        p50: at(0.5, all.p50),
        p90: at(0.9, all.p90),
        p95: at(0.95, all.p95.unwrap_or(f64::INFINITY)),
        p99: at(0.99, all.p99),
        p999: at(0.999, all.p999.unwrap_or(f64::INFINITY)),
        max: at(1.0, all.max),
        n: all.n,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_model::outcome::{Outcome, Phase};
    use inferometer_model::record::{Event, EventKind, Read, Record};
    use inferometer_model::time::Nanos;

    /// Percentiles of `completed` requests and `failed` requests. A completed request has its first token after 1, 2,
    /// 3, ... ms and its last token 1 ms later. A failed request is rejected immediately.
    fn folded(completed: u32, failed: u32) -> FailuresAsInf {
        let ms = |ms: u32| Nanos(u64::from(ms) * 1_000_000);
        let mut fold = FailuresAsInfFold::default();
        for index in 0..completed + failed {
            let mut record = Record::planned(0, index, Nanos::ZERO);
            record.send_start = Some(Nanos::ZERO);
            record.streamed = true;
            record.ended = Some(Nanos(1));
            record.outcome = Outcome::Rejected { status: 429 };
            if index < completed {
                record.outcome = Outcome::Complete;
                for (read, at) in [(0, ms(index + 1)), (1, ms(index + 2))] {
                    let stamp = Read { kernel: Some(at), user: at, empty_before: at, bytes: 1 };
                    record.reads.push(stamp);
                    record.events.push(Event {
                        read,
                        kind: EventKind::Text,
                        chars: 1,
                        tokens: None,
                    });
                }
                record.ended = Some(ms(index + 2));
            }
            fold.add(&Timeline::new(&record));
        }
        fold.finish()
    }

    #[test]
    fn failed_requests_count_as_infinite_latencies_in_percentiles() {
        // With 101 values, each percentile is exactly one of the values.
        let found = folded(100, 1);
        assert_eq!(found.failed, 1);
        let tail = found.latencies["ttft_ms"];
        assert_eq!((tail.p50.0, tail.p90.0, tail.p99.0, tail.n), (51.0, 91.0, 100.0, 101));
        assert_eq!((tail.p999.0, tail.max.0), (f64::INFINITY, f64::INFINITY));
        assert_eq!(found.latencies["e2e_ms"].p99.0, 101.0);
        // Two of 101 requests are more than one percent.
        let tail = folded(99, 2).latencies["ttft_ms"];
        assert_eq!((tail.p50.0, tail.p99.0), (51.0, f64::INFINITY));
        // Without a failure, the percentiles are the ordinary ones.
        assert_eq!(folded(101, 0).latencies["e2e_from_due_ms"].max.0, 102.0);
        // A client that leaves is no failure.
        let mut fold = FailuresAsInfFold::default();
        let mut left = Record::planned(0, 0, Nanos::ZERO);
        left.outcome = Outcome::Abandoned { phase: Phase::BetweenEvents };
        fold.add(&Timeline::new(&left));
        assert_eq!(fold.finish(), FailuresAsInf::default());
        // If no request completed, no value is finite.
        assert_eq!(folded(0, 3).latencies["e2e_ms"].p50.0, f64::INFINITY);
    }

    #[test]
    fn infinity_is_written_as_inf_in_json_and_parsed_back() {
        let found = folded(2, 2);
        let text = serde_json::to_string(&found).unwrap();
        assert!(text.contains(r#""failed":2"#) && text.contains(r#""p99":"inf""#), "{text}");
        assert_eq!(serde_json::from_str::<FailuresAsInf>(&text).unwrap(), found);
        assert!(serde_json::from_str::<Latency>(r#""infinite""#).is_err());
    }
}
