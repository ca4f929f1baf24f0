//! Imports GuideLLM's `benchmarks.json`. Each benchmark becomes a pass, with the requests in the file.

use std::cmp::Ordering;

use inferometer_model::metrics::{icl, itl};
use inferometer_model::{Finding, code};
use serde_json::Value;

use super::document::{Document, target};
use super::pass::{Pass, definitions, import, load, unknown_arrivals};
use super::request::ToolRequest;
use crate::{import::error::ImportError, import::source::Import};

pub(crate) const FORMAT: &str = "GuideLLM";

pub(super) fn is(document: &Value) -> bool {
    document.get("benchmarks").is_some_and(Value::is_array)
        && document.pointer("/metadata/guidellm_version").is_some()
}

pub(super) fn run(document: &Document<'_>) -> Result<Import, ImportError> {
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
        let pass = pass(&part, document)?;
        findings.extend(sampled(&pass));
        let cut = part.count("metrics.request_totals.incomplete").filter(|cut| *cut > 0);
        findings.extend(cut.map(|cut| {
            definitions(&format!(
                "requests that were cut off at the end of the window are left out: {cut}"
            ))
        }));
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
    let began = benchmarks.first().and_then(|benchmark| benchmark.get("start_time"));
    let measured_at = began.and_then(Value::as_f64).map(|seconds| {
        format!(
            "{}, the client's clock",
            inferometer_model::calendar::rfc3339((seconds * 1e9) as i64)
        )
    });
    import(document.source, FORMAT, measured_at, target, passes, findings)
}

/// Returns the finding that the listed requests are not those that the file counts.
fn sampled(pass: &Pass) -> Option<Finding> {
    let listed = pass.requests.iter().filter(|request| request.error.is_none()).count() as u64;
    let complete = pass.complete;
    let message = match listed.cmp(&complete) {
        Ordering::Equal => return None,
        Ordering::Less => format!(
            "the file contains {listed} of {complete} completed requests: distributions cover only \
                these requests"
        ),
        Ordering::Greater => format!(
            "the file contains {listed} completed requests and counts {complete} of them: the \
                others did not end within its window. Distributions cover all of them"
        ),
    };
    Some(Finding::of(code::IMPORTED_REQUESTS_SAMPLED, message))
}

fn pass(document: &Document<'_>, file: &Document<'_>) -> Result<Pass, ImportError> {
    let complete = document.need_count("metrics.request_totals.successful")?;
    // Requests that the end of the window cut off are no failures, and have no complete figures.
    let planned = complete + document.need_count("metrics.request_totals.errored")?;
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
    let listed = |kind: &str| document.list(&format!("requests.{kind}")).unwrap_or(&[]);
    let mut requests: Vec<ToolRequest> =
        listed("successful").iter().filter_map(|request| timed(&document.part(request))).collect();
    requests.extend(listed("errored").iter().filter_map(|request| failed(&document.part(request))));
    let total = |metric: &str| {
        document.number(&format!("metrics.{metric}.successful.total_sum")).map(|sum| sum as u64)
    };
    // The tool counts over its window, so the rates do not follow from counts and duration.
    let per_second = |metric: &str| document.number(&format!("metrics.{metric}.successful.mean"));
    let plan = load(planned, rate, concurrency, unknown_arrivals(burstiness));
    let stated = document.stated(&["requests", "pdf", "config", "scheduler_state"]);
    Ok(Pass {
        requests,
        planned,
        complete,
        duration_s: document.number("duration"),
        requests_per_s: per_second("requests_per_second"),
        output_tokens_per_s: per_second("output_tokens_per_second"),
        input_tokens: total("prompt_token_count"),
        output_tokens: total("output_token_count").unwrap_or(0),
        asked: asked(file),
        // The file has only two arrivals for each request, which do not give the gaps between its tokens.
        latencies: vec![(&itl::DEFINITION, None), (&icl::DEFINITION, None)],
        ..Pass::of(plan, stated)
    })
}

/// Returns the requested input and output length: 0 if it is drawn for each request, absent if it is not stated.
fn asked(file: &Document<'_>) -> [Option<u32>; 2] {
    let data = file.list("config.spec.data").unwrap_or(&[]).first();
    ["prompt_tokens", "output_tokens"].map(|key| {
        let data = data?;
        let tokens = data[key].as_u64().and_then(|count| u32::try_from(count).ok())?;
        let varies = ["stdev", "min", "max"];
        let varies = varies.iter().any(|part| !data[format!("{key}_{part}")].is_null());
        Some(if varies { 0 } else { tokens })
    })
}

/// Parses a request that failed. `None` if it was not sent.
fn failed(request: &Document<'_>) -> Option<ToolRequest> {
    let timing = |name: &str| request.number(&format!("info.timings.{name}"));
    let start_s = timing("request_start")?;
    let end_s = timing("request_end").or_else(|| timing("resolve_end"));
    let input = request.count("input_metrics.total_tokens");
    let error = request.words("info.error").unwrap_or("no reason is stated");
    Some(ToolRequest {
        start_s,
        end_s: end_s.map(|end| end - start_s),
        input: input.and_then(|count| u32::try_from(count).ok()),
        error: Some(error.to_owned()),
        ..ToolRequest::default()
    })
}

/// Parses a request, which has the arrivals of its first and its last token. `None` if its start, or both these arrivals
/// and its end are missing.
fn timed(request: &Document<'_>) -> Option<ToolRequest> {
    let timing = |name: &str| request.number(&format!("info.timings.{name}"));
    let start_s = timing("request_start")?;
    let end = timing("request_end");
    let arrivals = timing("first_token_iteration").zip(timing("last_token_iteration"));
    // An answer that was not streamed has no arrivals of tokens.
    let (first, last) = arrivals.or(end.zip(end))?;
    let count = |path: &str| request.count(path).and_then(|count| u32::try_from(count).ok());
    let output = count("output_metrics.total_tokens");
    let rest = output.map_or(0, |tokens| tokens.saturating_sub(1));
    Some(ToolRequest {
        start_s,
        ttft_s: first - start_s,
        gaps_s: if last > first { vec![last - first] } else { Vec::new() },
        end_s: end.map(|end| end - start_s),
        is_whole: arrivals.is_none(),
        tokens: (last > first).then(|| vec![1, rest]),
        input: count("input_metrics.total_tokens"),
        output,
        asked_output: output.unwrap_or(0),
        ..ToolRequest::default()
    })
}
