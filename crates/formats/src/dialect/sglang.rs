//! The table of SGLang's `bench_serving`.

use inferometer_analysis::ImportedPass;
use inferometer_model::Record;

use super::layout::{TableLine, ToolTable, Value, count, figure, number, section};
use super::stream::{Chunk, Stream, gaps};
use super::tool::{Definition, FROM_PICK, Pass, Stated, Tool};
use super::vllm::{Figures, Request};
use super::{numbers::Numbers, selection::ServingSelection};

pub(super) const TOOL: Tool = Tool {
    name: "sglang",
    origin: FROM_PICK,
    definitions: &DEFINITIONS,
    printed,
    stated: Some(Stated { format: crate::import::SGLANG, table: stated }),
};

static DEFINITIONS: [Definition; 6] = inferometer_model::table! { Definition { name, unit, formula }
    ("TTFT", "ms", "first chunk with text, reasoning or a tool call - pick")
    ("TPOT", "ms", "(E2E latency - TTFT) / (output tokens - 1); requests with one output token are left out")
    ("ITL", "ms",
     "every gap between chunks with text, reasoning or a tool call, pooled over all requests; with the native \
      /generate, each gap is divided evenly among the tokens of the later chunk")
    ("E2E Latency", "ms", "last line of the stream (including usage and [DONE]) - pick")
    ("output tokens", "tokens",
     "with the native /generate, as the server counts them; with an OpenAI API, the requested number, also for an \
      answer that ended early")
    ("Concurrency", "requests", "sum of E2E latencies / benchmark duration")
};

