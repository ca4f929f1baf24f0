//! The body of a response: splits it into messages, has its dialect decode them, and handles what is the same in all
//! dialects.

use inferometer_model::{EventKind, Prompt, json::parsed_bytes};
use serde::de::IgnoredAny;

use crate::body_form::{Mismatch, delimited, mismatch};
use crate::dialect::{Decode, Dialect, Framing, Undecoded};
use crate::error::{ErrorSigns, MAX_QUOTED_BYTES, excerpt};
use crate::http::{Head, Piece};
use crate::skipped::{malformed, no_answer, undecoded};
use crate::sse::{Decoder, MAX_MESSAGE_BYTES, SseItem, begins_as_stream};
use crate::{ParsedResponse, error_message, server_times};

/// The maximum size of a body that is not a stream, in bytes.
pub const MAX_BODY_BYTES: usize = 32 * 1024 * 1024;
/// The maximum memory of a decoded message or of a decoded body, in bytes.
pub const MAX_DECODED_BYTES: usize = 128 * 1024 * 1024;
/// Messages of a stream with at most this many bytes are decoded without an estimate of their decoded size.
const SMALL_MESSAGE_BYTES: usize = 64 * 1024;
/// The end mark of OpenAI's APIs. Some servers send it in other APIs, too.
const END_MARK: &str = "[DONE]";

/// The kind of body that is being read.
pub(crate) enum Content {
    /// The head is not complete.
    Unknown,
    Sse(Decoder),
    /// The bytes of the incomplete message.
    Delimited(Vec<u8>),
    Whole(Vec<u8>),
    /// The body of an error status.
    Rejected(Vec<u8>),
    /// The body of a successful response that does not have the requested form.
    Unexpected(Mismatch, Vec<u8>),
}

impl Content {
    /// The memory of the stored bytes, in bytes.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Self::Unknown => 0,
            Self::Sse(decoder) => decoder.memory(),
            Self::Delimited(bytes)
            | Self::Whole(bytes)
            | Self::Rejected(bytes)
            | Self::Unexpected(_, bytes) => bytes.capacity(),
        }
    }
}

/// The part of the response inside the HTTP framing.
pub(crate) struct Body {
    /// The HTTP status; `None` before the head is complete.
    pub(crate) status: Option<u16>,
    /// The address to which the server redirects the request.
    pub(crate) location: Option<String>,
    pub(crate) content: Content,
    framing: Framing,
    decode: Box<dyn Decode>,
    pub(crate) parsed: ParsedResponse,
    /// Whether the rest of the response cannot be decoded.
    pub(crate) broken: bool,
    /// Whether the body ended inside a message.
    pub(crate) cut_message: bool,
}

impl Body {
    /// The body of the response to one request, before its first byte.
    pub(crate) fn new(dialect: &Dialect, prompt: &Prompt, stream: bool, keep_text: bool) -> Self {
        Self {
            status: None,
            location: None,
            content: Content::Unknown,
            framing: dialect.framing(stream),
            decode: dialect.decoder(prompt, stream),
            parsed: ParsedResponse::new(keep_text),
            broken: false,
            cut_message: false,
        }
    }

    pub(crate) fn piece(&mut self, piece: Piece<'_>) {
        if self.broken {
            return;
        }
        match piece {
            Piece::Head(head) => self.head(head),
            Piece::Body(bytes) => self.bytes(bytes),
            Piece::End => self.end(),
        }
    }

    fn head(&mut self, head: &Head) {
        self.status = Some(head.status);
        self.content = if !(200..300).contains(&head.status) {
            let redirects = (300..400).contains(&head.status);
            self.location = head.header("location").filter(|_| redirects).map(str::to_owned);
            Content::Rejected(Vec::new())
        } else {
            self.parsed.times(server_times::of_head(head));
            self.decode.head(head, &mut self.parsed);
            match self.framing {
                framing if let Some(mismatch) = mismatch(framing, head) => {
                    Content::Unexpected(mismatch, Vec::new())
                }
                Framing::Sse => Content::Sse(Decoder::new()),
                Framing::Delimited => Content::Delimited(Vec::new()),
                Framing::WholeBody => Content::Whole(Vec::new()),
            }
        };
    }

