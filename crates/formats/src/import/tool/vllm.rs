//! Imports the result file of `vllm bench serve`, with or without its requests.

mod requests;

use inferometer_analysis::ImportedPass;
use inferometer_model::metrics::{e2e, icl, itl, tpot, ttft};
use inferometer_model::stats::{self, Distribution};
use inferometer_model::{
    Bound, Definition, Finding, OpenPlan, OverLimit, PassPlan, Statistic, code, load::Level,
    load::arrival::Arrivals,
};
use serde_json::Value;

use super::document::{Document, distribution, target};
use super::pass::{Pass, definitions, import, load, unknown_arrivals, unknown_load};
use crate::{import::error::ImportError, import::source::Import, simulation};
use requests::{STARTS, requests};

pub(crate) const FORMAT: &str = "vllm bench serve";

pub(super) fn is(document: &Value) -> bool {
    let has = |key: &str| document.get(key).is_some();
    has("request_throughput") && has("total_token_throughput") && has("model_id")
}

pub(super) fn run(document: &Document<'_>) -> Result<Import, ImportError> {
    let requests = requests(document)?;
    let complete = document.need_count("completed")?;
    // The number of prompts is the requested one: a data set may have fewer.
    let failed = document.count("failed").or(document.count("failed_requests"));
    let planned = match failed {
        Some(failed) => complete + failed,
        None => document.need_count("num_prompts")?,
    };
    let has_requests = !requests.is_empty();
    let has_instants = document.list(STARTS).is_some();
    let arrivals = arrivals(document, has_requests && !has_instants);
    let mut stated = document.stated(&[]);
    stated.agreeing = agreeing(document);
    state_lists(document, &mut stated);
    // Embeddings have no output.
    let output_tokens = match document.get("total_input_sequences") {
        Some(_) => 0,
        None => document.need_count("total_output_tokens")?,
    };
    let mut pass = Pass {
        requests,
        has_instants,
        planned,
        complete,
        duration_s: Some(document.need("duration")?),
        requests_per_s: document.number("request_throughput"),
        output_tokens_per_s: document.number("output_throughput"),
        total_tokens_per_s: document.number("total_token_throughput"),
        input_tokens: Some(document.need_count("total_input_tokens")?),
        output_tokens,
        latencies: match has_requests {
            true => Vec::new(),
            false => latencies(document, complete, output_tokens),
        },
        ..Pass::of(plan(document, planned, arrivals), stated)
    };
    let model = document.words("model_id").unwrap_or("unknown");
    let dialect = document.words("backend").or(document.words("endpoint_type"));
    let mut target = target(model, None, dialect_of(dialect.unwrap_or("unknown")));
    if let Some(backend) = dialect {
        target.facts.others.insert("backend".to_owned(), backend.to_owned());
    }
    simulation::read(document.words("label"), &mut target);
    let measured_at = document.words("date").map(str::to_owned);
    let mut findings = findings(document, has_requests, has_instants);
    findings.extend(other_load(document, &mut pass));
    if pass.plan.rate().is_some() && !has_instants && matches!(arrivals.0, Arrivals::Vllm { .. }) {
        findings.push(Finding::of(
            code::IMPORTED_NO_START_TIMES,
            "the file does not state the seed of the arrivals: `calibrate` and `predict --against` \
                assume vLLM's default seed 0",
        ));
    }
    findings.extend(listed(&pass));
    import(document.source, FORMAT, measured_at, target, vec![pass], findings)
}

/// Returns the finding that the lists do not have the stated number of completed requests.
fn listed(pass: &Pass) -> Option<Finding> {
    let listed = pass.requests.iter().filter(|request| request.error.is_none()).count() as u64;
    let complete = pass.complete;
    (!pass.requests.is_empty() && listed != complete).then(|| {
        Finding::of(
            code::IMPORTED_COLUMNS_INCONSISTENT,
            format!("the file states {complete} completed requests, but its lists have {listed}"),
        )
    })
}

/// Returns the load of the pass.
fn plan(document: &Document<'_>, planned: u64, arrivals: (Arrivals, bool)) -> PassPlan {
    let count = |key: &str| document.count(key).and_then(|count| u32::try_from(count).ok());
    let concurrency = count("max_concurrency").or_else(|| count("multi_turn_concurrency"));
    // The file states an infinite rate as the text "inf", which gives `None` here.
    let constant = load(planned, document.number("request_rate"), concurrency, arrivals);
    let of_ramp = |key: &str| document.number(key).filter(|rate| *rate > 0.0);
    let (Some(strategy), Some(from), Some(to)) = (
        document.words("ramp_up_strategy"),
        of_ramp("ramp_up_start_rps"),
        of_ramp("ramp_up_end_rps"),
    ) else {
        return constant;
    };
    let requests = u32::try_from(planned).unwrap_or(u32::MAX);
    PassPlan::Open(OpenPlan {
        rate: Level::of_request_ramp(strategy == "exponential", from, to, requests),
        arrivals: arrivals.0,
        // The tool does not scale the gaps of a ramp.
        scaled: false,
        bound: Bound::requests(requests),
        max_in_flight: concurrency,
        over_limit: OverLimit::default(),
    })
}

