//! The table of SGLang's `bench_serving`.

use super::layout::{ToolTable, Value, count, figure, number, section};
use super::numbers::Numbers;
use super::stream::{Chunk, Stream, gaps};
use super::tool::{Definition, FROM_PICK, Pass, Tool};

pub(super) const TOOL: Tool =
    Tool { name: "sglang", origin: FROM_PICK, definitions: &DEFINITIONS, printed };

static DEFINITIONS: [Definition; 5] = [
    Definition::new("TTFT", "ms", "first chunk with text, reasoning or a tool call - pick"),
    Definition::new(
        "TPOT",
        "ms",
        "(E2E latency - TTFT) / (output tokens - 1); requests with one output token are left out",
    ),
    Definition::new(
        "ITL",
        "ms",
        "every gap between chunks with text, reasoning or a tool call, pooled over all \
                  requests; with the native /generate, each gap is divided evenly among the tokens \
                  of the later chunk",
    ),
    Definition::new(
        "E2E Latency",
        "ms",
        "last line of the stream (including usage and [DONE]) - pick",
    ),
    Definition::new("Concurrency", "requests", "sum of E2E latencies / benchmark duration"),
];

/// Output tokens as the server's usage states them, otherwise as requested.
fn output(stream: &Stream<'_>) -> u32 {
    stream.record.usage.completion.unwrap_or(stream.record.asked_output)
}

fn itl(stream: &Stream<'_>, native: bool) -> Vec<f64> {
    let chunks = stream.visible();
    let gaps = gaps(&chunks);
    if !native {
        return gaps;
    }
    let even = f64::from(stream.output) / chunks.len().max(1) as f64;
    let spread = |(gap, chunk): (f64, &Chunk)| {
        let tokens = chunk.tokens.map_or(even, f64::from).round().max(1.0);
        std::iter::repeat_n(gap / tokens, tokens as usize)
    };
    gaps.into_iter().zip(&chunks[1..]).flat_map(spread).collect()
}

fn printed(pass: &Pass<'_>) -> ToolTable {
    let native = pass.dialect == "sglang";
    let streams: Vec<Stream<'_>> =
        pass.completed().into_iter().filter(|stream| !stream.visible().is_empty()).collect();
    let latency = |stream: &Stream<'_>| stream.since_start(stream.last_line);
    let ttft = |stream: &Stream<'_>| stream.since_start(stream.visible()[0].at);
    let tpot = streams.iter().filter_map(|stream| {
        let tokens = output(stream);
        (tokens > 1).then(|| (latency(stream) - ttft(stream)) / f64::from(tokens - 1))
    });
    let e2e = Numbers::of_seconds_in_ms(streams.iter().map(latency));
    let duration = pass.duration().unwrap_or(f64::NAN);
    let input: f64 = streams.iter().map(|stream| f64::from(stream.input)).sum();
    let generated: f64 = streams.iter().map(|stream| f64::from(output(stream))).sum();
    let rate = pass.rate.map_or("inf".to_owned(), |rate| format!("{rate}"));
    let concurrency = pass.concurrency.map_or("not set".to_owned(), |most| most.to_string());
    let mut lines = vec![
        figure("Traffic request rate:", "request_rate", Value::Words(rate)),
        figure("Max request concurrency:", "max_concurrency", Value::Words(concurrency)),
        count("Successful requests:", "completed", streams.len()),
        number("Benchmark duration (s):", "duration", duration),
        count("Total input tokens:", "total_input_tokens", input as usize),
        count("Total generated tokens:", "total_output_tokens", generated as usize),
        number(
            "Request throughput (req/s):",
            "request_throughput",
            streams.len() as f64 / duration,
        ),
        number("Input token throughput (tok/s):", "input_throughput", input / duration),
        number("Output token throughput (tok/s):", "output_throughput", generated / duration),
        number(
            "Total token throughput (tok/s):",
            "total_throughput",
            (input + generated) / duration,
        ),
        number("Concurrency:", "concurrency", e2e.sum() / 1e3 / duration),
    ];
    let itl = Numbers::of_seconds_in_ms(streams.iter().flat_map(|stream| itl(stream, native)));
    let blocks = [
        ("End-to-End Latency", "E2E Latency", "e2e_latency", e2e),
        (
            "Time to First Token",
            "TTFT",
            "ttft",
            Numbers::of_seconds_in_ms(streams.iter().map(ttft)),
        ),
        (
            "Time per Output Token (excl. 1st token)",
            "TPOT",
            "tpot",
            Numbers::of_seconds_in_ms(tpot),
        ),
        ("Inter-Token Latency", "ITL", "itl", itl),
    ];
    for (heading, name, key, values) in blocks {
        lines.push(section(heading));
        for (statistic, of_key, value) in [
            ("Mean", "mean", values.mean()),
            ("Median", "median", values.percentile(50.0)),
            ("P90", "p90", values.percentile(90.0)),
            ("P95", "p95", values.percentile(95.0)),
            ("P99", "p99", values.percentile(99.0)),
        ] {
            lines.push(number(
                &format!("{statistic} {name} (ms):"),
                &format!("{of_key}_{key}_ms"),
                value,
            ));
        }
        if key == "itl" {
            lines.push(number("Max ITL (ms):", "max_itl_ms", values.max()));
        }
    }
    let left_out = vec![
        "Total generated tokens (retokenized): the output texts are not stored, \
        so they cannot be tokenized again",
    ];
    ToolTable { title: "Serving Benchmark Result".to_owned(), lines, left_out }
}
