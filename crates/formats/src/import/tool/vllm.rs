//! Imports the result file of `vllm bench serve`, with or without its requests.

use inferometer_analysis::ImportedPass;
use inferometer_model::load::arrival::Arrivals;
use inferometer_model::{Finding, code};
use serde_json::Value;

use super::document::{Document, target};
use super::pass::{Pass, cells, definitions, failures, load, unknown_arrivals};
use super::request::ToolRequest;
use crate::import::error::ImportError;
use crate::import::source::{Import, Source, summary};
use crate::simulation;

pub(super) const FORMAT: &str = "vllm bench serve";

/// The lists that `--save-detailed` writes in every version.
const LISTS: [&str; 4] = ["ttfts", "itls", "input_lens", "output_lens"];
/// The list that versions before 0.10 do not write.
const STARTS: &str = "start_times";

pub(super) fn is(document: &Value) -> bool {
    let has = |key: &str| document.get(key).is_some();
    has("request_throughput") && has("total_token_throughput") && has("model_id")
}

pub(super) fn runs(source: &Source, documents: &[Value]) -> Result<Vec<Import>, ImportError> {
    // `--append-result` writes a line for each run.
    super::each(documents, |document| run(source, document))
}

fn run(source: &Source, value: &Value) -> Result<Import, ImportError> {
    let document = Document { source, format: FORMAT, value };
    let requests = requests(&document)?;
    let complete = document.need_count("completed")?;
    let planned = document.need_count("num_prompts")?;
    // The file states an infinite rate as the text "inf", which gives `None` here.
    let rate = document.number("request_rate");
    let concurrency = document.count("max_concurrency").and_then(|count| u32::try_from(count).ok());
    let burstiness = match document.words("burstiness") {
        Some("inf" | "Infinity") => f64::INFINITY,
        _ => document.number("burstiness").unwrap_or(1.0),
    };
    let mut stated = document.stated(&[]);
    stated.agreeing = agreeing(&document);
    let has_requests = !requests.is_empty();
    let has_instants = document.list(STARTS).is_some();
    let arrivals = arrivals(document.words("date"), burstiness, has_requests && !has_instants);
    let pass = Pass {
        plan: load(planned, rate, concurrency, arrivals),
        stated,
        requests,
        has_instants,
        planned,
        complete,
        duration_s: Some(document.need("duration")?),
        requests_per_s: document.number("request_throughput"),
        output_tokens_per_s: document.number("output_throughput"),
        input_tokens: Some(document.need_count("total_input_tokens")?),
        output_tokens: document.need_count("total_output_tokens")?,
        asked: None,
    };
    let model = document.words("model_id").unwrap_or("unknown");
    let dialect = document.words("backend").or(document.words("endpoint_type"));
    let mut target = target(model, None, dialect_of(dialect.unwrap_or("unknown")));
    if let Some(backend) = dialect {
        target.facts.others.insert("backend".to_owned(), backend.to_owned());
    }
    simulation::read(document.words("label"), &mut target);
    let mut imported = source.imported(FORMAT);
    imported.measured_at = document.words("date").map(str::to_owned);
    let mut findings = findings(&document, has_requests, has_instants);
    findings.extend(failures(planned, complete, has_requests));
    if rate.is_some() && !has_instants && matches!(arrivals.0, Arrivals::Vllm { .. }) {
        findings.push(Finding::of(
            code::IMPORTED_NO_START_TIMES,
            "the file does not state the seed of the arrivals: `calibrate` and `predict --against` \
                assume vLLM's default seed 0",
        ));
    }
    let listed = pass.requests.iter().filter(|request| request.error.is_none()).count() as u64;
    if has_requests && listed != complete {
        findings.push(Finding::of(
            code::IMPORTED_COLUMNS_INCONSISTENT,
            format!("the file states {complete} completed requests, but its lists have {listed}"),
        ));
    }
    let (cells, stated, records) =
        cells(vec![pass]).map_err(|what| source.malformed(FORMAT, what.to_string()))?;
    imported.passes = stated;
    Ok(Import { summary: summary(imported, target, cells, findings), records })
}

/// The first day, in the form of vLLM's dates, from which a run is assumed to use a vLLM version that scales the
/// gaps to the exact rate (<https://github.com/vllm-project/vllm/pull/21108>).
const SCALED_FROM: &str = "20250718";

/// Returns the arrivals of a run, and whether their gaps are scaled to the exact rate. A date of the form
/// 20250718-120000 shows the Python version of the tool. The arrivals of this version follow from its seed.
/// The file does not state the seed, so vLLM's default 0 is used. Without such a date, the random generator
/// is unknown. `is_old` means that the version does not scale the gaps.
fn arrivals(date: Option<&str>, burstiness: f64, is_old: bool) -> (Arrivals, bool) {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    match date.and_then(|date| date.split_once('-')) {
        Some((day, time)) if day.len() == 8 && is_number(day) && is_number(time) => {
            (Arrivals::of_vllm(burstiness), day >= SCALED_FROM && !is_old)
        }
        _ => unknown_arrivals(burstiness),
    }
}

/// Returns our name of the API dialect of a backend.
fn dialect_of(backend: &str) -> &str {
    match backend {
        "openai" | "vllm" => "openai-completions",
        other => other,
    }
}

