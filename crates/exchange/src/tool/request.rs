//! A request as another tool recorded it, as a record of ours. Instants are those of that tool's
//! client, by its own clock.

use inferometer_model::outcome::{Outcome, Phase};
use inferometer_model::record::{Event, EventKind, Read, Record, detail};
use inferometer_model::time::Nanos;

/// The resolution of stored instants.
const TICK_NS: f64 = 100.0;

/// What another tool says of a request. Seconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    /// After any origin.
    pub start_s: f64,
    /// Arrival of the first chunk after the start, and the gaps to each further one.
    pub ttft_s: f64,
    pub gaps_s: Vec<f64>,
    /// The end after the start, where it is not that of the last chunk.
    pub end_s: Option<f64>,
    /// Tokens of each chunk, where the tool says so.
    pub tokens: Option<Vec<u32>>,
    pub input: Option<u32>,
    pub output: Option<u32>,
    /// How long it waited in the client before its start.
    pub queued_s: f64,
    /// Output tokens that the tool was to ask for.
    pub asked_output: u32,
    /// Why it failed, in the tool's words; absent for one that completed.
    pub error: Option<String>,
}

/// The record of a request; `origin_s` is where its axis begins.
pub(super) fn record(pass: u32, index: u32, told: &Told, origin_s: f64) -> Record {
    let start = instant(told.start_s - origin_s);
    let due = instant(told.start_s - origin_s - told.queued_s);
    let mut record = Record::planned(pass, index, due);
    record.picked = Some(start);
    record.send_start = Some(start);
    record.asked_input = told.input.unwrap_or(0);
    record.asked_output = told.asked_output;
    if let Some(words) = &told.error {
        let (outcome, rest) = outcome(words);
        record.outcome = outcome;
        record.detail = Some(detail(rest)).filter(|rest| !rest.is_empty());
        record.ended = Some(instant(told.start_s - origin_s + told.end_s.unwrap_or(0.0)));
        return record;
    }
    let mut after_s = told.start_s - origin_s + told.ttft_s;
    let mut arrivals = vec![instant(after_s)];
    for gap in &told.gaps_s {
        after_s += gap;
        arrivals.push(instant(after_s));
    }
    for (read, arrival) in (0_u32..).zip(&arrivals) {
        record.reads.push(Read { kernel: None, user: *arrival, empty_before: *arrival, bytes: 0 });
        let tokens = told.tokens.as_ref().and_then(|tokens| tokens.get(read as usize).copied());
        record.events.push(Event { read, kind: EventKind::Text, chars: 0, tokens });
    }
    let ended = told.end_s.map(|end| instant(told.start_s - origin_s + end));
    record.ended = ended.max(arrivals.last().copied());
    record.status = Some(200);
    record.outcome = Outcome::Complete;
    record.usage.prompt = told.input;
    record.usage.completion = told.output;
    record
}

fn instant(seconds: f64) -> Nanos {
    Nanos(((seconds.max(0.0) * 1e9 / TICK_NS).round() * TICK_NS) as u64)
}

/// A failure where a tool has a field for the words of an error: the outcome as JSON, and below it
/// what else is known.
pub(crate) fn failure_in_words(outcome: Outcome, detail: Option<&str>) -> String {
    let outcome = serde_json::to_string(&outcome).expect("invariant: outcomes are plain data");
    detail.map_or(outcome.clone(), |detail| format!("{outcome}\n{detail}"))
}

/// What became of a request that failed, and what else is said: exact where the words are ours, a
/// status line's or an exception's, else the outcome of what cannot be told.
fn outcome(words: &str) -> (Outcome, &str) {
    let words = words.trim();
    let (first, rest) = words.split_once('\n').unwrap_or((words, ""));
    if let Ok(outcome) = serde_json::from_str(first) {
        return (outcome, rest);
    }
    if let Some((status, _)) = PHRASES.iter().find(|(_, phrase)| *phrase == first.trim()) {
        return (Outcome::Rejected { status: *status }, words);
    }
    let last = words.lines().last().unwrap_or("");
    let exception = last.split([':', '(']).next().unwrap_or("").trim();
    let outcome = match exception.rsplit('.').next().unwrap_or("") {
        "ClientConnectorError" | "ConnectionRefusedError" => {
            Outcome::Connection { phase: Phase::Connect }
        }
        "ServerDisconnectedError" | "ConnectionResetError" | "ClientOSError" => {
            Outcome::Connection { phase: Phase::Total }
        }
        "ClientPayloadError" => Outcome::Truncated,
        "TimeoutError" | "ServerTimeoutError" => Outcome::TimedOut { phase: Phase::Total },
        "CancelledError" => Outcome::Cancelled,
        _ => Outcome::Malformed,
    };
    (outcome, words)
}

/// Reason phrases of status lines (RFC 9110, section 15), of those that servers refuse with.
const PHRASES: [(u16, &str); 14] = [
    (400, "Bad Request"),
    (401, "Unauthorized"),
    (403, "Forbidden"),
    (404, "Not Found"),
    (405, "Method Not Allowed"),
    (408, "Request Timeout"),
    (413, "Request Entity Too Large"),
    (413, "Content Too Large"),
    (422, "Unprocessable Entity"),
    (429, "Too Many Requests"),
    (500, "Internal Server Error"),
    (502, "Bad Gateway"),
    (503, "Service Unavailable"),
    (504, "Gateway Timeout"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_told_by_exact_words_or_not_at_all() {
        let own = Outcome::TimedOut { phase: Phase::FirstToken };
        for (words, expected) in [
            (failure_in_words(own, None), own),
            (failure_in_words(own, Some("no answer")), own),
            ("Too Many Requests".to_owned(), Outcome::Rejected { status: 429 }),
            (
                "Traceback (most recent call last):\n  File \"x.py\"\n\
                 aiohttp.client_exceptions.ServerDisconnectedError: Server disconnected"
                    .to_owned(),
                Outcome::Connection { phase: Phase::Total },
            ),
            (
                "asyncio.exceptions.TimeoutError".to_owned(),
                Outcome::TimedOut { phase: Phase::Total },
            ),
            ("something else".to_owned(), Outcome::Malformed),
        ] {
            assert_eq!(outcome(&words).0, expected, "{words}");
        }
        assert_eq!(outcome(&failure_in_words(own, Some("a\nb"))).1, "a\nb");
    }

    #[test]
    fn a_request_becomes_a_record_whose_arrivals_are_those_that_were_told() {
        let told = Told {
            start_s: 10.5,
            ttft_s: 0.02,
            gaps_s: vec![0.01, 0.005],
            input: Some(7),
            output: Some(3),
            ..Told::default()
        };
        let record = record(0, 4, &told, 10.0);
        let arrivals: Vec<u64> = record.reads.iter().map(|read| read.user.0 / 1_000).collect();
        assert_eq!(arrivals, [520_000, 530_000, 535_000]);
        assert_eq!(
            (record.picked, record.ended),
            (Some(Nanos(500_000_000)), Some(Nanos(535_000_000)))
        );
        assert_eq!(record.output_tokens().0, 3);
    }
}