/// Returns the finding that the load is another one than the file states, if the figures show it: the Rust client does
/// not write a ramp, and conversations are no closed loop if users wait between turns. Replaces a load that the figures
/// exclude by a replay of unknown times.
fn other_load(document: &Document<'_>, pass: &mut Pass) -> Option<Finding> {
    let longest = ["p99.9", "p99", "p95", "p90", "mean"]
        .iter()
        .find_map(|name| document.number(&format!("{name}_e2el_ms")));
    let spread = matches!(pass.plan, PassPlan::Saturated(_))
        && pass.duration_s.zip(longest).is_some_and(|(s, ms)| s > 2.0 * ms / 1e3);
    let message = if document.get("num_conversations").is_some() {
        "the pass had conversations of several turns: it is imported as a closed loop with as many \
            requests in flight as conversations"
    } else if spread {
        let requests = u32::try_from(pass.planned).unwrap_or(u32::MAX);
        pass.plan = unknown_load(document.source, requests);
        "the file states that all requests were sent at once, but the pass lasted more than twice \
            as long as its longest requests: they were sent over time, for example in a ramp, which \
            vLLM's Rust client does not write. The load is unknown: the pass is imported as a replay \
            of unknown times"
    } else {
        return None;
    };
    Some(Finding::of(code::IMPORTED_LOAD_UNKNOWN, message))
}

/// Adds the numbers of lists that the tool prints, and the percentiles that were asked for, in the order of the file.
fn state_lists(document: &Document<'_>, stated: &mut ImportedPass) {
    let per_position = "spec_decode_per_position_acceptance_rates";
    for (at, rate) in document.list(per_position).unwrap_or(&[]).iter().enumerate() {
        stated.numbers.extend(rate.as_f64().map(|rate| (format!("{per_position}.{at}"), rate)));
    }
    for (at, turn) in document.list("per_turn_metrics").unwrap_or(&[]).iter().enumerate() {
        let of_turn = document.part(turn).stated(&[]).numbers;
        let named =
            of_turn.into_iter().map(|(key, value)| (format!("per_turn_metrics.{at}.{key}"), value));
        stated.numbers.extend(named);
    }
    let steady = "steady_state.percentiles_ttft_ms";
    for pair in document.list(steady).unwrap_or(&[]) {
        if let (Some(percent), Some(value)) = (pair[0].as_f64(), pair[1].as_f64()) {
            stated.numbers.insert(format!("{steady}.{percent}"), value);
        }
    }
    let mut percentiles: Vec<&str> = Vec::new();
    for key in document.value.as_object().into_iter().flat_map(|fields| fields.keys()) {
        let stem = key.strip_prefix('p').and_then(|key| key.strip_suffix("_ms"));
        let word = stem
            .and_then(|stem| stem.split('_').next())
            .filter(|word| word.parse::<f64>().is_ok() && !percentiles.contains(word));
        percentiles.extend(word);
    }
    if !percentiles.is_empty() {
        stated.texts.insert("metric_percentiles".to_owned(), percentiles.join(","));
    }
}

/// The statistics of a metric, in milliseconds. `None` if there are no values: the tool then states 0 for all.
fn stated(document: &Document<'_>, name: &str, n: u64) -> Option<Distribution> {
    let of = |statistic: Statistic| {
        let of = |word: &str| document.number(&format!("{word}_{name}_ms"));
        match statistic {
            Statistic::P50 => of("median").or_else(|| of("p50")),
            Statistic::P999 => of("p99.9"),
            Statistic::Max => of("p100"),
            other => of(other.name()),
        }
    };
    distribution(n, of).filter(|found| found.mean != 0.0 || found.p50 != 0.0)
}

