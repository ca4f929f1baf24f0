//! Imports the requests in AIPerf's `profile_export.jsonl`.

use inferometer_analysis::ImportedPass;
use inferometer_model::{Finding, calendar, code};
use serde_json::Value;

use super::{common, failure_text, in_ms};
use crate::import::source::{Import, Source};
use crate::import::tool::document::{Document, target};
use crate::import::tool::pass::{Pass, counts, definitions, import, unknown_load};
use crate::{import::error::ImportError, import::tool::request::ToolRequest};

pub(in crate::import::tool) const FORMAT: &str = "AIPerf records";

pub(in crate::import::tool) fn is(document: &Value) -> bool {
    document.pointer("/metadata/request_start_ns").is_some() && document.get("metrics").is_some()
}

/// Imports the measured requests as a run. The start of each request is known, but the load model is not.
pub(in crate::import::tool) fn runs(
    source: &Source,
    documents: &[Value],
) -> Result<Vec<Import>, ImportError> {
    let is_warm_up = |value: &&Value| value["metadata"]["benchmark_phase"] == "warmup";
    let measured = || documents.iter().filter(|value| !is_warm_up(value));
    let warm_ups = documents.iter().filter(is_warm_up).count();
    let mut findings = common();
    if warm_ups > 0 {
        findings.push(definitions(&format!("{warm_ups} requests of the warm-up are left out")));
    }
    let start_ns = |value: &Value| value.pointer("/metadata/request_start_ns")?.as_u64();
    let Some(origin_ns) = measured().filter_map(start_ns).min() else {
        return Err(source.malformed(FORMAT, "has only requests of the warm-up".to_owned()));
    };
    let mut requests = Vec::new();
    let mut usage = Some(0.0);
    for (number, value) in (1..).zip(measured()) {
        let line = Document { source, format: FORMAT, value };
        for metric in ["time_to_first_token", "inter_chunk_latency", "request_latency"] {
            if in_ms(&line, &format!("metrics.{metric}"))? != 1.0 {
                return Err(line.malformed(format!("`{metric}` of request {number} is not in ms")));
            }
        }
        let request = request(&line, origin_ns).ok_or_else(|| {
            line.malformed(format!(
                "the start, the end or the latency of request {number} is missing or not valid"
            ))
        })?;
        if request.error.is_none() {
            let counted = line.number("metrics.usage_completion_tokens.value");
            usage = usage.zip(counted).map(|(sum, count)| sum + count);
        }
        requests.push(request);
    }
    let load =
        "the records do not state the load: the pass is imported as a replay of the start times";
    findings.push(Finding::of(code::IMPORTED_LOAD_UNKNOWN, load));
    let pass = pass(source, requests);
    findings.extend(counts(Some(pass.output_tokens as f64), usage));
    let measured_at = i64::try_from(origin_ns)
        .ok()
        .map(|ns| format!("{}, the client's clock", calendar::rfc3339(ns)));
    let target = target("unknown", None, "unknown");
    Ok(vec![import(source, FORMAT, measured_at, target, vec![pass], findings)?])
}

fn pass(source: &Source, requests: Vec<ToolRequest>) -> Pass {
    let complete = || requests.iter().filter(|request| request.error.is_none());
    let count = complete().count() as u64;
    let input = complete().map(|request| request.input.map(u64::from)).sum::<Option<u64>>();
    let output = complete().map(|request| u64::from(request.output.unwrap_or(0))).sum();
    let begin = requests.iter().map(|request| request.start_s).fold(f64::INFINITY, f64::min);
    let end = |request: &ToolRequest| request.start_s + request.end_s.unwrap_or(0.0);
    let end = requests.iter().map(end).fold(f64::NEG_INFINITY, f64::max);
    let duration_s = Some(end - begin).filter(|seconds| *seconds > 0.0);
    let per_second = |count: u64| duration_s.map(|seconds| count as f64 / seconds);
    let planned = u32::try_from(requests.len()).unwrap_or(u32::MAX);
    let asked = complete().next().map(|request| request.asked_output);
    let same = complete().all(|request| Some(request.asked_output) == asked);
    Pass {
        planned: u64::from(planned),
        complete: count,
        duration_s,
        requests_per_s: per_second(count),
        output_tokens_per_s: per_second(output),
        input_tokens: input,
        output_tokens: output,
        asked: [None, asked.filter(|_| same)],
        requests,
        ..Pass::of(unknown_load(source, planned), ImportedPass::default())
    }
}

/// Parses a request. `origin_ns` is the first start of all requests. `None` if a necessary time is missing or
/// not valid.
fn request(line: &Document<'_>, origin_ns: u64) -> Option<ToolRequest> {
    let of = |name: &str| line.get(&format!("metrics.{name}.value"));
    let count = |name: &str| of(name)?.as_u64().and_then(|count| u32::try_from(count).ok());
    let instant = |name: &str| line.get(&format!("metadata.{name}"))?.as_u64();
    let (start_ns, end_ns) = (instant("request_start_ns")?, instant("request_end_ns")?);
    // Subtract as integers: a 64-bit float cannot represent nanoseconds since 1970 exactly.
    let start_s = start_ns.checked_sub(origin_ns)? as f64 / 1e9;
    let end_s = end_ns.checked_sub(start_ns)? as f64 / 1e9;
    let issued = instant("credit_issued_ns").and_then(|issued| start_ns.checked_sub(issued));
    let queued_s = issued.map_or(0.0, |ns| ns as f64 / 1e9);
    let error = line.get("error").filter(|error| !error.is_null());
    if let Some(error) = error {
        let error = Some(failure_text(error));
        let end_s = Some(end_s);
        return Some(ToolRequest { start_s, end_s, queued_s, error, ..ToolRequest::default() });
    }
    let gaps = of("inter_chunk_latency").and_then(Value::as_array);
    let gaps = gaps.map_or(&[][..], Vec::as_slice);
    let latency_s = of("request_latency").and_then(Value::as_f64).map(|ms| ms / 1e3);
    // The first token of an answer that was not streamed is not known.
    let first_s = of("time_to_first_token").and_then(Value::as_f64).map(|ms| ms / 1e3);
    let output = count("output_sequence_length");
    // The tool states by how much of the requested length the output is longer.
    let longer = of("osl_mismatch_diff_pct").and_then(Value::as_f64);
    let asked = output
        .zip(longer)
        .map(|(output, longer)| (f64::from(output) / (1.0 + longer / 100.0)).round() as u32);
    Some(ToolRequest {
        start_s,
        ttft_s: first_s.or(latency_s)?,
        gaps_s: gaps.iter().filter_map(|gap| Some(gap.as_f64()? / 1e3)).collect(),
        end_s: Some(if first_s.is_some() { end_s } else { latency_s? }),
        is_whole: first_s.is_none(),
        queued_s,
        input: count("input_sequence_length"),
        output,
        asked_output: asked.or(output).unwrap_or(0),
        ..ToolRequest::default()
    })
}
