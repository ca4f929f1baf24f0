//! Per-user speed: the tokens per second that one user receives, not the server's total.

use super::{Definition, Direction, Origin, Timeline, Unit, Value, e2e};

/// Per-user speed: output tokens divided by E2E.
pub static DEFINITION: Definition = Definition {
    name: "per_user_speed",
    formula: "output tokens / E2E",
    unit: Unit::TokensPerSecond,
    origin: Some(Origin::Sent),
    direction: Some(Direction::Higher),
    notes: "Includes the wait for the first token.",
    source: "Inferometer; `tokens-speed-per-request` of the text-block logs, as inferred.",
    value: Value::Request(tokens_per_s),
    title: "Per-user speed",
    ..Definition::DEFAULT
};

/// Output tokens per second of E2E; absent if the output tokens were not counted, or if E2E is absent or 0.
pub fn tokens_per_s(timeline: &Timeline<'_>) -> Option<f64> {
    let seconds = e2e::from_sent(timeline)? * 1e-3;
    (seconds > 0.0 && timeline.tokens_from.is_some())
        .then(|| f64::from(timeline.output_tokens) / seconds)
}
