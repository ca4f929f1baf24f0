//! Checks the figures of a pass of another tool against each other. The figures are imported as the file states them; a
//! finding names what contradicts.

use inferometer_model::{Finding, code};

use super::{Pass, definitions};
use crate::import::tool::request::ToolRequest;

/// A difference by more than this share is a finding.
const SHARE: f64 = 0.02;

/// Returns the findings on a pass.
pub(super) fn findings(pass: &Pass) -> Vec<Finding> {
    let found = [failures(pass), rate(pass), input(pass), output(pass), negative(pass)];
    found.into_iter().flatten().collect()
}

fn differs(one: f64, other: f64) -> bool {
    (one - other).abs() > SHARE * other.abs()
}

/// Requests did not complete.
fn failures(pass: &Pass) -> Option<Finding> {
    let failed = pass.planned.saturating_sub(pass.complete);
    let listed = pass.requests.iter().filter(|request| request.error.is_some()).count() as u64;
    let how = match listed {
        _ if failed == 0 => return None,
        listed if listed >= failed => {
            "the outcome of each request follows from its error text, and is `malformed` if this \
                text is unknown"
        }
        _ => {
            "the file does not list them all. A failure whose kind it does not state counts as \
                `malformed`"
        }
    };
    let message = format!("{failed} of {} requests did not complete; {how}", pass.planned);
    Some(Finding::of(code::IMPORTED_REQUESTS_LOST, message))
}

/// The rate is not the number of completed requests over the duration.
fn rate(pass: &Pass) -> Option<Finding> {
    let (rate, seconds) = pass.requests_per_s.zip(pass.duration_s.filter(|s| *s > 0.0))?;
    let complete = pass.complete as f64;
    differs(rate * seconds, complete).then(|| {
        let message = format!(
            "the file states {rate:.4} requests/s, but {complete} completed requests over its \
                duration of {seconds:.4} s are {:.4} requests/s. All are imported as stated",
            complete / seconds
        );
        Finding::of(code::IMPORTED_COLUMNS_INCONSISTENT, message)
    })
}

/// Prompts were not counted as long as requested, for example because the server adds a template.
fn input(pass: &Pass) -> Option<Finding> {
    let mean = pass.input_tokens.filter(|_| pass.complete > 0)? as f64 / pass.complete as f64;
    let asked = f64::from(pass.asked[0].filter(|asked| *asked > 0)?);
    differs(mean, asked).then(|| {
        definitions(&format!(
            "the input length is the requested one, {asked} tokens; {mean:.1} tokens per completed \
                request were counted"
        ))
    })
}

/// Outputs were shorter or longer than requested.
fn output(pass: &Pass) -> Option<Finding> {
    let mean = pass.output_tokens as f64 / Some(pass.complete).filter(|count| *count > 0)? as f64;
    let asked = f64::from(pass.asked[1].filter(|asked| *asked > 0)?);
    differs(mean, asked).then(|| {
        let message = format!(
            "{asked} output tokens per request were requested, {mean:.1} were counted: tokens/s \
                and latencies per token use the counted ones"
        );
        match mean < asked {
            true => Finding::of(code::IMPORTED_OUTPUTS_SHORTER, message),
            false => definitions(&message),
        }
    })
}

/// A latency below 0, which no clock can have measured.
fn negative(pass: &Pass) -> Option<Finding> {
    let is_negative = |request: &&ToolRequest| {
        let between = request.end_s.map(|end| end - request.ttft_s);
        let gaps = request.gaps_s.iter().copied();
        request.error.is_none()
            && gaps.chain([request.ttft_s]).chain(between).any(|seconds| seconds < 0.0)
    };
    let requests = pass.requests.iter().filter(is_negative).count();
    let is_latency = |name: &str| {
        ["_ms", "latency", "time_to_", "time_per_"].iter().any(|part| name.contains(part))
    };
    let stated = pass.stated.numbers.iter().filter(|(name, value)| {
        **value < 0.0 && is_latency(name) && !name.contains("diff") && !name.contains("_ci.")
    });
    let names: Vec<&str> = stated.map(|(name, _)| name.as_str()).collect();
    if requests == 0 && names.is_empty() {
        return None;
    }
    let mut parts = Vec::new();
    if requests > 0 {
        parts.push(format!("{requests} requests have a latency below 0"));
    }
    if let Some(first) = names.first() {
        parts.push(format!("{} stated latencies are below 0, the first is `{first}`", names.len()));
    }
    let message = format!("{}. They are imported as they are", parts.join("; "));
    Some(Finding::of(code::IMPORTED_LATENCIES_INCONSISTENT, message))
}
