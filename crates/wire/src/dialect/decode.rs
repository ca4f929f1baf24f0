//! What a decoder of a dialect does, and what it may find in a message.

use crate::{ParsedResponse, http::Head};

/// Why a message was not decoded.
#[derive(Debug)]
pub(crate) enum Undecoded {
    /// It is neither output, a finish reason, usage, an error, nor another message that the dialect defines.
    NoOutput,
    /// It is an error of the server.
    Error,
    /// It is not JSON, does not have the form that the dialect requires, or contradicts earlier messages.
    Wrong(String),
}

/// A message that was decoded, or why it was not.
pub(crate) type Decoded = Result<(), Undecoded>;

/// Decodes the messages of one response.
///
/// A decoder calls methods of [`ParsedResponse`]. `text`, `reasoning` and `tool_call` add output, with the
/// number of its tokens if the message states this number. `usage` adds the token counts of the whole
/// response, and `finish` adds the finish reason. If a response may end without a finish reason, its decoder
/// sets `proper_end` instead. The caller handles everything that is the same in all dialects: messages without
/// output, errors, the end mark `[DONE]`, and output after the end.
pub(crate) trait Decode: Send {
    /// Called with the head of a successful response, before any message.
    fn head(&mut self, _head: &Head, _response: &mut ParsedResponse) {}

    /// Decodes one message of a stream.
    ///
    /// # Errors
    /// When the message has no content for the response.
    fn message(&mut self, data: &str, response: &mut ParsedResponse) -> Decoded;

    /// Decodes a message of a stream if it differs from an earlier one only in its text, which nearly every message does.
    /// Returns whether it did. Otherwise nothing has changed, and [`Decode::message`] must decode it. The bytes are the
    /// value of one line of the stream, and need not be UTF-8.
    fn again(&mut self, _data: &[u8], _response: &mut ParsedResponse) -> bool {
        false
    }

    /// Decodes a whole body that is not streamed. By default the body is one message. A dialect whose body
    /// has several parts overrides this method.
    ///
    /// # Errors
    /// When the body is not an answer.
    fn body(&mut self, body: &str, response: &mut ParsedResponse) -> Decoded {
        self.message(body, response)
    }

    /// Called after the last message of a response.
    fn end(&mut self, _response: &mut ParsedResponse) {}
}
