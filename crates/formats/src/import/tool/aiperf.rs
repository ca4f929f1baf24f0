//! Imports AIPerf's `profile_export_aiperf.json`, and the requests in its `profile_export.jsonl`.

use inferometer_model::load::{Recording, ReplayPlan};
use inferometer_model::metrics::{e2e, tpot, ttft};
use inferometer_model::{Bound, Finding, Outcome, OverLimit, PassPlan, code};
use serde_json::Value;

use super::document::{Document, distribution, target};
use super::pass::{Pass, cells, definitions, failures, load, unknown_arrivals};
use super::request::ToolRequest;
use crate::failure;
use crate::import::error::ImportError;
use crate::import::source::{Import, Source, summary};

pub(super) const FORMAT: &str = "AIPerf";
pub(super) const RECORDS: &str = "AIPerf records";

pub(super) fn is(document: &Value) -> bool {
    document.get("aiperf_version").is_some() && document.get("request_throughput").is_some()
}

pub(super) fn is_record(document: &Value) -> bool {
    document.pointer("/metadata/request_start_ns").is_some() && document.get("metrics").is_some()
}

pub(super) fn runs(source: &Source, documents: &[Value]) -> Result<Vec<Import>, ImportError> {
    documents.iter().map(|value| run(source, value)).collect()
}

fn run(source: &Source, value: &Value) -> Result<Import, ImportError> {
    let document = Document { source, format: FORMAT, value };
    let complete = document.need_count("request_count.avg")?;
    let failed = document.count("error_request_count.avg").unwrap_or(0);
    let phases = document.list("input_config.phases").unwrap_or(&[]);
    let phase =
        phases.iter().find(|phase| phase.get("kind").and_then(Value::as_str) == Some("profiling"));
    let of_phase = |key: &str| phase.and_then(|phase| phase.get(key));
    let concurrency = of_phase("concurrency").and_then(Value::as_u64);
    let rate = of_phase("request_rate").or(of_phase("rate")).and_then(Value::as_f64);
    let concurrency = concurrency.and_then(|count| u32::try_from(count).ok());
    let stated = document.stated(&[]);
    let total = |name: &str| document.number(&format!("{name}.avg"));
    let pass = Pass {
        plan: load(complete + failed, rate, concurrency, unknown_arrivals(1.0)),
        stated,
        requests: Vec::new(),
        has_instants: true,
        planned: complete + failed,
        complete,
        duration_s: total("benchmark_duration"),
        requests_per_s: total("request_throughput"),
        output_tokens_per_s: total("output_token_throughput"),
        input_tokens: total("total_isl").map(|tokens| tokens as u64),
        output_tokens: total("total_osl").map_or(0, |tokens| tokens as u64),
        asked: None,
    };
    let mut findings = common();
    findings.extend(counts(
        document.number("total_osl.avg"),
        document.number("total_usage_completion_tokens.avg"),
    ));
    findings.extend(failures(pass.planned, pass.complete, false));
    let models = document.list("input_config.models.items").unwrap_or(&[]);
    let model = models.first().and_then(|model| model.get("name")).and_then(Value::as_str);
    let urls = document.list("input_config.endpoint.urls").unwrap_or(&[]);
    let dialect = match document.words("input_config.endpoint.type") {
        Some("completions") => "openai-completions",
        Some("chat") => "openai-chat",
        other => other.unwrap_or("unknown"),
    };
    let target = target(model.unwrap_or("unknown"), urls.first().and_then(Value::as_str), dialect);
    let mut imported = source.imported(FORMAT);
    imported.measured_at = document.words("start_time").map(str::to_owned);
    let (mut cells, stated, records) =
        cells(vec![pass]).map_err(|what| source.malformed(FORMAT, what.to_string()))?;
    let pass = &mut cells[0].passes[0];
    let of = |name: &str| Ok(distribution(&document, name, "avg", in_ms(&document, name)?));
    *pass.latencies.entry(&ttft::FROM_SENT) = of("time_to_first_token")?;
    *pass.latencies.entry(&tpot::DEFINITION) = of("inter_token_latency")?;
    *pass.latencies.entry(&e2e::FROM_SENT) = of("request_latency")?;
    imported.passes = stated;
    Ok(Import { summary: summary(imported, target, cells, findings), records })
}

