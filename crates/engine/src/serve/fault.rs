//! Faults that can be injected into requests. This file only parses faults.

use crate::EngineError;

/// The kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// `error-event`: an error inside a stream with status 200, then the usual end. Without streaming, an error 500.
    ErrorEvent,
    /// `cut`: the connection is closed in the middle of the answer.
    Cut,
    /// `reset`: the connection is reset in the middle of the answer.
    Reset,
    /// `stall`: nothing is sent after the middle of the answer.
    Stall,
    /// `status=N`: an error status (400 to 599) instead of an answer.
    Status(u16),
    /// `garbage`: bytes that are not HTTP, instead of an answer.
    Garbage,
    /// `malformed`: broken JSON in the middle of the answer.
    Malformed,
    /// `bundle=N`: N tokens in each event.
    Bundle(u32),
    /// `comments`: a comment before each event.
    Comments,
    /// `halves`: every second event has an empty text, and the next event has the text of both, as if each token were
    /// half of a character.
    Halves,
    /// `close`: the connection is closed after the complete answer, although the response head does not announce it.
    Close,
    /// `slow-headers=MS`: nothing is sent for MS milliseconds.
    SlowHeaders(u32),
    /// `spike=MS`: in the middle of the answer, nothing is sent for MS milliseconds; then the delayed tokens are sent
    /// together.
    Spike(u32),
    /// `linger=MS`: if its client leaves, the engine goes on with the request for MS milliseconds.
    Linger(u32),
    /// `refuse`: the process ends before it answers; later connections are refused.
    Refuse,
    /// `die`: the process ends in the middle of the answer.
    Die,
}

/// A fault of one request, or of all requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind of fault.
    pub kind: FaultKind,
    /// The number of the affected request. Requests that generate text are counted from 1. Absent if all these requests
    /// are affected.
    pub request: Option<u64>,
}

const EXPECTED: &str = "must be error-event, cut, reset, stall, status=N (400 to 599), garbage, malformed, \
    bundle=N, comments, halves, close, slow-headers=MS, spike=MS, linger=MS, refuse or die, and may end in @N for the Nth request";

impl Fault {
    /// Parses `KIND`, `KIND=VALUE`, `KIND@REQUEST` or `KIND=VALUE@REQUEST`.
    ///
    /// # Errors
    /// If the text has none of these forms.
    pub fn parse(text: &str) -> Result<Self, EngineError> {
        let error = || EngineError::Fault { found: text.to_owned(), expected: EXPECTED.to_owned() };
        let (spec, request) = match text.split_once('@') {
            Some((spec, number)) => (spec, Some(number.parse().map_err(|_| error())?)),
            None => (text, None),
        };
        if request == Some(0) {
            return Err(error());
        }
        let (name, value) = match spec.split_once('=') {
            Some((name, value)) => (name, Some(value.parse::<u32>().map_err(|_| error())?)),
            None => (spec, None),
        };
        let kind = match (name, value) {
            ("error-event", None) => FaultKind::ErrorEvent,
            ("cut", None) => FaultKind::Cut,
            ("reset", None) => FaultKind::Reset,
            ("stall", None) => FaultKind::Stall,
            ("garbage", None) => FaultKind::Garbage,
            ("malformed", None) => FaultKind::Malformed,
            ("comments", None) => FaultKind::Comments,
            ("halves", None) => FaultKind::Halves,
            ("close", None) => FaultKind::Close,
            ("refuse", None) => FaultKind::Refuse,
            ("die", None) => FaultKind::Die,
            ("status", Some(code @ 400..=599)) => FaultKind::Status(code as u16),
            ("bundle", Some(tokens @ 1..)) => FaultKind::Bundle(tokens),
            ("slow-headers", Some(ms)) => FaultKind::SlowHeaders(ms),
            ("linger", Some(ms)) => FaultKind::Linger(ms),
            ("spike", Some(ms)) => FaultKind::Spike(ms),
            _ => return Err(error()),
        };
        Ok(Self { kind, request })
    }

    /// Whether the fault applies to the request with this number, from 1.
    pub fn applies_to(&self, request: u64) -> bool {
        self.request.is_none_or(|only| only == request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_parsed_into_a_kind_an_optional_value_and_an_optional_request() {
        for (text, kind, request) in [
            ("error-event@3", FaultKind::ErrorEvent, Some(3)),
            ("stall", FaultKind::Stall, None),
            ("status=503@1", FaultKind::Status(503), Some(1)),
            ("bundle=5", FaultKind::Bundle(5), None),
            ("slow-headers=250@2", FaultKind::SlowHeaders(250), Some(2)),
            ("spike=40", FaultKind::Spike(40), None),
        ] {
            assert_eq!(Fault::parse(text), Ok(Fault { kind, request }), "{text}");
        }
    }

    #[test]
    fn an_invalid_fault_is_refused_with_the_list_of_faults() {
        for text in ["", "explode", "cut@0", "cut@x", "status", "status=200", "bundle=0", "cut=1"] {
            let message = Fault::parse(text).unwrap_err().to_string();
            assert!(message.contains("error-event"), "{text}: {message}");
        }
    }

    #[test]
    fn a_fault_with_a_request_number_applies_to_this_request_only() {
        let third = Fault::parse("cut@3").unwrap();
        assert!(third.applies_to(3) && !third.applies_to(2));
        assert!(Fault::parse("cut").unwrap().applies_to(17));
    }
}
