//! Reasoning tokens, and their share of the output.

use super::{Definition, JudgedOn, PassData, Statistic, Unit, Value};

/// The reasoning tokens of a request.
pub static TOKENS: Definition = Definition {
    name: "reasoning_tokens",
    formula: "reasoning tokens of the usage if above 0, else tokens of the events with reasoning",
    unit: Unit::Tokens,
    notes: "Absent if a request has no reasoning. If single events do not state their tokens, the output tokens are \
        spread evenly over the token events. `reasoning_from` in the results of a pass names the source.",
    source: "Inferometer; OpenAI's completion_tokens_details.reasoning_tokens.",
    value: Value::Request(|timeline| timeline.reasoning.map(|(tokens, _)| f64::from(tokens))),
    title: "Reasoning tokens",
    result_key: "reasoning_tokens",
    judged: JudgedOn::OnPasses,
    optional: true,
    when_reasoning: &[Statistic::Mean],
    exported: Some(13),
    ..Definition::DEFAULT
};

/// The share of reasoning in the output tokens of a pass.
pub static SHARE: Definition = Definition {
    name: "reasoning_share",
    formula: "100 x reasoning tokens / output tokens, of the completed requests",
    unit: Unit::Percent,
    direction: None,
    notes: "Absent if no request has reasoning, or if the output of a completed request was not counted.",
    value: Value::Pass(share_pct),
    title: "Reasoning share of output",
    result_key: "reasoning_share_pct",
    ..Definition::DEFAULT
};

/// The share of reasoning in the output of the completed requests, in percent.
fn share_pct(data: &PassData) -> Option<f64> {
    let share = 100.0 * data.reasoning_tokens as f64 / data.output_tokens as f64;
    (data.reasoning_tokens > 0 && data.output_tokens > 0 && data.uncounted == 0).then_some(share)
}
