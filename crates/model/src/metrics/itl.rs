//! ITL: inter-token latency. The gap before an event is divided by the tokens of the event, so that bundled
//! chunks and speculative decoding are counted correctly.

use super::{Definition, ErrorBound, ErrorMargin, JudgedOn, Live, Statistic, Timeline, Value};
use crate::{stats::Weighted, stats::buckets::FURTHER_TOKEN_S};

/// ITL: the gap before each token after the first token event.
pub static DEFINITION: Definition = Definition {
    name: "itl",
    formula: "each gap between two token events / tokens of the later event; one value per token \
        of the later event",
    notes: "Pooled over the tokens of all requests, so long outputs have more weight. A gap before \
        an event without tokens is added to the next event with tokens. Absent without streaming, \
        if it is unknown where tokens without an event lie, and in a pass with more than 10 % of its \
        streams in bundles.",
    version: 2,
    source: "Inferometer; SGLang's native backend spreads gaps in the same way, vLLM reports ICL.",
    value: Value::Pooled(itl_ms),
    title: "ITL",
    result_key: "itl_ms",
    of_gaps: true,
    judged: JudgedOn::OnPasses,
    in_tables: &[Statistic::P50, Statistic::P99],
    bound: Some(ErrorBound { key: Some("itl_bound_us"), of: margin }),
    live: Some(Live {
        place: 1,
        family: "inter_token_latency_seconds",
        help: "Gaps between token events, divided by the tokens of the later event and counted once \
            for each of these tokens.",
        bounds_s: &FURTHER_TOKEN_S,
        watched: &[Statistic::P50, Statistic::P99],
    }),
    ..Definition::DEFAULT
};

/// Appends each gap in milliseconds per token, weighted by the number of tokens over which the gap is spread.
/// The sum of value x weight is the time from the first token event to the last event with tokens.
pub fn itl_ms(timeline: &Timeline<'_>, gaps: &mut Vec<Weighted>) {
    let Some((first, later)) = timeline.with_known_gaps().split_first() else { return };
    let mut previous = first.arrival;
    for event in later.iter().filter(|event| event.tokens > 0.0) {
        let gap_ms = event.arrival.ms_after(previous);
        gaps.push(Weighted { value: gap_ms / event.tokens, weight: event.tokens });
        previous = event.arrival;
    }
}

/// If the later event arrived before its stamp, the true gap is smaller than measured. If the earlier event arrived
/// before its stamp, the true gap is larger.
fn margin(timeline: &Timeline<'_>, margins: &mut Vec<ErrorMargin>) {
    let Some((first, later)) = timeline.with_known_gaps().split_first() else { return };
    let mut before = first.width_ms;
    for event in later.iter().filter(|event| event.tokens > 0.0) {
        let (below, above) = (event.width_ms, std::mem::replace(&mut before, event.width_ms));
        let [below, above] = [below, above].map(|width_ms| width_ms / event.tokens);
        margins.push(ErrorMargin { below, above, weight: event.tokens });
    }
}
