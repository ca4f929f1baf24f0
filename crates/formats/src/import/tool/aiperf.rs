//! Imports AIPerf's `profile_export_aiperf.json`, and the requests in its `profile_export.jsonl`.

mod records;

use inferometer_model::metrics::{e2e, icl, tpot, ttft};
use inferometer_model::stats::Distribution;
use inferometer_model::{Definition, Finding, Outcome, OutcomeCounts, PassPlan, Statistic, code};
use serde_json::Value;

use super::document::{Document, distribution, target};
use super::pass::{Pass, counts, definitions, import, load, unknown_arrivals};
use crate::{failure, import::error::ImportError, import::source::Import};

pub(super) use records::{FORMAT as RECORDS, is as is_record, runs as records};

pub(crate) const FORMAT: &str = "AIPerf";

pub(super) fn is(document: &Value) -> bool {
    document.get("aiperf_version").is_some() && document.get("request_count").is_some()
}

pub(super) fn run(document: &Document<'_>) -> Result<Import, ImportError> {
    let complete = document.need_count("request_count.avg")?;
    let errors = document.list("error_summary").unwrap_or(&[]);
    let failures = failures(errors);
    let failed = document.count("error_request_count.avg").unwrap_or_else(|| failures.total());
    let planned = complete + failed;
    let total = |name: &str| document.number(&format!("{name}.avg"));
    let rate = total("request_throughput");
    // Throughputs are over the phase; `benchmark_duration` ends with the last valid answer.
    let of_rate = rate.filter(|rate| *rate > 0.0).map(|rate| complete as f64 / rate);
    let phase = phase(document, planned, of_rate);
    let mut findings = common();
    findings.extend(phase.filter(|phase| is_warm_up(phase)).map(|_| {
        Finding::of(
            code::IMPORTED_WARM_UP,
            "the file has the requests of the warm-up, not those of the measurement, which are in \
                the file above the folder `phases`",
        )
    }));
    let (plan, unknown) = plan(phase, planned);
    findings.extend(unknown);
    let mut pass = Pass {
        planned,
        complete,
        duration_s: of_rate.or_else(|| total("benchmark_duration")),
        requests_per_s: rate,
        output_tokens_per_s: total("output_token_throughput"),
        total_tokens_per_s: total("total_token_throughput"),
        input_tokens: total("total_isl").map(|tokens| tokens as u64),
        output_tokens: total("total_osl").map_or(0, |tokens| tokens as u64),
        asked: asked(document),
        failures,
        ..Pass::of(plan, document.stated(&[]))
    };
    pass.latencies = latencies(document, &pass, &mut findings)?;
    findings.extend(counts(total("total_osl"), total("total_usage_completion_tokens")));
    let models = document.list("input_config.models.items").unwrap_or(&[]);
    let model = models.first().and_then(|model| model.get("name")).and_then(Value::as_str);
    let urls = document.list("input_config.endpoint.urls").unwrap_or(&[]);
    let dialect = match document.words("input_config.endpoint.type") {
        Some("completions") => "openai-completions",
        Some("chat") => "openai-chat",
        other => other.unwrap_or("unknown"),
    };
    let target = target(model.unwrap_or("unknown"), urls.first().and_then(Value::as_str), dialect);
    let measured_at = document.words("start_time").map(str::to_owned);
    import(document.source, FORMAT, measured_at, target, vec![pass], findings)
}

/// Returns the failures by their kinds.
fn failures(errors: &[Value]) -> OutcomeCounts {
    let mut counts = OutcomeCounts::default();
    for error in errors {
        let (outcome, _) = failure::from_text(&failure_text(&error["error_details"]));
        counts.add_times(outcome, error["count"].as_u64().unwrap_or(1));
    }
    counts
}

fn is_warm_up(phase: &Value) -> bool {
    phase["kind"].as_str().or_else(|| phase["name"].as_str()) == Some("warmup")
}

/// Returns the phase that the file is about. Each phase has a file with the same settings, so the phase follows from its
/// number of requests or its duration. If none fits, or several do, it is the measured phase.
fn phase<'a>(document: &Document<'a>, sent: u64, seconds: Option<f64>) -> Option<&'a Value> {
    let phases = document.list("input_config.phases").unwrap_or(&[]);
    let fits = |phase: &&Value| match phase["requests"].as_u64() {
        Some(requests) => requests == sent,
        None => phase["duration"]
            .as_f64()
            .is_none_or(|planned| seconds.is_none_or(|seconds| seconds > 0.9 * planned)),
    };
    let measured = || phases.iter().filter(|phase| !is_warm_up(phase));
    let warm_up = phases.iter().filter(|phase| is_warm_up(phase)).find(fits);
    measured().find(fits).or(warm_up).or_else(|| measured().next())
}

