//! The form of a body: whether the body has the requested form, and where its messages end. Messages are not
//! decoded here.

use memchr::memchr2;

use crate::{dialect::Framing, http::Head};

/// Calls `message` for each message that ends with NUL or LF and is not empty. Both bytes are safe as ends,
/// because a JSON string contains them only as escapes. The incomplete message at the end is stored in
/// `partial`. Returns its length in bytes.
pub(crate) fn delimited(
    partial: &mut Vec<u8>,
    bytes: &[u8],
    mut message: impl FnMut(&str),
) -> usize {
    let mut rest = bytes;
    while let Some(end) = memchr2(0, b'\n', rest) {
        let part = &rest[..end];
        rest = &rest[end + 1..];
        if partial.is_empty() {
            if !part.is_empty() {
                message(&String::from_utf8_lossy(part));
            }
        } else {
            partial.extend_from_slice(part);
            message(&String::from_utf8_lossy(partial));
            partial.clear();
        }
    }
    partial.extend_from_slice(rest);
    partial.len()
}

/// How the header fields of a response differ from those of the requested form.
pub(crate) struct Mismatch {
    /// The difference in words.
    pub(crate) why: String,
    /// Whether only the media type differs from that of server-sent events. Servers and proxies send such streams with
    /// other types, too, so the first bytes of the body decide.
    pub(crate) may_be_stream: bool,
}

/// Checks the header fields of a successful response; `None` if they fit, or if `content-type` is missing.
pub(crate) fn mismatch(framing: Framing, head: &Head) -> Option<Mismatch> {
    if let Some(coding) = head.header("content-encoding")
        && !coding.trim().eq_ignore_ascii_case("identity")
    {
        let why = format!("the body has content-encoding {coding:?}, which was not requested");
        return Some(Mismatch { why, may_be_stream: false });
    }
    let media_type = head.header("content-type")?.split(';').next()?.trim().to_ascii_lowercase();
    let (requested, fits) = match framing {
        Framing::Sse => ("a stream of server-sent events", media_type == "text/event-stream"),
        Framing::Delimited => (
            "a stream of JSON messages",
            !["text/html", "text/event-stream", "application/json"].contains(&&*media_type),
        ),
        Framing::WholeBody => {
            ("one JSON body", !["text/html", "text/event-stream"].contains(&&*media_type))
        }
    };
    let may_be_stream = framing == Framing::Sse;
    let advice = match may_be_stream && media_type == "application/json" {
        true => " (--no-stream measures a server that sends no streams)",
        false => "",
    };
    (!fits).then(|| Mismatch {
        why: format!(
            "{requested} was requested, but the server answered with {media_type}{advice}"
        ),
        may_be_stream,
    })
}
