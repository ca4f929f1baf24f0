//! The table of `vllm bench serve`.

mod stated;
mod steady_state;

use std::collections::BTreeMap;

use inferometer_model::{EventKind, Nanos, Record};

use super::layout::{TableLine, ToolTable, Value, count, figure, number, section};
use super::numbers::Numbers;
use super::selection::{ServingMetric, ServingSelection, percentile_word};
use super::stream::{Stream, gaps};
use super::tool::{Definition, FROM_PICK, Pass, Stated, Tool};

pub(crate) use steady_state::SteadyState;

pub(super) const TOOL: Tool = Tool {
    name: "vllm",
    origin: FROM_PICK,
    definitions: &DEFINITIONS,
    printed,
    stated: Some(Stated { format: crate::import::VLLM, table: stated::table }),
};

static DEFINITIONS: [Definition; 6] = inferometer_model::table! { Definition { name, unit, formula }
    ("TTFT", "ms",
     "first chunk with choices, even if its text is empty (chat: first chunk with content, reasoning or tool call, \
      or empty content without a role) - pick")
    ("TPOT", "ms", "(E2EL - TTFT) / (output tokens - 1); requests with one output token are left out")
    ("ITL", "ms", "every gap between chunks, pooled over all requests")
    ("E2EL", "ms", "last chunk with a token - pick")
    ("Peak output token throughput", "tokens/s",
     "maximum number of chunks that arrived in one second; seconds are counted from the first pick")
    ("Peak concurrent requests", "requests",
     "maximum number of requests that are in flight in one second; seconds are counted from the first pick")
};

/// A request as the tool's result file states it. Times are in seconds.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub start: f64,
    pub ttft: f64,
    pub itl: Vec<f64>,
    pub latency: f64,
    pub output: u32,
    pub input: u32,
    /// The wait in the client before the start.
    pub queued: f64,
}

/// Returns the seconds from the arrival of a request to its start, at least 0. A request arrives when it is
/// due; with `selection.all_arrive_at_start`, it arrives at `selection.begin`, if this instant is known.
pub(crate) fn queued(start: Nanos, due: Nanos, selection: &ServingSelection) -> f64 {
    let arrived = selection.begin.filter(|_| selection.all_arrive_at_start).unwrap_or(due);
    start.seconds_after(arrived).max(0.0)
}

impl Request {
    pub(crate) fn of(stream: &Stream<'_>, selection: &ServingSelection) -> Self {
        let (first, last) = (stream.chunks[0].at, stream.chunks[stream.chunks.len() - 1].at);
        Self {
            start: stream.start.seconds_after(Nanos::ZERO),
            ttft: stream.since_start(first),
            itl: gaps(&stream.chunks),
            latency: stream.since_start(last),
            output: stream.output,
            input: stream.input,
            queued: queued(stream.start, stream.record.due, selection),
        }
    }

    fn tpot(&self) -> Option<f64> {
        (self.output > 1).then(|| (self.latency - self.ttft) / f64::from(self.output - 1))
    }

    /// Whether the request meets all limits. The TPOT of a request with at most one output token counts as 0.
    fn is_good(&self, limits: &[(ServingMetric, f64)]) -> bool {
        limits.iter().all(|(metric, limit_ms)| {
            let seconds = match metric {
                ServingMetric::Ttft => self.ttft,
                ServingMetric::Tpot => self.tpot().unwrap_or(0.0),
                _ => self.latency,
            };
            limit_ms / 1e3 >= seconds
        })
    }
}

/// Returns the good requests per second; `None` if the selection has no limits.
pub(crate) fn goodput(
    requests: &[Request],
    selection: &ServingSelection,
    duration_s: f64,
) -> Option<f64> {
    let good = requests.iter().filter(|request| request.is_good(&selection.goodput)).count();
    (!selection.goodput.is_empty()).then(|| good as f64 / duration_s)
}

/// Returns the seconds from the beginning of the pass to the end of its last request. `None` if the beginning
/// is not known, or if no request ended after it.
pub(crate) fn since_begin_s(records: &[Record], selection: &ServingSelection) -> Option<f64> {
    let ended = records.iter().filter_map(|record| record.ended).max()?;
    Some(ended.seconds_after(selection.begin?)).filter(|seconds| *seconds > 0.0)
}

