//! TPOT: time per output token after the first event. The time is divided by tokens, not by events.

use super::{Definition, ErrorBound, ErrorMargin, JudgedOn, Live, Statistic, Timeline, Value, e2e};
use crate::stats::buckets::FURTHER_TOKEN_S;

/// TPOT: the time from the first visible event to the last event, per token after the first visible event.
pub static DEFINITION: Definition = Definition {
    name: "tpot",
    formula: "(last token event, or the finish reason as in E2E - event that ends TTFT) / (output tokens - output \
        tokens up to the end of TTFT)",
    notes: "Excludes tokens up to and including the event that ends TTFT, and tokens of hidden \
        reasoning, because TTFT covers their time. Absent if no event follows this event, if it is unknown \
        where tokens without an event lie, without streaming, and in a pass with more than 10 % of its \
        streams in bundles.",
    version: 2,
    source: "Inferometer; equals vLLM's TPOT if the first event has one token.",
    value: Value::Request(tpot_ms),
    title: "TPOT",
    result_key: "tpot_ms",
    of_classes: true,
    of_gaps: true,
    judged: JudgedOn::on_streams(tpot_or_nothing, |_| 0.0),
    in_tables: &[Statistic::P50, Statistic::P99],
    bound: Some(ErrorBound { key: Some("tpot_bound_us"), of: margin }),
    exported: Some(2),
    live: Some(Live {
        place: 2,
        family: "time_per_output_token_seconds",
        help: "Time per output token after the first event, of completed requests.",
        bounds_s: &FURTHER_TOKEN_S,
        watched: &[],
    }),
    ..Definition::DEFAULT
};

/// Milliseconds per output token after the first visible event; absent if no token follows it.
pub fn tpot_ms(timeline: &Timeline<'_>) -> Option<f64> {
    let (first, tokens) = tokens_after_first(timeline)?;
    let last = e2e::end_of_stream(timeline)?;
    Some(last.ms_after(timeline.events[first].arrival) / tokens)
}

/// The TPOT by which a request is judged. It is 0 if no token follows the first visible event, because then no
/// time between tokens can be too long.
fn tpot_or_nothing(timeline: &Timeline<'_>) -> Option<f64> {
    let is_known = !timeline.hidden.is_unknown;
    tpot_ms(timeline).or_else(|| timeline.first_visible().filter(|_| is_known).map(|_| 0.0))
}

/// The index of the event that ends TTFT, and the number of tokens after this event, by which TPOT is
/// divided.
fn tokens_after_first(timeline: &Timeline<'_>) -> Option<(usize, f64)> {
    let first = timeline.first_visible()?;
    if first + 1 == timeline.events.len() || timeline.hidden.is_unknown {
        return None;
    }
    let before: f64 = timeline.events[..=first].iter().map(|event| event.tokens).sum();
    let tokens = f64::from(timeline.output_tokens) - before;
    // A server's usage may be smaller than the tokens of its events. Then no tokens remain by which TPOT can be
    // divided.
    (tokens > 0.0).then_some((first, tokens))
}

/// If the last event arrived before its stamp, the true time is shorter than measured. If the first visible event
/// arrived before its stamp, the true time is longer.
fn margin(timeline: &Timeline<'_>, margins: &mut Vec<ErrorMargin>) {
    let Some((first, tokens)) = tokens_after_first(timeline) else { return };
    let last = e2e::width_of_last(timeline).unwrap_or(0.0);
    let (below, above) = (last / tokens, timeline.events[first].width_ms / tokens);
    margins.push(ErrorMargin { below, above, weight: 1.0 });
}
