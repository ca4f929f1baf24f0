//! Latency per output token, as the published tables print it. The time of the prompt is included.

use super::{Definition, ErrorBound, ErrorMargin, JudgedOn, Origin, Timeline, Unit, Value, e2e};

/// Latency per output token: E2E divided by the output tokens.
pub static DEFINITION: Definition = Definition {
    name: "latency_per_output_token",
    formula: "E2E / output tokens",
    unit: Unit::MillisecondsPerToken,
    origin: Some(Origin::Sent),
    notes: "The table shows the mean over requests. Absent for an empty output, and if the \
        output tokens were not counted. Papers call it normalised latency.",
    source: "vLLM 0.2 benchmark_serving.py; the published tables; Yu et al., Orca (OSDI 2022).",
    value: Value::Request(latency_ms_per_output_token),
    title: "Latency per output token",
    result_key: "latency_per_output_token_ms",
    judged: JudgedOn::OnPasses,
    bound: Some(ErrorBound { key: None, of: margin }),
    exported: Some(7),
    ..Definition::DEFAULT
};

/// Milliseconds of E2E per output token; absent without E2E, or if there are no counted output tokens.
pub fn latency_ms_per_output_token(timeline: &Timeline<'_>) -> Option<f64> {
    let latency_ms = e2e::from_sent(timeline)?;
    tokens(timeline).map(|tokens| latency_ms / tokens)
}

/// The number of output tokens; `None` if there are none, or if they were not counted.
fn tokens(timeline: &Timeline<'_>) -> Option<f64> {
    (timeline.output_tokens > 0).then(|| f64::from(timeline.output_tokens))
}

fn margin(timeline: &Timeline<'_>, margins: &mut Vec<ErrorMargin>) {
    let width = e2e::width_of_last(timeline).zip(tokens(timeline));
    margins.extend(width.map(|(width, tokens)| ErrorMargin::below(width / tokens)));
}