/// Imports the requests as a run. The start of each request is known, but the load model is not.
pub(super) fn records(source: &Source, documents: &[Value]) -> Result<Vec<Import>, ImportError> {
    let mut requests = Vec::new();
    let (mut input, mut output, mut usage) = (Some(0_u64), 0, Some(0.0));
    let start_ns = |value: &Value| value.pointer("/metadata/request_start_ns")?.as_u64();
    let origin_ns = documents.iter().filter_map(start_ns).min().unwrap_or(0);
    for (number, value) in (1..).zip(documents) {
        let line = Document { source, format: RECORDS, value };
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
            let counted = request.input.map(u64::from);
            input = input.zip(counted).map(|(sum, count)| sum + count);
            output += u64::from(request.output.unwrap_or(0));
            let counted = line.number("metrics.usage_completion_tokens.value");
            usage = usage.zip(counted).map(|(sum, count)| sum + count);
        }
        requests.push(request);
    }
    let complete = requests.iter().filter(|request| request.error.is_none()).count() as u64;
    let begin = requests.iter().map(|request| request.start_s).fold(f64::INFINITY, f64::min);
    let end = |request: &ToolRequest| request.start_s + request.end_s.unwrap_or(0.0);
    let end = requests.iter().map(end).fold(f64::NEG_INFINITY, f64::max);
    let duration_s = Some(end - begin).filter(|seconds| *seconds > 0.0);
    let per_second = |count: u64| duration_s.map(|seconds| count as f64 / seconds);
    let planned = requests.len() as u64;
    let count = u32::try_from(planned).unwrap_or(u32::MAX);
    let mut recording = Recording::of_file(&source.file);
    recording.requests = count;
    let pass = Pass {
        plan: PassPlan::Replay(ReplayPlan {
            recording,
            speed: 1.0,
            bound: Bound::requests(count),
            max_in_flight: None,
            over_limit: OverLimit::default(),
        }),
        stated: inferometer_analysis::imported::ImportedPass::default(),
        requests,
        has_instants: true,
        planned,
        complete,
        duration_s,
        requests_per_s: per_second(complete),
        output_tokens_per_s: per_second(output),
        input_tokens: input,
        output_tokens: output,
        asked: None,
    };
    let mut findings = common();
    let load =
        "the records do not state the load: the pass is imported as a replay of the start times";
    findings.push(Finding::of(code::IMPORTED_LOAD_UNKNOWN, load));
    findings.extend(counts(Some(output as f64), usage));
    findings.extend(failures(planned, complete, true));
    let mut imported = source.imported(RECORDS);
    imported.measured_at =
        i64::try_from(origin_ns).ok().map(inferometer_model::calendar::rfc3339).map(of_client);
    let (cells, stated, records) =
        cells(vec![pass]).map_err(|what| source.malformed(RECORDS, what.to_string()))?;
    imported.passes = stated;
    let target = target("unknown", None, "unknown");
    Ok(vec![Import { summary: summary(imported, target, cells, findings), records }])
}

/// Returns the factor from the unit of a metric to milliseconds; 1 if no unit is stated. The user of the tool
/// may choose the unit.
fn in_ms(document: &Document<'_>, metric: &str) -> Result<f64, ImportError> {
    match document.words(&format!("{metric}.unit")) {
        None | Some("ms") => Ok(1.0),
        Some("sec" | "s" | "seconds") => Ok(1e3),
        Some("us") => Ok(1e-3),
        Some("ns") => Ok(1e-6),
        Some(other) => {
            Err(document.malformed(format!("`{metric}` has the unknown unit `{other}`")))
        }
    }
}

fn of_client(time: String) -> String {
    time + ", the client's clock"
}

