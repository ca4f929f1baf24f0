//! The bytes of a streamed response: one chunk per token. The text of a token is its send time. The load generator
//! parses this text with the same code as any other text. The rest of the chunk is the same for all tokens, as with
//! real servers. This file sends nothing.

use inferometer_model::Nanos;
use inferometer_wire::http::{LAST_CHUNK, response_head, write_chunk};

/// The number of digits of an instant in nanoseconds, enough for 300 years after the start of the machine.
const DIGITS: usize = 19;
/// The bytes of the text of a token: a space and the digits.
const TEXT_BYTES: usize = DIGITS + 1;

/// The chunk of a token. Only the digits of the send time change from token to token.
pub(crate) struct Frame {
    bytes: Vec<u8>,
    /// The index of the first digit in `bytes`.
    digits_at: usize,
}

impl Frame {
    /// The chunk for the tokens of a request. The id in the chunk contains `request`, the number of the request.
    pub fn new(request: u64) -> Self {
        let zeros = "0".repeat(DIGITS);
        let event = format!(
            "data: {{\"id\":\"cmpl-{request:08x}\",\"object\":\"text_completion\",\
             \"created\":1700000000,\"model\":\"truth\",\"choices\":[{{\"index\":0,\
             \"text\":\" {zeros}\",\"logprobs\":null,\"finish_reason\":null}}]}}\n\n"
        );
        let mut bytes = Vec::new();
        write_chunk(&mut bytes, event.as_bytes());
        let digits_at = memchr::memmem::find(&bytes, zeros.as_bytes());
        Self { digits_at: digits_at.expect("invariant: the chunk contains the zeros"), bytes }
    }

    /// Writes a send time into the chunk and returns the bytes of the chunk.
    pub fn stamped(&mut self, at: Nanos) -> &[u8] {
        let mut rest = at.0;
        for digit in self.bytes[self.digits_at..self.digits_at + DIGITS].iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        &self.bytes
    }
}

/// The response head, which precedes the first chunk.
pub(crate) fn head() -> Vec<u8> {
    let headers = [("content-type", "text/event-stream"), ("transfer-encoding", "chunked")];
    response_head(200, &headers)
}

/// The chunks after the last token: finish reason, usage, `[DONE]` and the end of the body.
pub(crate) fn end(prompt_tokens: usize, tokens: u32) -> Vec<u8> {
    let events = format!(
        "data: {{\"choices\":[{{\"index\":0,\"text\":\"\",\"finish_reason\":\"length\"}}]}}\n\n\
         data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":{prompt_tokens},\
         \"completion_tokens\":{tokens}}}}}\n\ndata: [DONE]\n\n"
    );
    let mut bytes = Vec::new();
    write_chunk(&mut bytes, events.as_bytes());
    bytes.extend_from_slice(LAST_CHUNK);
    bytes
}

/// The send times in a stream's text; `None` if the text is not from this server.
pub(crate) fn instants(text: &str) -> Option<Vec<Nanos>> {
    let parts = text.as_bytes().chunks(TEXT_BYTES).map(|part| {
        let digits = part.strip_prefix(b" ").filter(|digits| digits.len() == DIGITS)?;
        std::str::from_utf8(digits).ok()?.parse().ok().map(Nanos)
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_written_into_a_frame_is_parsed_back_from_its_text() {
        let mut frame = Frame::new(1);
        for at in [0, 1_234_567_890_123, u64::MAX / 4] {
            let bytes = frame.stamped(Nanos(at)).to_vec();
            let text = &bytes[frame.digits_at - 1..][..TEXT_BYTES];
            let text = std::str::from_utf8(text).unwrap().repeat(2);
            assert_eq!(instants(&text), Some(vec![Nanos(at); 2]));
        }
        assert_eq!(instants(" 12"), None);
        assert_eq!(instants("the text of another server's"), None);
    }
}
