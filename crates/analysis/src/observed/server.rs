//! Summarises the metrics that the server reported during a pass. `crate::inspect` judges these metrics.

use serde::{Deserialize, Serialize};

use inferometer_model::sample::{Latency, Quantity, Sample, ServerSample};
use inferometer_model::{Nanos, Observed};

/// The most instants of a timeline in a summary: a plot cannot show more.
const MOST_INSTANTS: usize = 240;

/// The server's own metrics during a pass. Counters state the increase from the first sample to the last. A counter is
/// absent if one of these two samples lacks it, or if it decreased.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerMetrics {
    /// The number of reads of the metrics before, during and after the pass.
    pub scrapes: u64,
    /// The number of reads that failed.
    pub failed: u64,
    /// The reason for the first failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_failure: Option<String>,
    /// The mean duration of a successful read in milliseconds, including the connection. Like the shortest and the
    /// longest duration, it is 0 if no read succeeded.
    pub took_ms_mean: f64,
    /// The shortest duration of a successful read, in milliseconds: at least two round trips to the server, more with
    /// TLS.
    pub took_ms_min: f64,
    /// The longest duration of a successful read, in milliseconds.
    pub took_ms_max: f64,
    /// Processor time of this program for all of these reads, in milliseconds.
    pub client_cpu_ms: f64,
    /// Requests in the server's batch.
    pub running: Option<Level>,
    /// Requests in the server's queue.
    pub waiting: Option<Level>,
    /// Share of the KV memory in use.
    pub kv_use: Option<Level>,
    /// The number of preemptions.
    pub preemptions: Option<f64>,
    /// Prompt tokens that the server looked up in its prefix cache.
    pub prefix_queries: Option<f64>,
    /// Prompt tokens that the server found in its prefix cache.
    pub prefix_hits: Option<f64>,
    /// Tokens that speculative decoding proposed.
    pub drafted: Option<f64>,
    /// Proposed tokens that were accepted.
    pub accepted: Option<f64>,
    /// Output tokens of all requests, including those of other clients.
    pub generation_tokens: Option<f64>,
    /// The server's own time to first token.
    pub ttft_ms: Option<ServerLatency>,
    /// The server's own time between tokens.
    pub itl_ms: Option<ServerLatency>,
    /// The time that requests waited before they entered the batch, by the server's own metrics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_ms: Option<ServerLatency>,
    /// The time from then to the first token, by the server's own metrics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefill_ms: Option<ServerLatency>,
    /// The samples within the pass; with more than 240 samples, only every second, third, ... one.
    pub timeline: Vec<Instant>,
}

/// The metrics of one of several servers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceMetrics {
    /// The server, or the address of its metrics.
    pub name: String,
    /// The metrics of this server, without a timeline.
    #[serde(flatten)]
    #[serde(rename = "says")]
    pub metrics: ServerMetrics,
}

impl SourceMetrics {
    /// The metrics of each server during `span`, if they were read from several servers separately.
    pub(crate) fn each(observed: &Observed, span: (Nanos, Nanos)) -> Vec<Self> {
        let metrics = |(at, name): (usize, &String)| {
            let metrics = ServerMetrics::of(&observed.of_source(at), span, &[])?;
            let metrics = ServerMetrics { timeline: Vec::new(), ..metrics };
            Some(Self { name: name.clone(), metrics })
        };
        observed.sources.iter().enumerate().filter_map(metrics).collect()
    }
}

/// Statistics of a gauge over the samples within a pass.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Mean over the samples.
    pub mean: f64,
    /// The largest sampled value.
    pub max: f64,
    /// The number of samples.
    pub n: u64,
}

/// A latency in milliseconds from the server's own histogram, over the values that were added during a pass.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerLatency {
    /// The mean: sum / count, which is exact.
    pub mean: f64,
    /// The lower bound of the bucket that contains the median.
    pub p50_above: f64,
    /// The upper bound of this bucket; absent for the last bucket, which has no upper bound.
    pub p50_below: Option<f64>,
    /// The number of values.
    pub n: f64,
}

/// A sample of the server's metrics, with the number of requests that the client had in flight.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Instant {
    /// Seconds since the first send of the pass.
    pub at_s: f64,
    /// Requests that the client had in flight.
    pub in_flight: u64,
    /// Requests in the server's batch.
    pub running: Option<f64>,
    /// Requests in the server's queue.
    pub waiting: Option<f64>,
    /// Share of the KV memory in use.
    pub kv_use: Option<f64>,
}

