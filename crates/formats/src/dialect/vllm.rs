//! `vllm bench serve`.

use std::collections::BTreeMap;

use inferometer_model::time::Nanos;

use super::layout::{Line, Printed, Value, count, figure, number, section};
use super::numbers::Numbers;
use super::stream::{Stream, gaps};
use super::tool::{Definition, FROM_PICK, Pass, Tool};

pub(super) const TOOL: Tool =
    Tool { name: "vllm", origin: FROM_PICK, definitions: &DEFINITIONS, printed };

static DEFINITIONS: [Definition; 6] = [
    Definition {
        name: "TTFT",
        unit: "ms",
        formula: "first chunk with choices, even if its text is empty (chat: first chunk with \
                  content, reasoning or tool call, or empty content without a role) - pick",
    },
    Definition {
        name: "TPOT",
        unit: "ms",
        formula: "(E2EL - TTFT) / (output tokens - 1); requests of one output token are left out",
    },
    Definition { name: "ITL", unit: "ms", formula: "every gap between chunks, pooled over all" },
    Definition { name: "E2EL", unit: "ms", formula: "last chunk with a token - pick" },
    Definition {
        name: "Peak output token throughput",
        unit: "tokens/s",
        formula: "most chunks that arrived in one second, of seconds counted from the first pick",
    },
    Definition {
        name: "Peak concurrent requests",
        unit: "requests",
        formula: "most requests that touch one second, of seconds counted from the first pick",
    },
];

/// A request as its file has it, in seconds.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub start: f64,
    pub ttft: f64,
    pub itl: Vec<f64>,
    pub latency: f64,
    pub output: u32,
    pub input: u32,
}

impl Request {
    pub(crate) fn of(stream: &Stream<'_>) -> Self {
        let (first, last) = (stream.chunks[0].at, stream.chunks[stream.chunks.len() - 1].at);
        Self {
            start: stream.start.seconds_after(Nanos::ZERO),
            ttft: stream.since_start(first),
            itl: gaps(&stream.chunks),
            latency: stream.since_start(last),
            output: stream.output,
            input: stream.input,
        }
    }

    fn tpot(&self) -> Option<f64> {
        (self.output > 1).then(|| (self.latency - self.ttft) / f64::from(self.output - 1))
    }
}

/// The figures of completed requests.
pub(crate) struct Figures {
    pub ttft: Numbers,
    pub tpot: Numbers,
    pub itl: Numbers,
    pub e2el: Numbers,
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
            total_input: requests.iter().map(|request| u64::from(request.input)).sum(),
            total_output: requests.iter().map(|request| u64::from(request.output)).sum(),
            peak_tokens_per_s,
            peak_requests,
        }
    }
}

/// Chunks and requests in the fullest second.
fn peaks(requests: &[Request]) -> (f64, u64) {
    let first = requests.iter().map(|request| request.start).fold(f64::INFINITY, f64::min);
    let second = |at: f64| (at - first).max(0.0) as u64;
    // Seconds in which something happened: there may be any number of others.
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

fn printed(pass: &Pass<'_>) -> Printed {
    let requests: Vec<Request> = pass.completed().iter().map(Request::of).collect();
    let figures = Figures::of(&requests);
    let duration = pass.duration().unwrap_or(f64::NAN);
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
        number("Output token throughput (tok/s):", "output_throughput", output / duration),
        number(
            "Peak output token throughput (tok/s):",
            "max_output_tokens_per_s",
            figures.peak_tokens_per_s,
        ),
        number(
            "Peak concurrent requests:",
            "max_concurrent_requests",
            figures.peak_requests as f64,
        ),
        number(
            "Total token throughput (tok/s):",
            "total_token_throughput",
            (input + output) / duration,
        ),
    ]);
    for (heading, name, key, values) in [
        ("Time to First Token", "TTFT", "ttft", &figures.ttft),
        ("Time per Output Token (excl. 1st token)", "TPOT", "tpot", &figures.tpot),
        ("Inter-token Latency", "ITL", "itl", &figures.itl),
        ("End-to-end Latency", "E2EL", "e2el", &figures.e2el),
    ] {
        lines.push(section(heading));
        lines.extend(of_metric(name, key, values));
    }
    Printed { title: "Serving Benchmark Result".to_owned(), lines, left_out: Vec::new() }
}

fn of_metric(name: &str, key: &str, values: &Numbers) -> [Line; 3] {
    [
        number(&format!("Mean {name} (ms):"), &format!("mean_{key}_ms"), values.mean()),
        number(
            &format!("Median {name} (ms):"),
            &format!("median_{key}_ms"),
            values.percentile(50.0),
        ),
        number(&format!("P99 {name} (ms):"), &format!("p99_{key}_ms"), values.percentile(99.0)),
    ]
}