/// Returns the load of a phase, and a finding if a part of the load is not imported.
fn plan(phase: Option<&Value>, requests: u64) -> (PassPlan, Option<Finding>) {
    let null = Value::Null;
    let phase = phase.unwrap_or(&null);
    let count = |key: &str| phase[key].as_u64().and_then(|count| u32::try_from(count).ok());
    let rate = phase["rate"].as_f64().or_else(|| phase["request_rate"].as_f64());
    let burstiness = match phase["type"].as_str() {
        Some("constant") => f64::INFINITY,
        _ => phase["smoothness"].as_f64().unwrap_or(1.0),
    };
    let concurrency = match phase["type"].as_str() {
        // A phase of this type without a concurrency has the default of one request in flight.
        Some("concurrency") => count("concurrency").or(Some(1)),
        Some("user_centric") => count("users"),
        _ => count("concurrency"),
    };
    let plan = load(requests, rate, concurrency, unknown_arrivals(burstiness));
    let left_out = ["concurrency_ramp", "rate_ramp", "rate_series", "prefill_concurrency"];
    let mut left_out: Vec<&str> =
        left_out.into_iter().filter(|key| !phase[*key].is_null()).collect();
    if phase["type"] == "fixed_schedule" {
        left_out.push("fixed_schedule");
    }
    let unknown = (!left_out.is_empty()).then(|| {
        let message = format!("{} of the load is not imported", left_out.join(", "));
        Finding::of(code::IMPORTED_LOAD_UNKNOWN, message)
    });
    (plan, unknown)
}

/// Returns the requested input and output length: 0 if it is drawn for each request, absent if it is not stated.
fn asked(document: &Document<'_>) -> [Option<u32>; 2] {
    let data = document.list("input_config.datasets").unwrap_or(&[]).first();
    ["isl", "osl"].map(|key| {
        let length = &data?["prompts"][key];
        let mean = length.as_f64().or(length["value"].as_f64()).or(length["mean"].as_f64());
        let varies = |key: &str| length[key].as_f64().is_some_and(|value| value != 0.0);
        match mean {
            Some(mean) if !varies("stddev") && !varies("median") => Some(mean.round() as u32),
            None if length.is_null() => None,
            _ => Some(0),
        }
    })
}

/// The latencies that the file states.
fn latencies(
    document: &Document<'_>,
    pass: &Pass,
    findings: &mut Vec<Finding>,
) -> Result<Vec<(&'static Definition, Option<Distribution>)>, ImportError> {
    let mut latencies = Vec::new();
    for (metric, name) in [
        (&ttft::FROM_SENT, "time_to_first_token"),
        (&tpot::DEFINITION, "inter_token_latency"),
        (&icl::DEFINITION, "inter_chunk_latency"),
        (&e2e::FROM_SENT, "request_latency"),
    ] {
        let scale = in_ms(document, name)?;
        let of = |statistic: Statistic| {
            let key = if statistic == Statistic::Mean { "avg" } else { statistic.name() };
            Some(document.number(&format!("{name}.{key}"))? * scale)
        };
        let n = document.count(&format!("{name}.count")).unwrap_or(pass.complete);
        latencies.push((metric, distribution(n, of)));
    }
    // The tool assumes that the first chunk has one token. This holds if there is a gap for each further token.
    let gaps = document.count("inter_chunk_latency.count").unwrap_or(0);
    let tokens = pass.output_tokens.saturating_sub(pass.complete);
    let (_, tpot) = &mut latencies[1];
    if tpot.is_some() && gaps.abs_diff(tokens) * 100 > tokens {
        *tpot = None;
        findings.push(definitions(&format!(
            "{gaps} gaps between chunks for {tokens} tokens after the first of each request: chunks \
                are not single tokens, so the tool's Inter Token Latency is not our TPOT and keeps \
                its name"
        )));
    }
    Ok(latencies)
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

fn common() -> Vec<Finding> {
    vec![definitions(
        "TTFT and Request Latency of the file start when the client picks a request, before the \
            client connects; ours start when the request is sent. The tool's Inter Token Latency \
            is our TPOT if each chunk is one token. Its Inter Chunk Latency is our ICL. Its \
            throughputs are over the phase of the measurement, not over its Benchmark Duration",
    )]
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
