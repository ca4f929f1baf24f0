//! Per-user speed: the tokens per second that one user receives, not the server's total.

use super::{
    Definition, Direction, ErrorBound, ErrorMargin, JudgedOn, Origin, Statistic, Timeline, Unit,
    Value, e2e,
};

/// Per-user speed: output tokens divided by E2E.
pub static DEFINITION: Definition = Definition {
    name: "per_user_speed",
    formula: "output tokens / E2E",
    unit: Unit::TokensPerSecond,
    origin: Some(Origin::Sent),
    direction: Some(Direction::Higher),
    notes: "Includes the wait for the first token. Absent if the output tokens were not counted.",
    source: "Inferometer; `tokens-speed-per-request` of the text-block logs, as inferred.",
    value: Value::Request(tokens_per_s),
    title: "Per-user speed",
    result_key: "per_user_speed_tokens_per_s",
    when_reasoning: &[Statistic::P50],
    judged: JudgedOn::on_requests(tokens_per_s, |_| 0.0),
    bound: Some(ErrorBound { key: None, of: margin }),
    exported: Some(10),
    ..Definition::DEFAULT
};

/// Output tokens per second of E2E; absent if the output tokens were not counted, or if E2E is absent or 0.
pub fn tokens_per_s(timeline: &Timeline<'_>) -> Option<f64> {
    let seconds = e2e::from_sent(timeline)? * 1e-3;
    (seconds > 0.0 && timeline.tokens_from.is_some())
        .then(|| f64::from(timeline.output_tokens) / seconds)
}

/// The shortest E2E that a record can have, in milliseconds: one tick of 100 ns.
const TICK_MS: f64 = 1e-4;

/// If the last event arrived before its stamp, the true speed is higher than measured.
fn margin(timeline: &Timeline<'_>, margins: &mut Vec<ErrorMargin>) {
    let Some(speed) = tokens_per_s(timeline) else { return };
    let ends = e2e::from_sent(timeline).zip(e2e::width_of_last(timeline));
    let above = ends.map_or(0.0, |(measured, width)| {
        speed * measured / (measured - width).max(TICK_MS.min(measured)) - speed
    });
    margins.push(ErrorMargin { below: 0.0, above, weight: 1.0 });
}
