//! ICL: inter-chunk latency, the gaps between the arrivals of token events. Gaps are not divided by tokens.

use super::{
    Definition, Equals, ErrorBound, ErrorMargin, JudgedOn, Statistic, Timeline, TokenEvent, Value,
    itl,
};
use crate::stats::Weighted;

/// ICL: one value for each gap between token events.
pub static DEFINITION: Definition = Definition {
    name: "icl",
    formula: "each gap between token events",
    notes: "Equals ITL if each event has one token. Pooled over the events of all requests. Absent \
            without streaming, if it is unknown where tokens without an event lie, and in a pass with \
            more than 10 % of its streams in bundles.",
    version: 2,
    source: "AIPerf's name; vLLM, SGLang and EvalScope report it as ITL.",
    value: Value::Pooled(icl_ms),
    equals: Some(Equals { metric: &itl::DEFINITION, of: is_one_token_each }),
    title: "ICL",
    result_key: "icl_ms",
    of_gaps: true,
    when_reasoning: &[Statistic::P50],
    judged: JudgedOn::OnPasses,
    bound: Some(ErrorBound { key: None, of: margin }),
    ..Definition::DEFAULT
};

/// Whether each event after the first one has one token.
fn is_one_token_each(timeline: &Timeline<'_>) -> bool {
    timeline.events.iter().skip(1).all(|event| event.tokens == 1.0)
}

/// Appends each gap between token events, in milliseconds.
pub fn icl_ms(timeline: &Timeline<'_>, gaps: &mut Vec<Weighted>) {
    gaps.extend(
        timeline
            .with_known_gaps()
            .windows(2)
            .map(|pair| Weighted { value: pair[1].arrival.ms_after(pair[0].arrival), weight: 1.0 }),
    );
}

/// If the later event arrived before its stamp, the true gap is smaller than measured. If the earlier event arrived
/// before its stamp, the true gap is larger.
fn margin(timeline: &Timeline<'_>, margins: &mut Vec<ErrorMargin>) {
    let of = |pair: &[TokenEvent]| ErrorMargin {
        below: pair[1].width_ms,
        above: pair[0].width_ms,
        weight: 1.0,
    };
    margins.extend(timeline.with_known_gaps().windows(2).map(of));
}