/// The figures of completed requests. Latencies are in milliseconds.
pub(crate) struct Figures {
    pub ttft: Numbers,
    pub tpot: Numbers,
    pub itl: Numbers,
    pub e2el: Numbers,
    pub queued: Numbers,
    pub e2el_queued: Numbers,
    pub total_input: u64,
    pub total_output: u64,
    pub peak_tokens_per_s: f64,
    pub peak_requests: u64,
}

impl Figures {
    pub(crate) fn of(requests: &[Request]) -> Self {
        let (peak_tokens_per_s, peak_requests) = peaks(requests);
        Self {
            ttft: Numbers::of_seconds_in_ms(requests.iter().map(|request| request.ttft)),
            tpot: Numbers::of_seconds_in_ms(requests.iter().filter_map(Request::tpot)),
            itl: Numbers::of_seconds_in_ms(
                requests.iter().flat_map(|request| &request.itl).copied(),
            ),
            e2el: Numbers::of_seconds_in_ms(requests.iter().map(|request| request.latency)),
            queued: Numbers::of_seconds_in_ms(requests.iter().map(|request| request.queued)),
            e2el_queued: Numbers::of_seconds_in_ms(
                requests.iter().map(|request| request.latency + request.queued),
            ),
            total_input: requests.iter().map(|request| u64::from(request.input)).sum(),
            total_output: requests.iter().map(|request| u64::from(request.output)).sum(),
            peak_tokens_per_s,
            peak_requests,
        }
    }

    /// Returns the values of a metric, in milliseconds.
    pub(crate) fn of_metric(&self, metric: ServingMetric) -> &Numbers {
        match metric {
            ServingMetric::Ttft => &self.ttft,
            ServingMetric::Tpot => &self.tpot,
            ServingMetric::Itl => &self.itl,
            ServingMetric::E2el => &self.e2el,
            ServingMetric::ClientQueueTime => &self.queued,
            ServingMetric::E2elIncludingClientQueue => &self.e2el_queued,
        }
    }
}

/// Returns two maxima over the seconds of the pass: the number of chunks that arrive in one second, and the
/// number of requests that are in flight in one second. Seconds are counted from the first start.
fn peaks(requests: &[Request]) -> (f64, u64) {
    let first = requests.iter().map(|request| request.start).fold(f64::INFINITY, f64::min);
    let second = |at: f64| (at - first).max(0.0) as u64;
    // Only seconds with events have an entry, so that a long pass does not need much memory.
    let mut chunks: BTreeMap<u64, u64> = BTreeMap::new();
    let mut changes: BTreeMap<u64, i64> = BTreeMap::new();
    for request in requests {
        let mut at = request.start + request.ttft;
        *chunks.entry(second(at)).or_default() += 1;
        for gap in &request.itl {
            at += gap;
            *chunks.entry(second(at)).or_default() += 1;
        }
        *changes.entry(second(request.start)).or_default() += 1;
        *changes.entry(second(request.start + request.latency).saturating_add(1)).or_default() -= 1;
    }
    let (mut in_flight, mut most) = (0, 0);
    for change in changes.values() {
        in_flight += change;
        most = in_flight.max(most);
    }
    let chunks = chunks.values().copied().max().unwrap_or(0);
    (chunks as f64, u64::try_from(most).unwrap_or(0))
}

fn printed(pass: &Pass<'_>) -> ToolTable {
    serving_table(pass, &ServingSelection::default())
}

