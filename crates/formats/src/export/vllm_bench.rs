//! Exports a pass with its requests as a result file of `vllm bench serve`. The file has the same fields as a
//! file of `vllm bench serve`, so the same programs can read both. An exported file does not change when it is
//! imported and exported again.

use inferometer_analysis::{PassSummary, Summary};
use inferometer_model::{Nanos, Record};
use serde_json::{Map, Value, json};

use crate::dialect::vllm::{self, Figures, Request};
use crate::dialect::{Numbers, ServingMetric, ServingSelection, Stream, percentile_word};
use crate::{export::error::ExportError, failure, simulation};

/// Returns the result file of the pass number `pass`. Passes are numbered from 0 in the order of the summary's
/// cells. `records` are the records of this pass. `burstiness` is the file's value of this name; infinity means
/// constant gaps between arrivals.
///
/// # Errors
/// [`ExportError::Missing`] if there is no such pass, or if it has no records or no duration.
pub fn vllm_bench(
    summary: &Summary,
    pass: usize,
    records: &[Record],
    burstiness: f64,
    selection: &ServingSelection,
) -> Result<Value, ExportError> {
    let missing = |what: String| ExportError::Missing(what);
    let mut passes = summary.cells.iter().flat_map(|cell| &cell.passes);
    let of_pass = passes.nth(pass).ok_or_else(|| {
        missing(format!("the run has no pass {pass}; passes are numbered from 0"))
    })?;
    let begun = vllm::since_begin_s(records, selection);
    let sent = of_pass.duration_s.filter(|seconds| *seconds > 0.0);
    let duration = begun.or(sent).ok_or_else(|| {
        missing(format!("pass {pass} has no duration: nothing was sent, or nothing ended"))
    })?;
    if records.is_empty() {
        return Err(missing(format!("pass {pass} has no records, so the file cannot be written")));
    }
    let mut file = head(summary, of_pass, burstiness);
    file.extend(figures(summary, pass, (of_pass, duration), records, selection));
    Ok(file.into())
}

/// Returns the fields that state the settings.
fn head(summary: &Summary, pass: &PassSummary, burstiness: f64) -> Map<String, Value> {
    let imported = summary.imported.as_ref();
    let measured = imported.and_then(|imported| imported.measured_at.clone());
    let digits: String =
        summary.started_at.chars().take(19).filter(|c| *c != '-' && *c != ':').collect();
    let date = measured.unwrap_or_else(|| digits.replace('T', "-"));
    let target = &summary.target;
    let backend =
        target.facts.others.get("backend").map_or(target.dialect.as_str(), String::as_str);
    let backend = if backend == "openai-completions" { "openai" } else { backend };
    let words = imported.and_then(|imported| imported.passes.first()).map(|stated| &stated.texts);
    let tokenizer = words.and_then(|words| words.get("tokenizer_id"));
    let tokenizer = tokenizer.or(summary.environment.tokenizer.as_ref());
    let label = words.and_then(|words| words.get("label"));
    let rate = pass.rate.filter(|rate| rate.is_finite());
    let rate = rate.map_or(json!("inf"), |rate| json!(rate));
    let fields = [
        ("date", json!(date)),
        ("endpoint_type", json!(backend)),
        ("backend", json!(backend)),
        ("label", json!(simulation::label(target).as_ref().or(label))),
        ("model_id", json!(target.model)),
        ("tokenizer_id", json!(tokenizer)),
        ("num_prompts", json!(pass.planned)),
        ("request_rate", rate),
        ("burstiness", if burstiness.is_finite() { json!(burstiness) } else { json!("inf") }),
        ("max_concurrency", json!(in_flight(pass))),
    ];
    fields.map(|(name, value)| (name.to_owned(), value)).into_iter().collect()
}

/// Returns the limit of requests in flight, if the load model has one.
fn in_flight(pass: &PassSummary) -> Option<u32> {
    use inferometer_model::load::PassKind;
    match pass.kind {
        PassKind::OneByOne => Some(1),
        _ => pass.concurrency,
    }
}

