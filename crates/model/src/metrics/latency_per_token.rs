//! Latency per token, as the published tables print it: prompt tokens and output tokens count the same.

use super::{Definition, ErrorBound, ErrorMargin, JudgedOn, Origin, Timeline, Unit, Value, e2e};

/// Latency per token: E2E divided by the tokens of prompt and output.
pub static DEFINITION: Definition = Definition {
    name: "latency_per_token",
    formula: "E2E / (input tokens + output tokens)",
    unit: Unit::MillisecondsPerToken,
    origin: Some(Origin::Sent),
    notes: "The table shows the mean over requests. Absent if the prompt tokens or the output tokens \
        were not counted.",
    source: "vLLM 0.2 benchmark_serving.py; the published tables.",
    value: Value::Request(latency_ms_per_token),
    title: "Latency per token",
    result_key: "latency_per_token_ms",
    judged: JudgedOn::OnPasses,
    bound: Some(ErrorBound { key: None, of: margin }),
    exported: Some(6),
    ..Definition::DEFAULT
};

/// Milliseconds of E2E per token of prompt and output; absent without E2E, or if the tokens of one of the two are
/// unknown.
pub fn latency_ms_per_token(timeline: &Timeline<'_>) -> Option<f64> {
    let latency_ms = e2e::from_sent(timeline)?;
    tokens(timeline).map(|tokens| latency_ms / tokens)
}

/// The number of tokens of prompt and output; `None` if one of the two was not counted, or if the sum is 0.
fn tokens(timeline: &Timeline<'_>) -> Option<f64> {
    timeline.tokens_from?;
    let input_tokens = timeline.record.input_tokens()?;
    let tokens = f64::from(input_tokens) + f64::from(timeline.output_tokens);
    (tokens > 0.0).then_some(tokens)
}

fn margin(timeline: &Timeline<'_>, margins: &mut Vec<ErrorMargin>) {
    let width = e2e::width_of_last(timeline).zip(tokens(timeline));
    margins.extend(width.map(|(width, tokens)| ErrorMargin::below(width / tokens)));
}
