//! Imports GuideLLM's `benchmarks.json`. Each benchmark becomes a pass, with the requests in the file.

use inferometer_model::metrics::itl;
use inferometer_model::{Finding, code};
use serde_json::Value;

use super::document::{Document, target};
use super::pass::{Pass, cells, definitions, failures, load, unknown_arrivals};
use super::request::ToolRequest;
use crate::import::error::ImportError;
use crate::import::source::{Import, Source, summary};

pub(super) const FORMAT: &str = "GuideLLM";

pub(super) fn is(document: &Value) -> bool {
    document.get("benchmarks").is_some_and(Value::is_array)
        && document.pointer("/metadata/guidellm_version").is_some()
}

pub(super) fn runs(source: &Source, documents: &[Value]) -> Result<Vec<Import>, ImportError> {
    documents.iter().map(|value| run(source, value)).collect()
}

fn run(source: &Source, value: &Value) -> Result<Import, ImportError> {
    let document = Document { source, format: FORMAT, value };
    let benchmarks = document.list("benchmarks").unwrap_or(&[]);
    let mut passes = Vec::new();
    let mut findings = vec![
        definitions(
            "TTFT of the file starts when the client picks a request, before the client connects; \
                ours starts when the request is sent. The file has only the times of the first and \
                the last token of each request: TPOT counts the first chunk as one token, and ITL \
                in our definition is absent",
        ),
        definitions(
            "the file's TPOT includes the wait for the first token, its ITL is one mean per \
                request, and its percentiles use the nearest rank: these figures are stored under \
                the tool's names",
        ),
    ];
    for benchmark in benchmarks {
        let part = document.part(benchmark);
        let pass = pass(&part)?;
        findings.extend(failures(pass.planned, pass.complete, false));
        let sampled = pass.requests.len() as u64;
        if sampled != pass.complete {
            findings.push(Finding::of(
                code::IMPORTED_REQUESTS_SAMPLED,
                format!(
                    "the file contains {sampled} of {} completed requests: distributions cover \
                        only these requests",
                    pass.complete
                ),
            ));
        }
        passes.push(pass);
    }
    let backend = "config.spec.backend";
    let words = |key: &str| document.words(&format!("{backend}.{key}"));
    let model = words("model").unwrap_or("unknown");
    let target = target(
        model,
        words("target"),
        match words("request_format") {
            Some("/v1/completions") => "openai-completions",
            Some("/v1/chat/completions") => "openai-chat",
            other => other.unwrap_or("unknown"),
        },
    );
    let mut imported = source.imported(FORMAT);
    let began = benchmarks.first().and_then(|benchmark| benchmark.get("start_time"));
    imported.measured_at = began.and_then(Value::as_f64).map(|seconds| {
        format!(
            "{}, the client's clock",
            inferometer_model::calendar::rfc3339((seconds * 1e9) as i64)
        )
    });
    let (mut cells, stated, records) =
        cells(passes).map_err(|what| source.malformed(FORMAT, what.to_string()))?;
    for pass in cells.iter_mut().flat_map(|cell| &mut cell.passes) {
        // The file has only two arrivals for each request, which do not give the gaps between its tokens.
        *pass.latencies.entry(&itl::DEFINITION) = None;
    }
    imported.passes = stated;
    Ok(Import { summary: summary(imported, target, cells, findings), records })
}

fn pass(document: &Document<'_>) -> Result<Pass, ImportError> {
    let complete = document.need_count("metrics.request_totals.successful")?;
    let planned = document.need_count("metrics.request_totals.total")?;
    let strategy = |key: &str| format!("config.strategy.{key}");
    let kind = document.words(&strategy("type_")).unwrap_or("unknown");
    let in_flight = document.count(&strategy("streams"));
    let concurrency = match kind {
        "synchronous" => Some(1),
        "concurrent" => in_flight.and_then(|count| u32::try_from(count).ok()),
        _ => None,
    };
    let rate = document.number(&strategy("rate"));
    let burstiness = if kind == "constant" { f64::INFINITY } else { 1.0 };
    let requests = document.list("requests.successful").unwrap_or(&[]);
    let requests: Vec<ToolRequest> =
        requests.iter().filter_map(|request| timed(&document.part(request))).collect();
    let total = |metric: &str| {
        document.number(&format!("metrics.{metric}.successful.total_sum")).map(|sum| sum as u64)
    };
    let duration_s = document.number("duration");
    let output_tokens = total("output_token_count").unwrap_or(0);
    let per_second = |count: u64| duration_s.filter(|s| *s > 0.0).map(|s| count as f64 / s);
    Ok(Pass {
        plan: load(planned, rate, concurrency, unknown_arrivals(burstiness)),
        stated: document.stated(&["requests", "pdf", "config", "scheduler_state"]),
        requests,
        has_instants: true,
        planned,
        complete,
        duration_s,
        requests_per_s: per_second(complete),
        output_tokens_per_s: per_second(output_tokens),
        input_tokens: total("prompt_token_count"),
        output_tokens,
        asked: None,
    })
}

/// Parses a request, which has the arrivals of its first and its last token. `None` if its start or one of
/// these arrivals is missing.
fn timed(request: &Document<'_>) -> Option<ToolRequest> {
    let timing = |name: &str| request.number(&format!("info.timings.{name}"));
    let start_s = timing("request_start")?;
    let (first, last) = (timing("first_token_iteration")?, timing("last_token_iteration")?);
    let count = |path: &str| request.count(path).and_then(|count| u32::try_from(count).ok());
    let output = count("output_metrics.total_tokens");
    let rest = output.map_or(0, |tokens| tokens.saturating_sub(1));
    Some(ToolRequest {
        start_s,
        ttft_s: first - start_s,
        gaps_s: if last > first { vec![last - first] } else { Vec::new() },
        end_s: timing("request_end").map(|end| end - start_s),
        queued_s: 0.0,
        tokens: (last > first).then(|| vec![1, rest]),
        input: count("input_metrics.total_tokens"),
        output,
        asked_output: output.unwrap_or(0),
        error: None,
    })
}