/// The latencies that the file states without its requests. `n`, the number of completed requests, stands for the number
/// of values.
fn latencies(
    document: &Document<'_>,
    n: u64,
    output_tokens: u64,
) -> Vec<(&'static Definition, Option<Distribution>)> {
    let of = |name| stated(document, name, n);
    let (ttft, tpot, gaps) = (of("ttft"), of("tpot"), of("itl"));
    // Without `--save-detailed`, the file has the latency of each request, but not which of them failed. The latency of
    // most failed requests is 0.
    let listed = document.list("latencies").and_then(|seconds| {
        let seconds = seconds.iter().filter_map(Value::as_f64).filter(|seconds| *seconds > 0.0);
        let mut ms: Vec<f64> = seconds.map(|seconds| seconds * 1e3).collect();
        (ms.len() as u64 == n).then(|| stats::distribution(&mut ms)).flatten()
    });
    let e2e = listed.or_else(|| of("e2el"));
    // The tool's ITL is the gap between chunks. It is our ITL if each chunk is one token: if there are as many gaps as
    // tokens after the first ones.
    let are_tokens = || {
        let (ttft, tpot, gap) = (ttft?, tpot?, gaps?.mean);
        let is_near = |one: f64, other: f64| (one / other - 1.0).abs() < 0.01;
        let count = e2e.map(|e2e| n as f64 * (e2e.mean - ttft.mean) / gap);
        let tokens = output_tokens.saturating_sub(n) as f64;
        Some(count.map_or(gap == tpot.mean, |count| is_near(count, tokens)))
    };
    let itl = gaps.filter(|_| are_tokens() == Some(true));
    vec![
        (&ttft::FROM_SENT, ttft),
        (&tpot::DEFINITION, tpot),
        (&icl::DEFINITION, gaps),
        (&itl::DEFINITION, itl),
        (&e2e::FROM_SENT, e2e),
    ]
}

/// The first day, in the form of vLLM's dates, from which a run is assumed to use a vLLM version that scales the
/// gaps to the exact rate (<https://github.com/vllm-project/vllm/pull/21108>).
const SCALED_FROM: &str = "20250718";

/// Whether the Python version of the tool wrote the date: it has the form 20250718-120000.
fn is_of_python(date: Option<&str>) -> Option<&str> {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (day, time) = date?.split_once('-')?;
    (day.len() == 8 && is_number(day) && is_number(time)).then_some(day)
}

/// Returns the arrivals of a run, and whether their gaps are scaled to the exact rate. The arrivals of the Python version
/// follow from its seed. The file does not state the seed, so vLLM's default 0 is used. Otherwise, the random generator
/// is unknown. `is_old` means that the version does not scale the gaps.
fn arrivals(document: &Document<'_>, is_old: bool) -> (Arrivals, bool) {
    let burstiness = match document.words("burstiness") {
        Some("inf" | "Infinity") => f64::INFINITY,
        _ => document.number("burstiness").unwrap_or(1.0),
    };
    match is_of_python(document.words("date")) {
        Some(day) => (Arrivals::of_vllm(burstiness), day >= SCALED_FROM && !is_old),
        None => unknown_arrivals(burstiness),
    }
}

/// Returns our name of the API dialect of a backend.
fn dialect_of(backend: &str) -> &str {
    match backend {
        "openai" | "vllm" => "openai-completions",
        other => other,
    }
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
                taken from the file as stated, and each latency counts as many values as requests \
                completed. Its ITL is ours only if its mean shows that each chunk is one token. \
                Input and output length are the means per completed request, or 0 if a mean is not \
                a whole number",
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
        findings.push(definitions(match is_of_python(document.words("date")) {
            Some(_) => {
                "with a chat backend, vLLM 0.33 counts chunks with `reasoning`, but not those with \
                    `reasoning_content`; older versions count the chunk with only the role as the \
                    first token: TTFT and TPOT may differ from ours"
            }
            None => {
                "with a chat backend, vLLM's Rust client counts the first chunk as the first \
                    token, even if the chunk has only the role and no content: its TTFT is shorter \
                    than ours, and its TPOT longer"
            }
        }));
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arrivals_are_known_for_the_python_version_and_scaled_from_18_july_2025_on() {
        let vllm = Arrivals::of_vllm(1.0);
        let source = crate::import::source::Source::new("f", b"");
        let of = |value: Value, is_old| {
            arrivals(&Document { source: &source, format: FORMAT, value: &value }, is_old)
        };
        for (date, expected) in [
            (json!("20250420-101112"), (vllm, false)),
            (json!("20250718-000000"), (vllm, true)),
            // The Rust version writes dates in another form.
            (json!("2026-11-23T05:33:16Z"), (Arrivals::Poisson, false)),
            (json!(null), (Arrivals::Poisson, false)),
        ] {
            assert_eq!(of(json!({ "date": date }), false), expected, "{date:?}");
        }
        let today = "20260101-000000";
        assert_eq!(of(json!({ "date": today }), true), (vllm, false));
        let constant = of(json!({ "date": today, "burstiness": "inf" }), false);
        assert_eq!(constant.0, Arrivals::Constant);
    }
}
