//! ICL: inter-chunk latency, the gaps between the arrivals of token events. Gaps are not divided by tokens.

use inferometer_stats::Weighted;

use super::{Definition, Timeline, Value};

/// ICL: one value for each gap between token events.
pub static DEFINITION: Definition = Definition {
    name: "icl",
    formula: "each gap between token events",
    notes: "Equals ITL if each event has one token. Pooled over the events of all requests. Absent \
            without streaming.",
    source: "AIPerf's name; vLLM, SGLang and EvalScope report it as ITL.",
    value: Value::Pooled(icl_ms),
    title: "ICL",
    ..Definition::DEFAULT
};

/// Appends each gap between token events, in milliseconds.
pub fn icl_ms(timeline: &Timeline<'_>, gaps: &mut Vec<Weighted>) {
    gaps.extend(
        timeline
            .events
            .windows(2)
            .map(|pair| Weighted { value: pair[1].arrival.ms_after(pair[0].arrival), weight: 1.0 }),
    );
}
