//! The table of AIPerf.

use super::layout::{TableLine, ToolTable, section, statistics};
use super::numbers::Numbers;
use super::stream::{Stream, gaps};
use super::tool::{Definition, FROM_PICK, Pass, Stated, Tool};
use inferometer_analysis::ImportedPass;

pub(super) const TOOL: Tool = Tool {
    name: "aiperf",
    origin: FROM_PICK,
    definitions: &DEFINITIONS,
    printed,
    stated: Some(Stated { format: crate::import::AIPERF, table: stated }),
};

static DEFINITIONS: [Definition; 9] = inferometer_model::table! { Definition { name, unit, formula }
    ("Time to First Token", "ms", "first response with content - pick")
    ("Time to Second Token", "ms", "second response with content - first response with content")
    ("Inter Token Latency", "ms", "(Request Latency - TTFT) / (output tokens - 1); other tools call this TPOT")
    ("Inter Token Latency, --per-chunk-usage", "ms",
     "(Request Latency - TTFT) / (output tokens - tokens of the first response); only if the server states token \
      counts per chunk")
    ("Inter Chunk Latency", "ms",
     "every gap between responses with content, pooled over all requests; other tools call this ITL")
    ("Request Latency", "ms", "last response with content - pick")
    ("Output Token Throughput Per User", "tokens/s", "1 / Inter Token Latency, per request")
    ("Benchmark Duration", "s", "last response with content - first pick; only completed requests are considered")
    ("throughputs", "1/s", "of completed requests, / (last end of any request - start of the measured phase)")
};

struct Times {
    ttft: f64,
    second: Option<f64>,
    answer: Option<f64>,
    latency: f64,
    decode: f64,
    /// Output tokens per second of latency.
    speed: Option<f64>,
    itl: Option<f64>,
    /// The inter-token latency with `--per-chunk-usage`.
    itl_of_usage: Option<f64>,
    icl: Vec<f64>,
}

impl Times {
    fn of(stream: &Stream<'_>) -> Option<Self> {
        let chunks = stream.visible();
        let (first, last) = (chunks.first()?, chunks.last()?);
        let icl = gaps(&chunks);
        let latency = stream.since_start(last.at);
        let after_one = f64::from(stream.output) - 1.0;
        // AIPerf ignores the token count of the first chunk if it is zero, or if no tokens are left for later
        // chunks. This code does the same.
        let first_tokens = first.tokens.filter(|tokens| (1..stream.output).contains(tokens));
        let rest = first_tokens.map_or(after_one, |tokens| f64::from(stream.output - tokens));
        let over =
            |tokens: f64| (after_one >= 1.0).then(|| last.at.seconds_after(first.at) / tokens);
        Some(Self {
            ttft: stream.since_start(first.at),
            second: icl.first().copied(),
            answer: chunks.iter().find(|chunk| chunk.answer).map(|c| stream.since_start(c.at)),
            latency,
            speed: (latency > 0.0).then(|| f64::from(stream.output) / latency),
            decode: last.at.seconds_after(first.at),
            itl: over(after_one),
            itl_of_usage: over(rest),
            icl,
        })
    }
}

