//! Imports the result lines of SGLang's `bench_serving`.

use std::collections::BTreeMap;

use inferometer_model::stats::{self, Distribution};
use inferometer_model::{Finding, OutcomeCounts, Statistic, code, metrics::ttft};
use serde_json::Value;

use super::document::{Document, distribution, target};
use super::pass::{Pass, definitions, import, load, unknown_arrivals};
use crate::{failure, import::error::ImportError, import::source::Import};

pub(crate) const FORMAT: &str = "SGLang bench_serving";

pub(super) fn is(document: &Value) -> bool {
    let has = |key: &str| document.get(key).is_some();
    has("request_throughput") && has("input_throughput") && has("mean_e2e_latency_ms")
}

pub(super) fn run(document: &Document<'_>) -> Result<Import, ImportError> {
    let complete = document.need_count("completed")?;
    let errors = document.list("errors");
    // The file has no field for the number of sent requests, but its lists have one element for each of them.
    let planned = errors.map_or(complete, |errors| errors.len() as u64);
    let mut failures = OutcomeCounts::default();
    for words in errors.unwrap_or(&[]).iter().filter_map(Value::as_str) {
        if !words.is_empty() {
            failures.add(failure::from_text(words).0);
        }
    }
    let mut stated = document.stated(&[]);
    stated.agreeing = agreeing(document);
    // The tool prints this limit as a whole number, or these words.
    let limit = document.count("max_concurrency");
    let limit = limit.map_or("not set".to_owned(), |limit| limit.to_string());
    stated.texts.insert("max_concurrency".to_owned(), limit);
    let exact = document.number("random_range_ratio") == Some(1.0)
        && document.words("dataset_name").is_some_and(|name| name.starts_with("random"));
    let asked = |path: &str| document.count(path).and_then(|count| u32::try_from(count).ok());
    let asked = ["random_input_len", "random_output_len"].map(|path| asked(path).filter(|_| exact));
    let concurrency = document.count("max_concurrency").and_then(|count| u32::try_from(count).ok());
    let rate = document.number("request_rate");
    let pass = Pass {
        planned,
        complete,
        duration_s: Some(document.need("duration")?),
        requests_per_s: document.number("request_throughput"),
        output_tokens_per_s: document.number("output_throughput"),
        input_tokens: Some(document.need_count("total_input_tokens")?),
        output_tokens: document.need_count("total_output_tokens")?,
        asked,
        failures,
        latencies: vec![(&ttft::FROM_SENT, ttfts(document))],
        ..Pass::of(load(planned, rate, concurrency, unknown_arrivals(1.0)), stated)
    };
    let backend = document.words("backend").unwrap_or("unknown");
    let mut target = target("unknown", None, backend);
    target.engine = backend.starts_with("sglang").then(|| "sglang".to_owned());
    if let Some(model) = document.words("server_info.model_path") {
        target.model = super::document::without_folders(model);
    }
    let mut findings = vec![definitions(
        "TTFT and E2E of the file start when the client picks a request, before the client \
            connects; ours start when the request is sent. The file's E2E ends at the last line of \
            the stream, including a late usage event; its TPOT is computed from this E2E; its ITL \
            is the gap between chunks. E2E, TPOT and ITL are stored under the tool's names",
    )];
    if target.model == "unknown" {
        findings
            .push(Finding::of(code::IMPORTED_MODEL_UNKNOWN, "the line does not name the model"));
    }
    findings.extend(counts(document, pass.output_tokens));
    if document.list("ttfts").is_some() {
        findings.push(Finding::of(
            code::IMPORTED_NO_START_TIMES,
            "the lists of the file do not state when requests were sent, so no request records are \
                imported: only TTFT is taken from the lists",
        ));
    }
    import(document.source, FORMAT, None, target, vec![pass], findings)
}

/// The TTFT of the completed requests, or its statistics if the file does not list them.
fn ttfts(document: &Document<'_>) -> Option<Distribution> {
    let Some(ttfts) = document.list("ttfts") else {
        let of = |statistic: Statistic| {
            let word = if statistic == Statistic::P50 { "median" } else { statistic.name() };
            document.number(&format!("{word}_ttft_ms"))
        };
        let stated = distribution(document.count("completed")?, of);
        return stated.filter(|found| found.mean > 0.0);
    };
    let errors = document.list("errors");
    let failed = |at: usize| {
        let words = errors.and_then(|errors| errors.get(at)).and_then(Value::as_str);
        words.is_some_and(|words| !words.is_empty())
    };
    let complete = ttfts.iter().enumerate().filter(|(at, _)| !failed(*at));
    let mut ms: Vec<f64> =
        complete.filter_map(|(_, seconds)| Some(seconds.as_f64()? * 1e3)).collect();
    stats::distribution(&mut ms)
}

/// Returns the finding that the counted output tokens are the requested ones: with an OpenAI API, the tool does not ask
/// the server for its count.
fn counts(document: &Document<'_>, counted: u64) -> Option<Finding> {
    let in_texts = document.count("total_output_tokens_retokenized")?;
    let is_far = in_texts.abs_diff(counted) * 50 > counted;
    is_far.then(|| {
        let message = format!(
            "the file counts {counted} output tokens, but its texts have {in_texts}: with an OpenAI \
                API, the tool counts the requested length. tokens/s and TPOT use its count"
        );
        Finding::of(code::IMPORTED_TOKEN_COUNTS_DIFFER, message)
    })
}

fn agreeing(document: &Document<'_>) -> BTreeMap<String, f64> {
    let statistics =
        [("mean", "mean"), ("median", "p50"), ("p90", "p90"), ("p95", "p95"), ("p99", "p99")];
    let of = |(theirs, ours): (&str, &str)| {
        Some((format!("ttft_{ours}"), document.number(&format!("{theirs}_ttft_ms"))?))
    };
    statistics.into_iter().filter_map(of).collect()
}