/// Returns the table of a pass with the selected figures.
pub fn serving_table(pass: &Pass<'_>, selection: &ServingSelection) -> ToolTable {
    let completed = pass.completed();
    let requests: Vec<Request> =
        completed.iter().map(|stream| Request::of(stream, selection)).collect();
    let figures = Figures::of(&requests);
    let begun = since_begin_s(pass.records, selection);
    let duration = begun.or_else(|| pass.duration()).unwrap_or(f64::NAN);
    let failed = pass.records.len() - requests.len();
    let (input, output) = (figures.total_input as f64, figures.total_output as f64);
    let mut lines = vec![
        count("Successful requests:", "completed", requests.len()),
        count("Failed requests:", "failed", failed),
    ];
    let concurrency = pass.concurrency.map(u64::from).map(Value::Count);
    lines.extend(
        concurrency.map(|value| figure("Maximum request concurrency:", "max_concurrency", value)),
    );
    lines.extend(
        pass.rate.map(|rate| number("Request rate configured (RPS):", "request_rate", rate)),
    );
    lines.extend([
        number("Benchmark duration (s):", "duration", duration),
        figure("Total input tokens:", "total_input_tokens", Value::Count(figures.total_input)),
        figure(
            "Total generated tokens:",
            "total_output_tokens",
            Value::Count(figures.total_output),
        ),
        number(
            "Request throughput (req/s):",
            "request_throughput",
            requests.len() as f64 / duration,
        ),
    ]);
    lines.extend(
        goodput(&requests, selection, duration)
            .map(|goodput| number("Request goodput (req/s):", "request_goodput", goodput)),
    );
    lines.extend([
        number("Output token throughput (tok/s):", "output_throughput", output / duration),
        number(
            "Peak output token throughput (tok/s):",
            "max_output_tokens_per_s",
            figures.peak_tokens_per_s,
        ),
        number(
            "Peak concurrent requests:", "max_concurrent_requests", figures.peak_requests as f64,
        ),
        number(
            "Total token throughput (tok/s):",
            "total_token_throughput",
            (input + output) / duration,
        ),
    ]);
    for metric in ServingMetric::ALL.into_iter().filter(|one| selection.metrics.contains(one)) {
        lines.push(section(metric.heading()));
        lines.extend(of_metric(metric, figures.of_metric(metric), &selection.percentiles));
    }
    let steady =
        selection.steady_state.and_then(|window| SteadyState::of(window, &requests, duration));
    lines.extend(steady.iter().flat_map(|steady| steady.lines(&selection.percentiles)));
    let mut table = ToolTable::new("Serving Benchmark Result", lines);
    table.left_out = by_other_clients(pass, &completed);
    table
}

/// What other versions of the tool would have printed, because they take another chunk as the first one.
fn by_other_clients(pass: &Pass<'_>, completed: &[Stream<'_>]) -> Vec<String> {
    let ttft = |first: &dyn Fn(&Stream<'_>) -> Option<Nanos>| {
        let seconds = completed.iter().filter_map(|s| Some(s.since_start(first(s)?)));
        let values = Numbers::of_seconds_in_ms(seconds);
        format!("{:.2} (median {:.2})", values.mean(), values.percentile(50.0))
    };
    let mut told = Vec::new();
    let has = |kind: EventKind| {
        completed.iter().any(|s| s.record.events.iter().any(|event| event.kind == kind))
    };
    if has(EventKind::Reasoning) {
        told.push(format!(
            "vLLM 0.33 times `delta.reasoning` as above, but no `delta.reasoning_content`: if the \
                server sends the latter, its mean TTFT is {} ms",
            ttft(&|s| s.chunks.iter().find(|chunk| chunk.answer).map(|chunk| chunk.at))
        ));
    }
    if pass.dialect == "openai-chat" && has(EventKind::Role) {
        told.push(format!(
            "vLLM's Rust client also times the chunk with only the role: its mean TTFT is {} ms",
            ttft(&|s| {
                let first = |kind: EventKind| kind == EventKind::Role || kind.is_token();
                let event = s.record.events.iter().find(|event| first(event.kind))?;
                Some(s.record.arrival(event))
            })
        ));
    }
    told
}

fn of_metric(metric: ServingMetric, values: &Numbers, percentiles: &[f64]) -> Vec<TableLine> {
    let (name, key) = (metric.label(), metric.name());
    let median = values.percentile(50.0);
    let mut lines = vec![
        number(&format!("Mean {name} (ms):"), &format!("mean_{key}_ms"), values.mean()),
        number(&format!("Median {name} (ms):"), &format!("median_{key}_ms"), median),
    ];
    lines.extend(percentiles.iter().map(|&percentile| {
        let word = percentile_word(percentile);
        let value = values.percentile(percentile);
        number(&format!("P{word} {name} (ms):"), &format!("p{word}_{key}_ms"), value)
    }));
    lines
}
