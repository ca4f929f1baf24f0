//! Decodes server-sent events by the WHATWG rules (HTML Living Standard, 9.2.6). The bytes may be cut at any
//! position. The decoder never reconnects, so the fields `id` and `retry` have no effect.
//!
//! Lines end with LF, CR or CR LF, and a leading BOM is dropped. As in the standard, bytes that are not UTF-8
//! become U+FFFD, so an incomplete character does not make a stream malformed. Unlike in the standard, the last
//! message may end with the stream: [`Decoder::finish`] returns it.
//!
//! Servers send errors in two forms that the standard ignores: an `event: error` without data, whose text is
//! in a comment, and a field `error`. This decoder returns both as messages of the event `error`.

use std::borrow::Cow;

use memchr::memchr2;

/// The largest message that is accepted, in bytes.
pub const MAX_MESSAGE_BYTES: usize = 8 * 1024 * 1024;
const BOM: &[u8] = b"\xef\xbb\xbf";
/// The beginnings of lines of a stream.
const FIELDS: [&[u8]; 6] = [b"data:", b"event:", b"id:", b"retry:", b"error:", b":"];

/// The number of bytes that show whether a body is a stream.
const BEGINNING: usize = 64;

/// Whether a body that begins with these bytes is a stream of server-sent events; `None` if more bytes are needed.
pub(crate) fn begins_as_stream(bytes: &[u8]) -> Option<bool> {
    if BOM.starts_with(bytes) {
        return None;
    }
    let length = bytes.len();
    let bytes = bytes.strip_prefix(BOM).unwrap_or(bytes).trim_ascii_start();
    if FIELDS.iter().any(|field| bytes.starts_with(field)) {
        return Some(true);
    }
    // Otherwise, a body of white space would be stored to its end.
    let may_begin = FIELDS.iter().any(|field| field.starts_with(bytes)) && length < BEGINNING;
    (!may_begin).then_some(false)
}

/// The name of an error event, and of an error field.
const ERROR: &str = "error";

/// An item of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SseItem<'a> {
    /// A complete message: the empty line that ends it has arrived.
    Message {
        /// The value of the last `event` field, or `error` after a field `error`. Empty if the message has
        /// neither; the standard calls such an event `message`.
        event: &'a str,
        /// The values of the `data` and `error` fields of the message, joined by LF. For an error without
        /// these fields, the text of the last comment.
        data: &'a str,
    },
    /// A comment line.
    Comment,
}

/// Why a stream cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// A message, with its last comment, is longer than the limit.
    #[error("a server-sent message of more than {limit} bytes")]
    TooLong {
        /// The limit in bytes.
        limit: usize,
    },
}

/// Decodes one stream. Each stream needs a new decoder.
#[derive(Debug)]
pub struct Decoder {
    /// The bytes of an incomplete line.
    line: Vec<u8>,
    /// The data of the message so far, without a line that is still borrowed from the current read.
    data: String,
    has_data: bool,
    event: String,
    /// The last comment of the message. It is the error message if the event is an error without data.
    comment: String,
    /// Whether the last line ended with CR. A LF that follows belongs to the same line end.
    after_cr: bool,
    first_line: bool,
    limit: usize,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// A decoder at the beginning of a stream.
    pub fn new() -> Self {
        Self::with_limit(MAX_MESSAGE_BYTES)
    }

