//! Imports the reports of inference-perf: `summary_lifecycle_metrics.json`, and `stage_N_lifecycle_metrics.json` for each
//! stage of the load.

use inferometer_model::{Finding, Statistic, code, metrics::ttft};
use serde_json::Value;

use super::document::{Document, distribution, target};
use super::pass::{Pass, counts, definitions, import, load, unknown_arrivals};
use crate::{import::error::ImportError, import::source::Import};

pub(crate) const FORMAT: &str = "inference-perf";

pub(super) fn is(document: &Value) -> bool {
    document.get("benchmark_time_seconds").is_some()
        && document.pointer("/successes/count").is_some()
}

pub(super) fn run(document: &Document<'_>) -> Result<Import, ImportError> {
    let complete = document.need_count("successes.count")?;
    let planned = complete + document.count("failures.count").unwrap_or(0);
    let total = |of: &str| {
        let mean = document.number(&format!("successes.{of}.mean"))?;
        Some((mean * complete as f64).round() as u64)
    };
    let per_s = |of: &str| document.number(&format!("successes.throughput.{of}_per_sec"));
    let rate = document.number("load_summary.requested_rate");
    let of = |statistic: Statistic| {
        let name = match statistic {
            Statistic::P50 => "median",
            Statistic::P999 => "p99.9",
            other => other.name(),
        };
        let seconds = document.number(&format!("successes.latency.time_to_first_token.{name}"))?;
        Some(seconds * 1e3)
    };
    let output_tokens = total("output_len").unwrap_or(0);
    let pass = Pass {
        planned,
        complete,
        duration_s: Some(document.need("benchmark_time_seconds")?),
        requests_per_s: per_s("requests"),
        output_tokens_per_s: per_s("output_tokens"),
        input_tokens: document
            .count("successes.prompt_tokens.total")
            .or_else(|| total("prompt_len")),
        output_tokens,
        latencies: vec![(&ttft::FROM_SENT, distribution(complete, of))],
        ..Pass::of(load(planned, rate, None, unknown_arrivals(1.0)), document.stated(&[]))
    };
    let mut findings = vec![
        definitions(
            "TTFT of the file starts when the client picks a request, before the client connects, \
                and leaves out answers of one token. Its request latency ends with the last line of \
                the stream, its inter-token latency is 0 between tokens of one chunk, and its time \
                per output token uses the tool's own count of tokens: they keep the tool's names",
        ),
        Finding::of(code::IMPORTED_MODEL_UNKNOWN, "the report does not name the model"),
    ];
    findings.extend(counts(
        Some(output_tokens as f64),
        document.number("successes.output_tokens.total"),
    ));
    findings.extend(rate.is_none().then(|| {
        let message = "the report of all stages does not state the load; those of single stages do";
        Finding::of(code::IMPORTED_LOAD_UNKNOWN, message)
    }));
    import(document.source, FORMAT, None, target("unknown", None, "unknown"), vec![pass], findings)
}