    fn bytes(&mut self, bytes: &[u8]) {
        let Self { decode, parsed, .. } = self;
        match &mut self.content {
            Content::Unknown => unreachable!("invariant: a body follows a head"),
            Content::Sse(decoder) => {
                if decoder.only_line(bytes).is_some_and(|data| decode.again(data, parsed)) {
                    return;
                }
                let result = decoder.push(bytes, &mut |item| sse_item(item, &mut **decode, parsed));
                if let Err(error) = result {
                    self.give_up(error.to_string());
                }
            }
            Content::Delimited(partial) => {
                let left = delimited(partial, bytes, |data| {
                    // An empty line that ends with CR LF arrives here as one CR.
                    if !data.trim().is_empty() {
                        message("", data, &mut **decode, parsed);
                    }
                });
                if left > MAX_MESSAGE_BYTES {
                    self.give_up(format!("a message of more than {MAX_MESSAGE_BYTES} bytes"));
                }
            }
            Content::Whole(body) => {
                if body.len() + bytes.len() > MAX_BODY_BYTES {
                    self.give_up(format!("a body of more than {MAX_BODY_BYTES} bytes"));
                } else {
                    body.extend_from_slice(bytes);
                }
            }
            Content::Unexpected(mismatch, begin) if mismatch.may_be_stream => {
                let all = [&**begin, bytes].concat();
                match begins_as_stream(&all) {
                    None => *begin = all,
                    Some(is_stream) => {
                        mismatch.may_be_stream = false;
                        begin.clear();
                        if is_stream {
                            self.content = Content::Sse(Decoder::new());
                        }
                        self.bytes(&all);
                    }
                }
            }
            Content::Rejected(body) | Content::Unexpected(_, body) => {
                let room = MAX_QUOTED_BYTES.saturating_sub(body.len());
                body.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
        }
    }

    fn end(&mut self) {
        let Self { decode, parsed, cut_message, .. } = self;
        match &mut self.content {
            Content::Unknown | Content::Rejected(_) => {}
            // The end of the body ends the last message, too, unless it cuts this message.
            Content::Sse(decoder) => decoder.finish(&mut |event, data| {
                let whole = |data: &&str| event == "error" || data.is_empty() || is_whole(data);
                match data.filter(whole) {
                    Some(data) => sse_item(SseItem::Message { event, data }, &mut **decode, parsed),
                    None => *cut_message = true,
                }
            }),
            Content::Delimited(partial) => {
                let last = String::from_utf8_lossy(partial);
                *cut_message = !last.trim().is_empty() && !is_whole(&last);
                if is_whole(&last) {
                    message("", &last, &mut **decode, parsed);
                }
            }
            Content::Whole(body) => {
                let body = std::mem::take(body);
                self.parsed.begin_message();
                match too_large_decoded(&body) {
                    Some(why) => self.parsed.malformed(why),
                    None => whole_body(&body, &mut *self.decode, &mut self.parsed),
                }
            }
            Content::Unexpected(Mismatch { why, .. }, body) => {
                if serde_json::from_slice(body).is_ok_and(|value| ErrorSigns::of(&value).is_error())
                {
                    let message = error_message(200, body, self.parsed.secrets());
                    self.parsed.server_error(message);
                } else {
                    let text = String::from_utf8_lossy(body);
                    let begins = excerpt(&text, self.parsed.secrets());
                    self.parsed.malformed(format!("{why}; it begins with {begins}"));
                }
            }
        }
        self.end_of_messages();
    }

    /// Is called once, after the last message.
    pub(crate) fn end_of_messages(&mut self) {
        self.decode.end(&mut self.parsed);
        self.parsed.count_reasoning();
    }

    pub(crate) fn give_up(&mut self, what: String) {
        self.parsed.malformed(what);
        self.broken = true;
    }
}

fn sse_item(item: SseItem<'_>, decode: &mut dyn Decode, parsed: &mut ParsedResponse) {
    match item {
        SseItem::Comment => parsed.event(EventKind::Comment),
        SseItem::Message { event, data } => {
            if event == "error" {
                parsed.begin_message();
                parsed.server_error(error_message(200, data.as_bytes(), parsed.secrets()));
            } else {
                message(event, data, decode, parsed);
            }
        }
    }
}

fn message(event: &str, data: &str, decode: &mut dyn Decode, parsed: &mut ParsedResponse) {
    if decode.again(data.as_bytes(), parsed) {
        return;
    }
    parsed.begin_message();
    if data.len() > SMALL_MESSAGE_BYTES
        && let Some(why) = too_large_decoded(data.as_bytes())
    {
        return parsed.malformed(format!("message {}: {why}", parsed.messages()));
    }
    if data.len() <= 2 * END_MARK.len() && data.trim() == END_MARK {
        if parsed.events.last().is_none_or(|last| last.kind != EventKind::Done) {
            parsed.done();
        }
        return;
    }
    let has_ended = parsed.done;
    if let Err(why) = decode.message(data, parsed) {
        undecoded(why, event, data, parsed);
    }
    if has_ended && parsed.take_back_output() {
        let why = Undecoded::Wrong("it comes after the end of the answer".to_owned());
        malformed(&why, data, parsed);
    }
}

fn whole_body(body: &[u8], decode: &mut dyn Decode, parsed: &mut ParsedResponse) {
    let body = String::from_utf8_lossy(body);
    if let Err(why) = decode.body(&body, parsed) {
        no_answer(&why, &body, parsed);
    }
}

/// Whether the data of a message without its end is whole: a cut JSON value cannot be parsed.
fn is_whole(data: &str) -> bool {
    data.trim() == END_MARK || serde_json::from_str::<IgnoredAny>(data).is_ok()
}

/// Returns why a message or a body is not decoded: its decoded JSON would need too much memory. `None` if it
/// is small enough. The length of the text does not decide this: a few bytes of JSON may need hundreds of
/// bytes of memory.
fn too_large_decoded(json: &[u8]) -> Option<String> {
    let most = MAX_DECODED_BYTES;
    (parsed_bytes(json) > most)
        .then(|| format!("JSON that needs more than {} MiB of memory when decoded", most >> 20))
}