fn printed(pass: &Pass<'_>) -> ToolTable {
    let streams = pass.completed();
    let times: Vec<Times> = streams.iter().filter_map(Times::of).collect();
    let ms = |of: fn(&Times) -> Option<f64>| Numbers::of_seconds_in_ms(times.iter().filter_map(of));
    let tokens =
        |of: fn(&Stream<'_>) -> u32| Numbers::new(streams.iter().map(|s| f64::from(of(s))));
    let (input, output) = (tokens(|stream| stream.input), tokens(|stream| stream.output));
    let states_usage = streams.iter().any(|s| s.chunks.iter().any(|chunk| chunk.tokens.is_some()));
    let itl = times.iter().filter_map(|times| times.itl).filter(|itl| *itl > 0.0);
    let per_user = Numbers::new(itl.map(|itl| 1.0 / itl));
    let speeds = Numbers::new(times.iter().filter_map(|times| times.speed));
    let icl = Numbers::of_seconds_in_ms(times.iter().flat_map(|times| &times.icl).copied());
    let mut lines = vec![
        section("LLM Metrics"),
        of_metric("Time to First Token (ms)", "time_to_first_token", &ms(|t| Some(t.ttft))),
        of_metric("Time to Second Token (ms)", "time_to_second_token", &ms(|t| t.second)),
        of_metric(
            "Time to First Output Token (ms)",
            "time_to_first_output_token",
            &ms(|t| t.answer),
        ),
        of_metric("Request Latency (ms)", "request_latency", &ms(|t| Some(t.latency))),
        of_metric("Decode Duration (ms)", "decode_duration", &ms(|t| Some(t.decode))),
        of_metric("Inter Token Latency (ms)", "inter_token_latency", &ms(|t| t.itl)),
    ];
    if states_usage {
        let label = "Inter Token Latency, --per-chunk-usage (ms)";
        let of_usage = ms(|t| t.itl_of_usage);
        lines.push(of_metric(label, "inter_token_latency_per_chunk_usage", &of_usage));
    }
    lines.extend([
        of_metric("Inter Chunk Latency (ms)", "inter_chunk_latency", &icl),
        of_metric(
            "Output Token Throughput Per User (tok/s)",
            "output_token_throughput_per_user",
            &per_user,
        ),
        of_metric(
            "E2E Output Token Throughput (tok/s/user)",
            "e2e_output_token_throughput",
            &speeds,
        ),
        of_metric("Output Sequence Length (tokens)", "output_sequence_length", &output),
        of_metric("Input Sequence Length (tokens)", "input_sequence_length", &input),
    ]);
    lines.extend(of_phase(pass, &streams, times.len()));
    let whole = !streams.is_empty() && streams.iter().all(|stream| !stream.record.streamed);
    if whole {
        lines.retain(|line| !is_of_stream(line));
    }
    let mut table = ToolTable::new("NVIDIA AIPerf", lines).without(
        "the throughputs of AIPerf are over its measured phase, which begins some milliseconds \
            before its first request is due: its throughputs are lower by this share",
    );
    if whole {
        let why =
            format!("the answers were not streamed, so there are no {}", OF_STREAM.join(", "));
        table = table.without(why);
    }
    if pass.records.iter().any(|record| !record.outcome.is_complete()) {
        let names = ERROR_ADJUSTED.map(|(label, _)| label.trim_end_matches(" (ms)"));
        let names = names.join(", ");
        table = table.without(format!("{names}, in which a failed request is infinite"));
    }
    table
}

/// The figures that AIPerf prints only for answers that were streamed.
const OF_STREAM: [&str; 8] = [
    "time_to_first_token",
    "time_to_second_token",
    "time_to_first_output_token",
    "decode_duration",
    "inter_token_latency",
    "inter_token_latency_per_chunk_usage",
    "inter_chunk_latency",
    "output_token_throughput_per_user",
];

fn is_of_stream(line: &TableLine) -> bool {
    matches!(line, TableLine::Statistics { key, .. } if OF_STREAM.contains(&key.as_str()))
}

/// The lines of which AIPerf prints only the statistics that failed requests, as infinite latencies, leave finite. Without
/// failures, it prints none of them.
const ERROR_ADJUSTED: [(&str, &str); 4] = [
    ("Request Latency (error-adjusted) (ms)", "adj_request_latency"),
    ("Time to First Token (error-adjusted) (ms)", "adj_time_to_first_token"),
    ("Decode Duration (error-adjusted) (ms)", "adj_decode_duration"),
    ("Inter Token Latency (error-adjusted) (ms)", "adj_inter_token_latency"),
];

/// The lines about the whole phase, with `valid` completed requests.
fn of_phase(pass: &Pass<'_>, streams: &[Stream<'_>], valid: usize) -> Vec<TableLine> {
    // The phase begins when its first request is due, and ends with the last end of any request.
    let due = pass.records.iter().map(|record| record.due).min();
    let ended = pass.records.iter().filter_map(|record| record.ended).max();
    let phase = due.zip(ended).map_or(f64::NAN, |(due, ended)| ended.seconds_after(due));
    let (all, valid) = (pass.records.len() as f64, valid as f64);
    let sum =
        |of: fn(&Stream<'_>) -> u32| -> f64 { streams.iter().map(|s| f64::from(of(s))).sum() };
    let (input, output) = (sum(|stream| stream.input), sum(|stream| stream.output));
    vec![
        of_whole("Output Token Throughput (tokens/sec)", "output_token_throughput", output / phase),
        of_whole("Input Token Throughput (tokens/sec)", "input_token_throughput", input / phase),
        of_whole("Request Throughput (requests/sec)", "request_throughput", valid / phase),
        of_whole("Completed Requests (requests)", "completed_request_count", all),
        of_whole("Request Error Rate (%)", "request_error_rate", 100.0 * (all - valid) / all),
        of_whole("Request Count (requests)", "request_count", valid),
        of_whole(
            "Benchmark Duration (sec)",
            "benchmark_duration",
            of_valid(streams).unwrap_or(f64::NAN),
        ),
    ]
}

fn stated(pass: &ImportedPass) -> ToolTable {
    let mut table = printed(&Pass::default());
    let is_stated = |key: &str| pass.numbers.contains_key(&format!("{key}.min"));
    let adjusted = ERROR_ADJUSTED.into_iter().filter(|(_, key)| is_stated(key));
    let none = Numbers::new(std::iter::empty());
    table.lines.extend(adjusted.map(|(label, key)| of_metric(label, key, &none)));
    table.of_stated(pass, |key, statistic| match statistic {
        Some(statistic) => format!("{key}.{statistic}"),
        None => key.to_owned(),
    })
}

/// Seconds from the first pick to the last chunk with content. Only completed requests count, because AIPerf
/// excludes failed requests from its duration.
fn of_valid(streams: &[Stream<'_>]) -> Option<f64> {
    let picked = streams.iter().map(|stream| stream.start).min()?;
    let last = streams.iter().filter_map(|stream| Some(stream.visible().last()?.at)).max()?;
    Some(last.seconds_after(picked)).filter(|seconds| *seconds > 0.0)
}

fn of_metric(label: &str, key: &str, values: &Numbers) -> TableLine {
    let known = |value: f64| (values.count() > 0).then_some(value);
    let values = vec![
        ("avg", known(values.mean())),
        ("min", known(values.min())),
        ("max", known(values.max())),
        ("p99", known(values.percentile(99.0))),
        ("p90", known(values.percentile(90.0))),
        ("p50", known(values.percentile(50.0))),
        ("std", known(values.std())),
    ];
    statistics(label, key, values)
}

fn of_whole(label: &str, key: &str, value: f64) -> TableLine {
    let absent = ["min", "max", "p99", "p90", "p50", "std"].map(|name| (name, None));
    statistics(label, key, [("avg", Some(value))].into_iter().chain(absent).collect())
}
