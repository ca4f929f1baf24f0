//! The table of inference-perf. Its result files state latencies in seconds, its screen in milliseconds.

use super::layout::{TableLine, ToolTable, count, number, section, statistics};
use super::numbers::Numbers;
use super::stream::{Chunk, Stream, gaps};
use super::tool::{Definition, FROM_PICK, Pass, Stated, Tool};
use inferometer_analysis::ImportedPass;

pub(super) const TOOL: Tool = Tool {
    name: "inference-perf",
    origin: FROM_PICK,
    definitions: &DEFINITIONS,
    printed,
    stated: Some(Stated { format: crate::import::INFERENCE_PERF, table: stated }),
};

static DEFINITIONS: [Definition; 5] = inferometer_model::table! { Definition { name, unit, formula }
    ("time_to_first_token", "s", "first chunk with content - pick; only requests with more than one output token")
    ("time_per_output_token", "s", "(last chunk with content - first chunk with content) / (output tokens - 1)")
    ("inter_token_latency", "s",
     "time between tokens: 0 between tokens of one chunk, otherwise the gap between the chunks; pooled over all \
      requests")
    ("normalized_time_per_output_token", "s", "request latency / output tokens")
    ("request_latency", "s", "end of the request - pick")
};

fn printed(pass: &Pass<'_>) -> ToolTable {
    let all = pass.completed();
    let streams: Vec<&Stream<'_>> = all.iter().filter(|s| !s.visible().is_empty()).collect();
    let of = |value: &dyn Fn(&Stream<'_>) -> Option<f64>| {
        Numbers::new(streams.iter().filter_map(|stream| value(stream)))
    };
    let streamed = |stream: &Stream<'_>| tokens_of(stream).into_iter().sum::<usize>() > 1;
    let latency =
        |stream: &Stream<'_>| stream.since_start(stream.record.ended.unwrap_or(stream.last_line));
    let first = |stream: &Stream<'_>| stream.visible()[0].at;
    let tpot = |stream: &Stream<'_>| {
        let last = stream.visible().last()?.at;
        let rest = stream.output.checked_sub(1).filter(|rest| *rest > 0)?;
        Some(last.seconds_after(first(stream)) / f64::from(rest))
    };
    let per_output = |stream: &Stream<'_>| {
        (stream.output > 0).then(|| latency(stream) / f64::from(stream.output))
    };
    let itl = Numbers::new(streams.iter().flat_map(|stream| between_tokens(stream)));
    let duration = pass.duration().unwrap_or(f64::NAN);
    let input = of(&|stream| Some(f64::from(stream.input)));
    let output = of(&|stream| Some(f64::from(stream.output)));
    let rate = |amount: f64| amount / duration;
    let lines = vec![
        count("successes.count", "successes.count", streams.len()),
        count("failures.count", "failures.count", pass.records.len() - streams.len()),
        section("successes.latency, ms (s in files)"),
        in_ms("request_latency", &of(&|stream| Some(latency(stream)))),
        in_ms("normalized_time_per_output_token", &of(&per_output)),
        in_ms("time_per_output_token", &of(&tpot)),
        in_ms(
            "time_to_first_token",
            &of(&|stream| streamed(stream).then(|| stream.since_start(first(stream)))),
        ),
        in_ms("inter_token_latency", &itl),
        section("successes.throughput"),
        number("input_tokens_per_sec", "input_tokens_per_sec", rate(input.sum())),
        number("output_tokens_per_sec", "output_tokens_per_sec", rate(output.sum())),
        number("total_tokens_per_sec", "total_tokens_per_sec", rate(input.sum() + output.sum())),
        number("requests_per_sec", "requests_per_sec", rate(streams.len() as f64)),
        section("tokens"),
        of_metric("prompt_len", &input),
        of_metric("output_len", &output),
    ];
    ToolTable::new("inference-perf", lines)
}

fn stated(pass: &ImportedPass) -> ToolTable {
    printed(&Pass::default()).of_stated(pass, |key, statistic| {
        let statistic = match statistic {
            Some("p50") => Some("median"),
            other => other,
        };
        match (key, statistic) {
            ("prompt_len", Some(statistic)) => format!("successes.prompt_tokens.{statistic}"),
            ("output_len", Some(statistic)) => format!("successes.output_len.{statistic}"),
            (latency, Some(statistic)) => format!("successes.latency.{latency}.{statistic}"),
            (count, None) if count.ends_with(".count") => count.to_owned(),
            (rate, None) => format!("successes.throughput.{rate}"),
        }
    })
}

/// Returns the times between tokens, in seconds. The first token of each chunk gets the gap before the chunk;
/// the first token of the first chunk gets no value. Every other token gets 0.
fn between_tokens(stream: &Stream<'_>) -> Vec<f64> {
    let tokens = tokens_of(stream);
    let inside = |count: usize| std::iter::repeat_n(0.0, count.saturating_sub(1));
    let mut all: Vec<f64> = inside(tokens[0]).collect();
    for (gap, count) in gaps(&stream.visible()).into_iter().zip(&tokens[1..]) {
        all.push(gap);
        all.extend(inside(*count));
    }
    all
}

/// Returns the number of tokens of each visible chunk. If a chunk does not state its tokens, the number is
/// the output tokens divided by the number of visible chunks, rounded.
fn tokens_of(stream: &Stream<'_>) -> Vec<usize> {
    let chunks = stream.visible();
    let even = f64::from(stream.output) / chunks.len().max(1) as f64;
    let tokens = |chunk: &Chunk| chunk.tokens.map_or(even, f64::from).round() as usize;
    chunks.iter().map(tokens).collect()
}

/// A line of a latency in seconds, which is printed in milliseconds.
fn in_ms(key: &str, values: &Numbers) -> TableLine {
    match of_metric(key, values) {
        TableLine::Statistics { label, key, values, .. } => {
            TableLine::Statistics { label, key, values, scale: 1e3 }
        }
        line => line,
    }
}

fn of_metric(key: &str, values: &Numbers) -> TableLine {
    let known = |value: f64| (values.count() > 0).then_some(value);
    let percent = |percent: f64| known(values.percentile(percent));
    let values = vec![
        ("mean", known(values.mean())),
        ("min", known(values.min())),
        ("p10", percent(10.0)),
        ("p50", percent(50.0)),
        ("p90", percent(90.0)),
        ("p95", percent(95.0)),
        ("p99", percent(99.0)),
        ("max", known(values.max())),
    ];
    statistics(key, key, values)
}