    /// A decoder that accepts messages of at most `limit` bytes.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            data: String::new(),
            has_data: false,
            event: String::new(),
            comment: String::new(),
            after_cr: false,
            first_line: true,
            limit,
        }
    }

    /// The memory that the decoder occupies, in bytes, without its fixed size.
    pub fn memory(&self) -> usize {
        let texts = [&self.data, &self.event, &self.comment];
        self.line.capacity() + texts.map(|text| text.capacity()).iter().sum::<usize>()
    }

    /// The value of the bytes of one read if they are exactly one message with one `data` line; `None` for other bytes,
    /// and after an incomplete message. The caller must make sure that the value has no line end. Such bytes need no
    /// call of [`Decoder::push`].
    pub fn only_line<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let Self { line, has_data, event, comment, after_cr, .. } = self;
        let is_new = line.is_empty() && !has_data && event.is_empty() && comment.is_empty();
        let value = bytes.strip_prefix(b"data: ")?.strip_suffix(b"\n\n")?;
        (is_new && !after_cr).then_some(value)
    }

    /// Decodes the bytes of one read. A message is passed to `sink` without a copy if it has one `data` line,
    /// and if this line and the end of the message are within these bytes.
    ///
    /// # Errors
    /// When a message is longer than the limit. The decoder cannot be used any more.
    pub fn push(
        &mut self,
        bytes: &[u8],
        sink: &mut impl FnMut(SseItem<'_>),
    ) -> Result<(), SseError> {
        let mut rest = bytes;
        // The only data line of the message so far, if it is complete within this read.
        let mut borrowed: Option<Cow<'_, str>> = None;
        while !rest.is_empty() {
            if std::mem::take(&mut self.after_cr) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', rest) else {
                self.line.extend_from_slice(rest);
                break;
            };
            self.after_cr = rest[end] == b'\r';
            let part = &rest[..end];
            rest = &rest[end + 1..];
            if self.line.is_empty() {
                let line = self.without_bom(part);
                if let Some(data) = self.take_line(line, &mut borrowed, sink) {
                    borrowed = Some(data);
                }
            } else {
                let mut whole = std::mem::take(&mut self.line);
                whole.extend_from_slice(part);
                self.check(whole.len())?;
                let line = self.without_bom(&whole);
                if let Some(data) = self.take_line(line, &mut borrowed, sink) {
                    self.append(&data);
                }
                // The next incomplete line uses this allocation again.
                whole.clear();
                self.line = whole;
            }
            self.check(borrowed.as_ref().map_or(0, |data| data.len()))?;
        }
        if let Some(data) = borrowed {
            self.append(&data);
        }
        self.check(self.line.len())
    }

    /// Must be called when the stream has ended. If it ended inside a message, calls `last` with the event and the data
    /// of this message, as if its last line were complete. The data are `None` if the message has none. The caller
    /// decides whether the end of the stream cut the message.
    pub fn finish(&mut self, last: &mut impl FnMut(&str, Option<&str>)) {
        let line = std::mem::take(&mut self.line);
        let is_field = !line.is_empty() && !line.starts_with(b":");
        let field = if is_field { self.without_bom(&line) } else { b"" };
        if is_field && let Some(data) = self.take_line(field, &mut None, &mut |_| {}) {
            self.append(&data);
        }
        let data = if self.has_data { Some(&*self.data) } else { None };
        let data = data.or(Some(&*self.comment).filter(|_| self.event == ERROR));
        if data.is_some() || is_field || !self.event.is_empty() {
            last(&self.event, data);
        }
    }

    fn without_bom<'a>(&mut self, line: &'a [u8]) -> &'a [u8] {
        let first = std::mem::replace(&mut self.first_line, false);
        if first { line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line) } else { line }
    }

    /// Handles one complete line. Returns the value of the first data line of a message, because only the
    /// caller knows whether this value can stay borrowed.
    fn take_line<'a>(
        &mut self,
        line: &'a [u8],
        borrowed: &mut Option<Cow<'_, str>>,
        sink: &mut impl FnMut(SseItem<'_>),
    ) -> Option<Cow<'a, str>> {
        if line.is_empty() {
            if let Some(data) = borrowed.take() {
                sink(SseItem::Message { event: &self.event, data: &data });
            } else if self.has_data {
                sink(SseItem::Message { event: &self.event, data: &self.data });
            } else if self.event == ERROR {
                sink(SseItem::Message { event: ERROR, data: &self.comment });
            }
            self.data.clear();
            self.has_data = false;
            self.event.clear();
            self.comment.clear();
            return None;
        }
        let (field, value) = match line.iter().position(|&byte| byte == b':') {
            Some(0) => {
                self.comment.clear();
                self.comment.push_str(text(&line[1..]).trim());
                sink(SseItem::Comment);
                return None;
            }
            Some(colon) => {
                let value = &line[colon + 1..];
                (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &line[line.len()..]),
        };
        match field {
            b"data" | b"error" => {
                if field == b"error" {
                    ERROR.clone_into(&mut self.event);
                }
                let value = text(value);
                let first = borrowed.is_none() && !self.has_data;
                if let Some(data) = borrowed.take() {
                    self.append(&data);
                }
                if first {
                    return Some(value);
                }
                self.append(&value);
            }
            b"event" => {
                self.event.clear();
                self.event.push_str(&text(value));
            }
            _ => {}
        }
        None
    }

    fn append(&mut self, value: &str) {
        if self.has_data {
            self.data.push('\n');
        }
        self.data.push_str(value);
        self.has_data = true;
    }

    fn check(&self, extra: usize) -> Result<(), SseError> {
        if self.data.len() + self.event.len() + self.comment.len() + extra > self.limit {
            return Err(SseError::TooLong { limit: self.limit });
        }
        Ok(())
    }
}

/// Converts bytes to text; invalid bytes become U+FFFD. Nearly all input is valid UTF-8, and the check for this
/// is faster than a conversion that replaces invalid bytes.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_bytes_decide_whether_a_body_is_a_stream() {
        for (bytes, expected) in [
            (&b"da"[..], None),
            (b"\xef\xbb", None),
            (b" \n", None),
            (b"\n\nevent: a", Some(true)),
            (b"{\"a\":1}", Some(false)),
            (&[b' '; BEGINNING], Some(false)),
        ] {
            assert_eq!(begins_as_stream(bytes), expected, "{bytes:?}");
        }
    }
}
