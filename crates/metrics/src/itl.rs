//! ITL: inter-token latency, right under bundled chunks and speculation. Never a chunk gap.

use inferometer_stats::Weighted;

use super::{Definition, Direction, Judged, Over, Timeline, Unit, Value};

/// ITL.
pub static DEFINITION: Definition = Definition {
    name: "itl",
    formula: "each gap between token events / tokens of the later one, once per such token",
    unit: Unit::Milliseconds,
    origin: None,
    direction: Some(Direction::Lower),
    over: Over::Completed,
    notes: "Pooled over the tokens of all requests, so that long outputs weigh more. A gap \
            before an event without tokens goes to the next event with some. Absent without \
            streaming.",
    source: "Inferometer; SGLang's native backend spreads gaps likewise, vLLM reports ICL.",
    version: 1,
    value: Value::Pooled(itl_ms),
    title: "ITL",
    result_key: Some("itl_ms"),
    of_classes: false,
    judged: Judged::OnPasses,
};

/// Appends each gap in milliseconds per token, weighted by the tokens it was spread over. The
/// sum of value x weight is the time from the first token event to the last with tokens.
pub fn itl_ms(timeline: &Timeline<'_>, gaps: &mut Vec<Weighted>) {
    let Some((first, later)) = timeline.events.split_first() else { return };
    let mut previous = first.arrival;
    for event in later.iter().filter(|event| event.tokens > 0.0) {
        let gap_ms = event.arrival.ms_after(previous);
        gaps.push(Weighted { value: gap_ms / event.tokens, weight: event.tokens });
        previous = event.arrival;
    }
}
