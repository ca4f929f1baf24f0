//! Imports `benchmark_summary.json` of `evalscope perf`, which states means.

use inferometer_model::metrics::{e2e, icl, tpot, ttft};
use inferometer_model::{Finding, Statistic, code};
use serde_json::Value;

use super::document::{Document, distribution, target};
use super::pass::{Pass, definitions, import, load, unknown_arrivals};
use crate::{import::error::ImportError, import::source::Import};

pub(crate) const FORMAT: &str = "EvalScope";

pub(super) fn is(document: &Value) -> bool {
    let has = |key: &str| document.get(key).is_some();
    has("Test Duration (s)") && has("Success Requests") && has("Req Throughput (req/s)")
}

pub(super) fn run(document: &Document<'_>) -> Result<Import, ImportError> {
    let complete = document.need_count("Success Requests")?;
    let planned = complete + document.count("Failed Requests").unwrap_or(0);
    let total =
        |name: &str| document.number(name).map(|mean| (mean * complete as f64).round() as u64);
    let concurrency = document.count("Concurrency").and_then(|count| u32::try_from(count).ok());
    let rate = document.number("Request Rate (req/s)").filter(|rate| *rate > 0.0);
    let mean = |name: &str, scale: f64| {
        let mean = document.number(name).filter(|mean| *mean != 0.0).map(|mean| mean * scale);
        distribution(complete, |statistic| mean.filter(|_| statistic == Statistic::Mean))
    };
    let pass = Pass {
        planned,
        complete,
        duration_s: Some(document.need("Test Duration (s)")?),
        requests_per_s: document.number("Req Throughput (req/s)"),
        output_tokens_per_s: document.number("Output Throughput (tok/s)"),
        total_tokens_per_s: document.number("Total Throughput (tok/s)"),
        input_tokens: total("Avg Input Tokens"),
        output_tokens: total("Avg Output Tokens").unwrap_or(0),
        latencies: vec![
            (&ttft::FROM_SENT, mean("Avg TTFT (ms)", 1.0)),
            (&tpot::DEFINITION, mean("Avg TPOT (ms)", 1.0)),
            (&icl::DEFINITION, mean("Avg ITL (ms)", 1.0)),
            (&e2e::FROM_SENT, mean("Avg Latency (s)", 1e3)),
        ],
        ..Pass::of(load(planned, rate, concurrency, unknown_arrivals(1.0)), document.stated(&[]))
    };
    let findings = vec![
        definitions(
            "TTFT and latency of the file start when the client picks a request, before the client \
                connects. Its ITL is the gap between chunks. Its figures are rounded, and the \
                percentiles are in `benchmark_percentile.json`, which is not imported",
        ),
        Finding::of(code::IMPORTED_MODEL_UNKNOWN, "the summary does not name the model"),
    ];
    import(document.source, FORMAT, None, target("unknown", None, "unknown"), vec![pass], findings)
}