/// Returns the requests; empty if one of the lists in [`LISTS`] is missing. The lists must have equal lengths.
fn requests(document: &Document<'_>) -> Result<Vec<ToolRequest>, ImportError> {
    let lists: Vec<Option<&[Value]>> = LISTS.iter().map(|name| document.list(name)).collect();
    let [Some(ttfts), Some(itls), Some(inputs), Some(outputs)] = lists[..] else {
        return Ok(Vec::new());
    };
    let starts = document.list(STARTS);
    let named = LISTS.into_iter().zip([ttfts, itls, inputs, outputs]);
    for (name, list) in named.chain(starts.map(|starts| (STARTS, starts))) {
        if list.len() != ttfts.len() {
            let lengths = format!(
                "`{name}` has {} values, but `ttfts` has \
                {}",
                list.len(),
                ttfts.len()
            );
            return Err(document.malformed(lengths));
        }
    }
    let errors = document.list("errors").unwrap_or(&[]);
    let queued = document.list("queue_times").unwrap_or(&[]);
    let count = |value: &Value| value.as_u64().and_then(|count| u32::try_from(count).ok());
    let requests = ttfts.iter().enumerate().map(|(at, ttft)| {
        let wrong = |name: &str| {
            document.malformed(format!(
                "`{name}[{at}]` is not a valid number, or in `itls` not a list of numbers"
            ))
        };
        let gaps = itls[at].as_array().ok_or_else(|| wrong("itls"))?;
        let error = errors.get(at).and_then(Value::as_str).filter(|words| !words.is_empty());
        let output = count(&outputs[at]).ok_or_else(|| wrong("output_lens"))?;
        // Zeros without an error text mean that nothing arrived.
        let nothing = output == 0 && ttft.as_f64() == Some(0.0);
        let error = error.or_else(|| nothing.then_some("no output arrived"));
        Ok(ToolRequest {
            // Without start times, the times of each request count from its own start.
            start_s: starts
                .map_or(Some(0.0), |starts| starts[at].as_f64())
                .ok_or_else(|| wrong(STARTS))?,
            ttft_s: ttft.as_f64().ok_or_else(|| wrong("ttfts"))?,
            gaps_s: gaps
                .iter()
                .map(|gap| gap.as_f64().ok_or_else(|| wrong("itls")))
                .collect::<Result<_, _>>()?,
            end_s: None,
            queued_s: queued.get(at).and_then(Value::as_f64).unwrap_or(0.0),
            tokens: None,
            input: count(&inputs[at]),
            output: Some(output),
            asked_output: output,
            error: error.map(str::to_owned),
        })
    });
    requests.collect()
}

/// Returns the statistics of TTFT, TPOT and E2E. Their definitions agree with ours, except that TTFT and E2E
/// start at the pick.
fn agreeing(document: &Document<'_>) -> std::collections::BTreeMap<String, f64> {
    let mut agreeing = ImportedPass::default().agreeing;
    for (theirs, ours) in [("ttft", "ttft"), ("tpot", "tpot"), ("e2el", "e2e")] {
        for (statistic, name) in [
            ("mean", "mean"),
            ("median", "p50"),
            ("p50", "p50"),
            ("p90", "p90"),
            ("p95", "p95"),
            ("p99", "p99"),
        ] {
            if let Some(value) = document.number(&format!("{statistic}_{theirs}_ms")) {
                agreeing.insert(format!("{ours}_{name}"), value);
            }
        }
    }
    agreeing
}

fn findings(document: &Document<'_>, has_requests: bool, has_instants: bool) -> Vec<Finding> {
    let mut findings = vec![definitions(
        "TTFT and E2E of the file start when the client picks a request, before the client \
            connects; ours start when the request is sent. With --request-rate and \
            --max-concurrency, a request may wait in the client before the pick; its latencies do \
            not include this wait. The file's ITL is the gap between chunks (our ICL), and is \
            stored under the tool's name",
    )];
    if !has_requests {
        findings.push(Finding::of(
            code::IMPORTED_NO_REQUESTS,
            "the file has no data of single requests (--save-detailed adds them): figures are \
                taken from the file as stated. Input and output length are the means per completed \
                request, or 0 if a mean is not a whole number",
        ));
    } else if !has_instants {
        findings.push(Finding::of(
            code::IMPORTED_NO_START_TIMES,
            "the file has no `start_times` (vLLM writes them since 0.10): TTFT, TPOT, gaps and E2E \
                come from its requests. Concurrency, steady state and time courses need start \
                times and are absent, and no request records are stored",
        ));
    }
    if document.words("backend").is_some_and(|backend| backend.ends_with("chat")) {
        findings.push(definitions(
            "with a chat backend, the tool counts the first chunk as the first token, even if the \
                chunk has only the role and no content: its TTFT may be shorter than ours, and its \
                TPOT longer",
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_are_known_for_the_python_version_and_scaled_from_18_july_2025_on() {
        let vllm = Arrivals::of_vllm(1.0);
        for (date, expected) in [
            (Some("20250420-101112"), (vllm, false)),
            (Some("20250718-000000"), (vllm, true)),
            // The Rust version writes dates in another form.
            (Some("2026-11-23T05:33:16Z"), (Arrivals::Poisson, false)),
            (None, (Arrivals::Poisson, false)),
        ] {
            assert_eq!(arrivals(date, 1.0, false), expected, "{date:?}");
        }
        let today = Some("20260101-000000");
        assert_eq!(arrivals(today, 1.0, true), (vllm, false));
        assert_eq!(arrivals(today, f64::INFINITY, false).0, Arrivals::Constant);
    }
}