/// Output tokens: as the server's usage states them in the native API, otherwise as requested, because the tool then
/// does not ask for usage.
fn output(stream: &Stream<'_>, native: bool) -> u32 {
    let counted = stream.record.usage.completion.filter(|_| native);
    counted.unwrap_or(stream.record.asked_output)
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

fn lines(pass: &Pass<'_>) -> ToolTable {
    let native = pass.dialect == "sglang";
    let streams: Vec<Stream<'_>> =
        pass.completed().into_iter().filter(|stream| !stream.visible().is_empty()).collect();
    let latency = |stream: &Stream<'_>| stream.since_start(stream.last_line);
    let ttft = |stream: &Stream<'_>| stream.since_start(stream.visible()[0].at);
    let tpot = streams.iter().filter_map(|stream| {
        let tokens = output(stream, native);
        (tokens > 1).then(|| (latency(stream) - ttft(stream)) / f64::from(tokens - 1))
    });
    let e2e = Numbers::of_seconds_in_ms(streams.iter().map(latency));
    let duration = pass.duration().unwrap_or(f64::NAN);
    let input: f64 = streams.iter().map(|stream| f64::from(stream.input)).sum();
    let generated: f64 = streams.iter().map(|stream| f64::from(output(stream, native))).sum();
    let rate = pass.rate.map_or("inf".to_owned(), |rate| format!("{rate:?}"));
    let concurrency = pass.concurrency.map_or("not set".to_owned(), |most| most.to_string());
    let requests: Vec<Request> =
        streams.iter().map(|stream| Request::of(stream, &ServingSelection::default())).collect();
    let peaks = Figures::of(&requests);
    let mut lines = vec![
        figure("Backend:", "backend", Value::Words(pass.dialect.to_owned())),
        figure("Traffic request rate:", "request_rate", Value::Words(rate)),
        figure("Max request concurrency:", "max_concurrency", Value::Words(concurrency)),
        count("Successful requests:", "completed", streams.len()),
        number("Benchmark duration (s):", "duration", duration),
        count("Total input tokens:", "total_input_tokens", input as usize),
        count("Total input text tokens:", "total_input_text_tokens", input as usize),
        count("Total generated tokens:", "total_output_tokens", generated as usize),
        count(RETOKENIZED, "total_output_tokens_retokenized", 0),
        number(
            "Request throughput (req/s):",
            "request_throughput",
            streams.len() as f64 / duration,
        ),
        number("Input token throughput (tok/s):", "input_throughput", input / duration),
        number("Output token throughput (tok/s):", "output_throughput", generated / duration),
        number(
            "Peak output token throughput (tok/s):",
            "max_output_tokens_per_s",
            peaks.peak_tokens_per_s,
        ),
        count("Peak concurrent requests:", "max_concurrent_requests", peaks.peak_requests as usize),
        number(
            "Total token throughput (tok/s):",
            "total_throughput",
            (input + generated) / duration,
        ),
        number("Concurrency:", "concurrency", e2e.sum() / 1e3 / duration),
        number("Accept length:", "accept_length", f64::NAN),
    ];
    let itl = Numbers::of_seconds_in_ms(streams.iter().flat_map(|stream| itl(stream, native)));
    let tpot = Numbers::of_seconds_in_ms(tpot);
    let ttft = Numbers::of_seconds_in_ms(streams.iter().map(ttft));
    lines.extend(latencies([&e2e, &ttft, &tpot, &itl]));
    ToolTable::new("Serving Benchmark Result", lines)
}

/// The lines of E2E latency, TTFT, TPOT and ITL.
fn latencies(values: [&Numbers; 4]) -> Vec<TableLine> {
    const HEADINGS: [(&str, &str, &str); 4] = [
        ("End-to-End Latency", "E2E Latency", "e2e_latency"),
        ("Time to First Token", "TTFT", "ttft"),
        ("Time per Output Token (excl. 1st token)", "TPOT", "tpot"),
        ("Inter-Token Latency", "ITL", "itl"),
    ];
    let mut lines = Vec::new();
    for ((heading, name, key), values) in HEADINGS.into_iter().zip(values) {
        lines.push(section(heading));
        for (statistic, of_key, value) in [
            ("Mean", "mean", values.mean()),
            ("Median", "median", values.percentile(50.0)),
            ("P90", "p90", values.percentile(90.0)),
            ("P95", "p95", values.percentile(95.0)),
            ("P99", "p99", values.percentile(99.0)),
        ] {
            let label = format!("{statistic} {name} (ms):");
            lines.push(number(&label, &format!("{of_key}_{key}_ms"), value));
        }
        if key == "itl" {
            lines.push(number("Max ITL (ms):", "max_itl_ms", values.max()));
        }
    }
    lines
}

const RETOKENIZED: &str = "Total generated tokens (retokenized):";

fn printed(pass: &Pass<'_>) -> ToolTable {
    let mut table = lines(pass).without(
        "Total generated tokens (retokenized): the output texts are not stored, so they cannot be \
            tokenized again",
    );
    table.lines.retain(|line| !is_of(line, "total_output_tokens_retokenized"));
    table.lines.retain(|line| !is_of(line, "accept_length"));
    let early = |record: &&Record| {
        record.outcome.is_complete()
            && record.usage.completion.is_some_and(|tokens| tokens != record.asked_output)
    };
    let early = pass.records.iter().filter(early).count();
    match early == 0 || pass.dialect == "sglang" {
        true => table,
        false => table.without(format!(
            "{early} answers have another length than requested, but SGLang counts the requested \
                one for an OpenAI API: total generated tokens, output tokens/s and TPOT are as it \
                would print them"
        )),
    }
}

fn is_of(line: &TableLine, name: &str) -> bool {
    matches!(line, TableLine::Figure { key, .. } if key == name)
}

fn stated(pass: &ImportedPass) -> ToolTable {
    let mut table = lines(&Pass::default());
    // The tool prints this line only with speculative decoding.
    let has = pass.numbers.contains_key("accept_length");
    table.lines.retain(|line| has || !is_of(line, "accept_length"));
    let mut table = table.of_stated(pass, |key, _| key.to_owned());
    for line in &mut table.lines {
        if let TableLine::Figure { value: Value::Words(words), .. } = line
            && words == "Infinity"
        {
            *words = "inf".to_owned();
        }
    }
    table
}