/// Returns the text of a failure in the form that [`failure::from_text`] reads. AIPerf states an HTTP status or
/// the name of an exception, and a message.
fn failure_text(error: &Value) -> String {
    // AIPerf itself cancelled the request. It states the status 499, which no server sent.
    if error["type"].as_str() == Some("RequestCancellationError") {
        return failure::to_text(Outcome::Cancelled, Some(&error.to_string()));
    }
    let status = error["code"].as_u64().and_then(|code| u16::try_from(code).ok());
    if let Some(status) = status.filter(|status| (400..600).contains(status)) {
        return failure::to_text(Outcome::Rejected { status }, Some(&error.to_string()));
    }
    match (error["type"].as_str(), error["message"].as_str()) {
        (Some(exception), message) => {
            format!("{exception}: {}", message.unwrap_or_default().replace('\n', " "))
        }
        (None, Some(message)) => message.to_owned(),
        (None, None) => error.to_string(),
    }
}

/// Parses a request. `origin_ns` is the first start of all requests. `None` if a necessary time is missing or
/// not valid.
fn request(line: &Document<'_>, origin_ns: u64) -> Option<ToolRequest> {
    let of = |name: &str| line.get(&format!("metrics.{name}.value"));
    let count = |name: &str| of(name)?.as_u64().and_then(|count| u32::try_from(count).ok());
    let start_ns = line.get("metadata.request_start_ns")?.as_u64()?;
    let end_ns = line.get("metadata.request_end_ns")?.as_u64()?;
    // Subtract as integers: a 64-bit float cannot represent nanoseconds since 1970 exactly.
    let start_s = start_ns.checked_sub(origin_ns)? as f64 / 1e9;
    let end_s = end_ns.checked_sub(start_ns)? as f64 / 1e9;
    let error = line.get("error").filter(|error| !error.is_null());
    if let Some(error) = error {
        let error = Some(failure_text(error));
        return Some(ToolRequest { start_s, end_s: Some(end_s), error, ..ToolRequest::default() });
    }
    let gaps = of("inter_chunk_latency").and_then(Value::as_array);
    let gaps = gaps.map_or(&[][..], Vec::as_slice);
    let first = of("time_to_first_token").or_else(|| of("request_latency"))?.as_f64()?;
    let output = count("output_sequence_length");
    Some(ToolRequest {
        start_s,
        ttft_s: first / 1e3,
        gaps_s: gaps.iter().filter_map(|gap| Some(gap.as_f64()? / 1e3)).collect(),
        end_s: Some(end_s),
        queued_s: 0.0,
        tokens: None,
        input: count("input_sequence_length"),
        output,
        asked_output: output.unwrap_or(0),
        error: None,
    })
}

fn common() -> Vec<Finding> {
    vec![definitions(
        "TTFT and Request Latency of the file start when the client picks a request, before the \
            client connects; ours start when the request is sent. The tool's Inter Token Latency \
            is our TPOT and is stored as TPOT. Its Inter Chunk Latency is our ICL; without single \
            requests, it is stored only under the tool's name",
    )]
}

/// Returns the finding that the token counts of the tool's tokenizer and of the server differ by more than 2 %.
fn counts(tokenizer: Option<f64>, usage: Option<f64>) -> Option<Finding> {
    let (tokenizer, usage) = (tokenizer?, usage?);
    (usage > 0.0 && (tokenizer / usage - 1.0).abs() > 0.02).then(|| {
        Finding::of(
            code::IMPORTED_TOKEN_COUNTS_DIFFER,
            format!(
                "the tool's tokenizer counted {tokenizer} output tokens, but the server counted \
                    {usage}: tokens/s and latencies per token use the tokenizer's count"
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use inferometer_model::outcome::Phase;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_failure_has_the_outcome_of_its_status_or_of_its_exception() {
        for (error, expected) in [
            (
                json!({ "code": 429, "message": "Too Many Requests", "type": "ClientResponseError" }),
                Outcome::Rejected { status: 429 },
            ),
            (
                json!({ "code": 499, "message": "", "type": "RequestCancellationError" }),
                Outcome::Cancelled,
            ),
            (
                json!({ "code": null, "message": "timed\nout", "type": "TimeoutError" }),
                Outcome::TimedOut { phase: Phase::Total },
            ),
            (json!({ "message": "something else" }), Outcome::Malformed),
            (json!("no details"), Outcome::Malformed),
        ] {
            assert_eq!(failure::from_text(&failure_text(&error)).0, expected, "{error}");
        }
    }
}
