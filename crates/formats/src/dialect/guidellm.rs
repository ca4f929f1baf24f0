//! The table of GuideLLM.

use inferometer_model::{Outcome, Record};

use super::layout::{TableLine, ToolTable, count, number, section, statistics};
use super::numbers::{Numbers, Weighted};
use super::stream::{Chunk, Stream};
use super::tool::{Definition, FROM_PICK, Pass, Stated, Tool};
use inferometer_analysis::ImportedPass;

pub(super) const TOOL: Tool = Tool {
    name: "guidellm",
    origin: FROM_PICK,
    definitions: &DEFINITIONS,
    printed,
    stated: Some(Stated { format: crate::import::GUIDELLM, table: stated }),
};

static DEFINITIONS: [Definition; 5] = inferometer_model::table! { Definition { name, unit, formula }
    ("Time to First Token", "ms", "first chunk with content, reasoning or tool call - pick")
    ("Time per Output Token", "ms",
     "(last chunk with content, reasoning or tool call - pick) / output tokens; this includes the wait for the first \
      token; one value per request, weighted by its output tokens")
    ("Inter-Token Latency", "ms",
     "(last chunk - first chunk with content, reasoning or tool call) / (output tokens - 1); one value per request, \
      weighted by its output tokens - 1")
    ("Request Latency", "s", "end of the request - pick")
    ("median, percentiles", "-",
     "nearest rank: the smallest value v for which at least this percentage of the requests, or of the weight, has \
      values of at most v")
};

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
    // The rates and the concurrency are of all requests, those that failed included.
    let all = pass.records.iter().filter_map(|record| {
        Some(record.ended?.seconds_after(record.picked.or(record.send_start)?))
    });
    let in_flight = Numbers::new(all);
    let failed = pass.records.iter().filter(|record| !record.outcome.is_complete());
    let asked: f64 = failed.filter_map(|record| record.input_tokens()).map(f64::from).sum();
    let input_sum = input.sum() + asked;
    let is_cut =
        |record: &&Record| matches!(record.outcome, Outcome::Cancelled | Outcome::Abandoned { .. });
    let incomplete = pass.records.iter().filter(is_cut).count();
    let each =
        |of: fn(&Stream<'_>) -> u32| Weighted::even(streams.iter().map(|s| f64::from(of(s))));
    let lines = vec![
        count("Completed requests", "request_totals.successful", times.len()),
        count(
            "Errored requests",
            "request_totals.errored",
            pass.records.len() - times.len() - incomplete,
        ),
        count("Incomplete requests", "request_totals.incomplete", incomplete),
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
        number("Requests / Sec", "requests_per_second", in_flight.count() as f64 / duration),
        number("Concurrency (mean)", "request_concurrency", in_flight.sum() / duration),
        number("Input Tokens / Sec", "prompt_tokens_per_second", input_sum / duration),
        number("Output Tokens / Sec", "output_tokens_per_second", output.sum() / duration),
        number("Total Tokens / Sec", "tokens_per_second", (input_sum + output.sum()) / duration),
    ];
    ToolTable::new("GuideLLM", lines).without(
        "distributions of the rates over time: GuideLLM applies its own smoothing to the rates",
    )
}

fn stated(pass: &ImportedPass) -> ToolTable {
    printed(&Pass::default()).of_stated(pass, |key, statistic| match statistic {
        Some(percentile @ ("p95" | "p99")) => {
            format!("metrics.{key}.successful.percentiles.{percentile}")
        }
        Some(statistic) => format!("metrics.{key}.successful.{statistic}"),
        None if key.starts_with("request_totals.") => format!("metrics.{key}"),
        None => format!("metrics.{key}.total.mean"),
    })
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
