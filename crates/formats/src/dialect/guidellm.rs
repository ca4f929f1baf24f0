//! The table of GuideLLM.

use super::layout::{TableLine, ToolTable, count, number, section, statistics};
use super::numbers::{Numbers, Weighted};
use super::stream::{Chunk, Stream};
use super::tool::{Definition, FROM_PICK, Pass, Tool};

pub(super) const TOOL: Tool =
    Tool { name: "guidellm", origin: FROM_PICK, definitions: &DEFINITIONS, printed };

static DEFINITIONS: [Definition; 5] = [
    Definition::new(
        "Time to First Token",
        "ms",
        "first chunk with content, reasoning or tool call - pick",
    ),
    Definition::new(
        "Time per Output Token",
        "ms",
        "(last chunk with content, reasoning or tool call - pick) / output tokens; this \
                  includes the wait for the first token; one value per request, weighted by its \
                  output tokens",
    ),
    Definition::new(
        "Inter-Token Latency",
        "ms",
        "(last chunk - first chunk with content, reasoning or tool call) / (output tokens \
                  - 1); one value per request, weighted by its output tokens - 1",
    ),
    Definition::new("Request Latency", "s", "end of the request - pick"),
    Definition::new(
        "median, percentiles",
        "-",
        "nearest rank: the smallest value v for which at least this percentage of the \
                  requests, or of the weight, has values of at most v",
    ),
];

/// The times of a request in seconds, and its number of output tokens.
struct Times {
    ttft: f64,
    tpot: Option<f64>,
    itl: Option<f64>,
    latency: f64,
    output: f64,
}

impl Times {
    fn of(stream: &Stream<'_>) -> Option<Self> {
        let chunks: Vec<Chunk> = stream.visible();
        let (first, last) = (chunks.first()?.at, chunks.last()?.at);
        let output = f64::from(stream.output);
        Some(Self {
            ttft: stream.since_start(first),
            tpot: (output > 0.0).then(|| stream.since_start(last) / output),
            itl: (output > 1.0).then(|| last.seconds_after(first) / (output - 1.0)),
            latency: stream.since_start(stream.record.ended.unwrap_or(last)),
            output,
        })
    }
}

fn printed(pass: &Pass<'_>) -> ToolTable {
    let streams = pass.completed();
    let times: Vec<Times> = streams.iter().filter_map(Times::of).collect();
    let duration = pass.duration().unwrap_or(f64::NAN);
    let tokens =
        |of: fn(&Stream<'_>) -> u32| Numbers::new(streams.iter().map(|s| f64::from(of(s))));
    let (input, output) = (tokens(|stream| stream.input), tokens(|stream| stream.output));
    let ms = |of: fn(&Times) -> Option<(f64, f64)>| {
        let weighted = times.iter().filter_map(of);
        Weighted::new(weighted.map(|(seconds, weight)| (seconds * 1e3, weight)))
    };
    let latency = Numbers::new(times.iter().map(|times| times.latency));
    let each =
        |of: fn(&Stream<'_>) -> u32| Weighted::even(streams.iter().map(|s| f64::from(of(s))));
    let lines = vec![
        count("Completed requests", "request_totals.successful", times.len()),
        count("Errored requests", "request_totals.errored", pass.records.len() - times.len()),
        section("Request Token Statistics"),
        of_metric("Input Tokens Per Request", "prompt_token_count", &each(|stream| stream.input)),
        of_metric("Output Tokens Per Request", "output_token_count", &each(|stream| stream.output)),
        section("Request Latency Statistics"),
        of_metric(
            "Request Latency (Sec)",
            "request_latency",
            &Weighted::even(times.iter().map(|times| times.latency)),
        ),
        of_metric("TTFT (ms)", "time_to_first_token_ms", &ms(|times| Some((times.ttft, 1.0)))),
        of_metric(
            "ITL (ms)",
            "inter_token_latency_ms",
            &ms(|times| Some((times.itl?, times.output - 1.0))),
        ),
        of_metric(
            "TPOT (ms)",
            "time_per_output_token_ms",
            &ms(|times| Some((times.tpot?, times.output))),
        ),
        section("Server Throughput Statistics"),
        number("Requests / Sec", "requests_per_second", times.len() as f64 / duration),
        number("Concurrency (mean)", "request_concurrency", latency.sum() / duration),
        number("Input Tokens / Sec", "prompt_tokens_per_second", input.sum() / duration),
        number("Output Tokens / Sec", "output_tokens_per_second", output.sum() / duration),
        number("Total Tokens / Sec", "tokens_per_second", (input.sum() + output.sum()) / duration),
    ];
    let left_out = vec![
        "distributions of the rates over time: GuideLLM applies its own smoothing to the rates",
    ];
    ToolTable { title: "GuideLLM".to_owned(), lines, left_out }
}

fn of_metric(label: &str, key: &str, values: &Weighted) -> TableLine {
    let percent = |percent: f64| Some(values.nearest_rank(percent));
    let values = vec![
        ("median", percent(50.0)),
        ("p95", percent(95.0)),
        ("mean", Some(values.mean())),
        ("p99", percent(99.0)),
        ("std_dev", Some(values.std())),
        ("min", Some(values.min())),
        ("max", Some(values.max())),
    ];
    statistics(label, key, values)
}
