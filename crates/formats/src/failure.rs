//! The error text of a failed request, for result files that have one text field for an error.
//! `export` writes this text and `import` reads it.

use inferometer_model::{Outcome, Phase};

/// Returns the text of a failure: a line with the outcome as JSON, then the detail, if there is one.
pub(crate) fn to_text(outcome: Outcome, detail: Option<&str>) -> String {
    let outcome = serde_json::to_string(&outcome)
        .expect("invariant: an outcome can always be written as JSON");
    detail.map_or(outcome.clone(), |detail| format!("{outcome}\n{detail}"))
}

/// Returns the outcome of a failed request and its detail, without space at its ends. If [`to_text`] wrote
/// the text, both are the original values; a missing detail becomes an empty text. A text of another program
/// gives the whole text as the detail. Its outcome follows from an HTTP reason phrase in the first line, or
/// from the name of a Python exception in the last line; any other text gives [`Outcome::Malformed`].
pub(crate) fn from_text(text: &str) -> (Outcome, &str) {
    let text = text.trim();
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    if let Ok(outcome) = serde_json::from_str(first) {
        return (outcome, rest);
    }
    // SGLang writes the body of the answer after the phrase.
    let is_it = |phrase: &str| {
        let rest = first.trim().strip_prefix(phrase);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    };
    if let Some((status, _)) = PHRASES.iter().find(|(_, phrase)| is_it(phrase)) {
        return (Outcome::Rejected { status: *status }, text);
    }
    // httpx, the HTTP client of GuideLLM: "Server error '503 Service Unavailable' for url ...".
    let code = text.split_once(" error '").and_then(|(_, rest)| rest.get(..3)?.parse().ok());
    if let Some(status) = code.filter(|status| (400..600).contains(status)) {
        return (Outcome::Rejected { status }, text);
    }
    let last = text.lines().last().unwrap_or("");
    let exception = last.split([':', '(']).next().unwrap_or("").trim();
    let outcome = match exception.rsplit('.').next().unwrap_or("") {
        "ClientConnectorError" | "ConnectionRefusedError" | "ConnectError" => {
            Outcome::Connection { phase: Phase::Connect }
        }
        "ServerDisconnectedError" | "ConnectionResetError" | "ClientOSError" | "ReadError" => {
            Outcome::Connection { phase: Phase::Total }
        }
        "ClientPayloadError" | "RemoteProtocolError" => Outcome::Truncated,
        "TimeoutError" | "ServerTimeoutError" | "ReadTimeout" | "ConnectTimeout" => {
            Outcome::TimedOut { phase: Phase::Total }
        }
        "CancelledError" => Outcome::Cancelled,
        _ => Outcome::Malformed,
    };
    (outcome, text)
}

/// HTTP status codes and usual reason phrases of responses that reject a request. The phrases are those of
/// RFC 9110, section 15, and of older standards.
const PHRASES: [(u16, &str); 15] = [
    (400, "Bad Request"),
    (401, "Unauthorized"),
    (403, "Forbidden"),
    (404, "Not Found"),
    (405, "Method Not Allowed"),
    (408, "Request Timeout"),
    (413, "Request Entity Too Large"),
    (413, "Content Too Large"),
    (422, "Unprocessable Entity"),
    (422, "Unprocessable Content"),
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
    fn a_known_failure_text_is_parsed_to_its_outcome_and_an_unknown_one_to_malformed() {
        let own = Outcome::TimedOut { phase: Phase::FirstToken };
        for (text, expected) in [
            (to_text(own, None), own),
            (to_text(own, Some("no answer")), own),
            ("Too Many Requests".to_owned(), Outcome::Rejected { status: 429 }),
            ("Unprocessable Content".to_owned(), Outcome::Rejected { status: 422 }),
            ("Service Unavailable: {\"code\":503}".to_owned(), Outcome::Rejected { status: 503 }),
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
            (
                "HTTPStatusError(\"Server error '503 Service Unavailable' for url 'http://x'\")"
                    .to_owned(),
                Outcome::Rejected { status: 503 },
            ),
            (
                "RemoteProtocolError('peer closed connection without sending complete message body \
                 (incomplete chunked read)')"
                    .to_owned(),
                Outcome::Truncated,
            ),
            ("something else".to_owned(), Outcome::Malformed),
        ] {
            assert_eq!(from_text(&text).0, expected, "{text}");
        }
        assert_eq!(from_text(&to_text(own, Some("a\nb"))).1, "a\nb");
    }
}
