//! Converts a request that another tool recorded into a record. The instants come from the clock of the
//! tool's client.

use inferometer_model::record::{Event, Read, detail};
use inferometer_model::{EventKind, Nanos, Outcome, Record};

use crate::failure;

/// The resolution of stored instants, in nanoseconds.
const TICK_NS: f64 = 100.0;

/// A request as another tool recorded it. Times are in seconds.
#[derive(Clone, Debug, Default)]
pub(super) struct ToolRequest {
    /// The start of the request, from an arbitrary origin.
    pub start_s: f64,
    /// The time from the start to the arrival of the first chunk.
    pub ttft_s: f64,
    /// The gap before each further chunk.
    pub gaps_s: Vec<f64>,
    /// The time from the start to the end; absent if the request ended with its last chunk.
    pub end_s: Option<f64>,
    /// Whether the answer was not streamed: it came in one piece at its end, and `ttft_s` is not a TTFT.
    pub is_whole: bool,
    /// The number of tokens in each chunk, if it is known.
    pub tokens: Option<Vec<u32>>,
    pub input: Option<u32>,
    pub output: Option<u32>,
    /// The time in the client's queue before the start.
    pub queued_s: f64,
    /// The requested number of output tokens.
    pub asked_output: u32,
    /// The tool's error text; absent for a request that completed.
    pub error: Option<String>,
}

/// Returns the record of a request. Its instants count from `origin_s`.
pub(super) fn record(pass: u32, index: u32, request: &ToolRequest, origin_s: f64) -> Record {
    let start = instant(request.start_s - origin_s);
    let due = instant(request.start_s - origin_s - request.queued_s);
    let mut record = Record::planned(pass, index, due);
    record.picked = Some(start);
    record.send_start = Some(start);
    record.asked_input = request.input.unwrap_or(0);
    record.asked_output = request.asked_output;
    if let Some(words) = &request.error {
        let (outcome, rest) = failure::from_text(words);
        record.outcome = outcome;
        record.detail = (!rest.is_empty()).then(|| detail(rest).into());
        record.ended = Some(instant(request.start_s - origin_s + request.end_s.unwrap_or(0.0)));
        return record;
    }
    let mut after_s = request.start_s - origin_s + request.ttft_s;
    let mut arrivals = vec![instant(after_s)];
    for gap in &request.gaps_s {
        after_s += gap;
        arrivals.push(instant(after_s));
    }
    for (read, arrival) in (0_u32..).zip(&arrivals) {
        record.reads.push(Read { kernel: None, user: *arrival, empty_before: *arrival, bytes: 0 });
        let tokens = request.tokens.as_ref().and_then(|tokens| tokens.get(read as usize).copied());
        record.events.push(Event { read, kind: EventKind::Text, chars: 0, tokens });
    }
    let ended = request.end_s.map(|end| instant(request.start_s - origin_s + end));
    record.ended = ended.max(arrivals.last().copied());
    record.status = Some(200);
    record.streamed = !request.is_whole;
    record.outcome = Outcome::Complete;
    record.usage.prompt = request.input;
    record.usage.completion = request.output;
    record
}

fn instant(seconds: f64) -> Nanos {
    Nanos(((seconds.max(0.0) * 1e9 / TICK_NS).round() * TICK_NS) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_imported_request_becomes_a_record_with_the_token_arrival_times_of_the_file() {
        let request = ToolRequest {
            start_s: 10.5,
            ttft_s: 0.02,
            gaps_s: vec![0.01, 0.005],
            input: Some(7),
            output: Some(3),
            ..ToolRequest::default()
        };
        let record = record(0, 4, &request, 10.0);
        let arrivals: Vec<u64> = record.reads.iter().map(|read| read.user.0 / 1_000).collect();
        assert_eq!(arrivals, [520_000, 530_000, 535_000]);
        assert_eq!(
            (record.picked, record.ended),
            (Some(Nanos(500_000_000)), Some(Nanos(535_000_000)))
        );
        assert_eq!(record.output_tokens().0, 3);
    }
}