impl Level {
    /// Computes the statistics of some values; `None` without values.
    pub(super) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let (mut sum, mut max, mut n) = (0.0, f64::NEG_INFINITY, 0_u64);
        for value in values {
            sum += value;
            max = f64::max(max, value);
            n += 1;
        }
        (n > 0).then(|| Self { mean: sum / n as f64, max, n })
    }
}

impl ServerMetrics {
    /// Summarises the metrics of a pass. `window` lasts from the first sent byte to the end of the last answer. `steps`
    /// are the changes of the client's number in flight. `None` if the metrics were not read.
    pub(crate) fn of(
        observed: &Observed,
        window: (Nanos, Nanos),
        steps: &[(Nanos, u64)],
    ) -> Option<Self> {
        if !observed.asks_server || observed.samples.is_empty() {
            return None;
        }
        let samples = &observed.samples;
        // A failed read does not count: a refused connection takes little time, but is not an answer.
        let answered = samples.iter().filter(|sample| sample.server.is_some());
        let took: Vec<f64> = answered.map(|sample| sample.took_us as f64 / 1e3).collect();
        let took = Some(took).filter(|took| !took.is_empty()).unwrap_or(vec![0.0]);
        let failed = samples.iter().filter(|sample| sample.server.is_none());
        let first = samples.first().and_then(|sample| sample.server.as_ref());
        let last = samples.last().and_then(|sample| sample.server.as_ref());
        let within: Vec<(&Sample, &ServerSample)> = samples
            .iter()
            .filter(|sample| window.0 <= sample.at && sample.at <= window.1)
            .filter_map(|sample| Some((sample, sample.server.as_ref()?)))
            .collect();
        let level = |quantity: Quantity| {
            Level::of(within.iter().filter_map(|(_, said)| said.values.get(&quantity).copied()))
        };
        let grown = |quantity: Quantity| {
            let [then, now] = [first, last].map(|said| said?.values.get(&quantity).copied());
            // If a counter decreased, the server was restarted and the counter began again at 0.
            Some(now? - then?).filter(|grown| *grown >= 0.0)
        };
        let latency = |latency| server_latency(first?, last?, latency);
        let timed = took.iter().copied();
        Some(Self {
            scrapes: samples.len() as u64,
            failed: failed.clone().count() as u64,
            first_failure: failed.flat_map(|sample| sample.missing.first()).next().cloned(),
            took_ms_mean: took.iter().sum::<f64>() / took.len() as f64,
            took_ms_min: timed.clone().fold(f64::INFINITY, f64::min),
            took_ms_max: timed.fold(0.0, f64::max),
            client_cpu_ms: observed.cpu_us as f64 / 1e3,
            running: level(Quantity::Running),
            waiting: level(Quantity::Waiting),
            kv_use: level(Quantity::KvUse),
            preemptions: grown(Quantity::Preemptions),
            prefix_queries: grown(Quantity::PrefixQueries),
            prefix_hits: grown(Quantity::PrefixHits),
            drafted: grown(Quantity::Drafted),
            accepted: grown(Quantity::Accepted),
            generation_tokens: grown(Quantity::GenerationTokens),
            ttft_ms: latency(Latency::Ttft),
            itl_ms: latency(Latency::Itl),
            queue_ms: latency(Latency::Queue),
            prefill_ms: latency(Latency::Prefill),
            timeline: timeline(&within, window.0, steps),
        })
    }
}

fn server_latency(
    first: &ServerSample,
    last: &ServerSample,
    latency: Latency,
) -> Option<ServerLatency> {
    let buckets = last.histograms.get(&latency)?.since(first.histograms.get(&latency)?)?;
    let [lower, upper] = buckets.quantile_within(0.5)?;
    Some(ServerLatency {
        mean: buckets.mean()? * 1e3,
        p50_above: lower * 1e3,
        p50_below: Some(upper * 1e3).filter(|upper| upper.is_finite()),
        n: buckets.count,
    })
}

fn timeline(
    within: &[(&Sample, &ServerSample)],
    begin: Nanos,
    steps: &[(Nanos, u64)],
) -> Vec<Instant> {
    let every = within.len().div_ceil(MOST_INSTANTS).max(1);
    let instant = |(sample, said): &(&Sample, &ServerSample)| {
        let passed = steps.partition_point(|step| step.0 <= sample.at);
        let value = |quantity: Quantity| said.values.get(&quantity).copied();
        Instant {
            at_s: sample.at.seconds_after(begin),
            in_flight: passed.checked_sub(1).map_or(0, |at| steps[at].1),
            running: value(Quantity::Running),
            waiting: value(Quantity::Waiting),
            kv_use: value(Quantity::KvUse),
        }
    };
    within.iter().step_by(every).map(instant).collect()
}