/// Returns the fields with the results. `duration` is in seconds.
fn figures(
    summary: &Summary,
    number: usize,
    (pass, duration): (&PassSummary, f64),
    records: &[Record],
    selection: &ServingSelection,
) -> Map<String, Value> {
    let first = records.iter().filter_map(|record| record.picked.or(record.send_start)).min();
    let rows: Vec<Row> = records.iter().map(|record| Row::of(record, first, selection)).collect();
    let complete: Vec<Request> = rows.iter().filter_map(|row| row.request.clone()).collect();
    let figures = Figures::of(&complete);
    let by_their_limits = vllm::goodput(&complete, selection, duration);
    let goodput = pass.goodput.as_ref().and_then(|goodput| goodput.requests_per_s);
    let stated = summary.imported.as_ref().and_then(|imported| imported.passes.get(number));
    let goodput =
        by_their_limits.or(goodput).or_else(|| stated?.numbers.get("request_goodput").copied());
    let (input, output) = (figures.total_input, figures.total_output);
    let each = |of: &dyn Fn(&Row) -> Value| Value::from(rows.iter().map(of).collect::<Vec<_>>());
    let of = |row: &Row, value: &dyn Fn(&Request) -> Value, missing: Value| {
        row.request.as_ref().map_or(missing, value)
    };
    let fields = [
        ("duration", json!(duration)),
        ("completed", json!(complete.len())),
        ("failed", json!(records.len() - complete.len())),
        ("total_input_tokens", json!(input)),
        ("total_output_tokens", json!(output)),
        ("request_throughput", json!(complete.len() as f64 / duration)),
        ("request_goodput", json!(goodput)),
        ("output_throughput", json!(output as f64 / duration)),
        ("total_token_throughput", json!((input + output) as f64 / duration)),
        ("input_lens", each(&|row| json!(row.input))),
        ("output_lens", each(&|row| of(row, &|request| json!(request.output), json!(0)))),
        ("ttfts", each(&|row| of(row, &|request| json!(request.ttft), json!(0.0)))),
        ("itls", each(&|row| of(row, &|request| json!(request.itl), json!([])))),
        ("latencies", each(&|row| of(row, &|request| json!(request.latency), json!(0.0)))),
        ("start_times", each(&|row| json!(row.start))),
        ("queue_times", each(&|row| json!(row.queued))),
        // The texts of answers are not stored.
        ("generated_texts", each(&|_| json!(""))),
        ("errors", each(&|row| json!(row.error))),
        ("max_output_tokens_per_s", json!(figures.peak_tokens_per_s)),
        ("max_concurrent_requests", json!(figures.peak_requests)),
        ("rtfx", json!(0.0)),
    ];
    let mut map: Map<String, Value> =
        fields.map(|(name, value)| (name.to_owned(), value)).into_iter().collect();
    for metric in ServingMetric::ALL.into_iter().filter(|one| selection.metrics.contains(one)) {
        map.extend(statistics(metric.name(), figures.of_metric(metric), &selection.percentiles));
    }
    if let Some(window) = selection.steady_state {
        let steady = vllm::SteadyState::of(window, &complete, duration);
        let steady = steady.map(|steady| steady.json(&selection.percentiles));
        map.insert("steady_state".to_owned(), json!(steady));
    }
    map
}

fn statistics(name: &str, values: &Numbers, percentiles: &[f64]) -> Vec<(String, Value)> {
    let mut found = vec![
        (format!("mean_{name}_ms"), json!(values.mean())),
        (format!("median_{name}_ms"), json!(values.percentile(50.0))),
        (format!("std_{name}_ms"), json!(values.std())),
    ];
    found.extend(percentiles.iter().map(|&percentile| {
        let word = percentile_word(percentile);
        (format!("p{word}_{name}_ms"), json!(values.percentile(percentile)))
    }));
    found
}

/// One request in the lists of the file. `start` and `queued` are in seconds; `start` counts from the start of
/// the first request in the pass.
struct Row {
    start: f64,
    queued: f64,
    input: u32,
    request: Option<Request>,
    error: String,
}

impl Row {
    fn of(record: &Record, first: Option<Nanos>, selection: &ServingSelection) -> Self {
        let stream = Stream::new(record).filter(|_| record.outcome.is_complete());
        let start = record.picked.or(record.send_start);
        let error = match stream.is_some() {
            true => String::new(),
            false => failure::to_text(record.outcome, record.detail_text()),
        };
        Self {
            start: start.zip(first).map_or(0.0, |(start, first)| start.seconds_after(first)),
            queued: start.map_or(0.0, |start| vllm::queued(start, record.due, selection)),
            input: record.input_tokens().unwrap_or(record.asked_input),
            request: stream.as_ref().map(|stream| Request::of(stream, selection)),
            error,
        }
    }
}
