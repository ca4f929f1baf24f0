//! The length of a body, from the header fields (RFC 9112, section 6.3).

use super::HttpError;

/// How the end of a body is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyLength {
    /// The body has this number of bytes.
    Known(u64),
    /// The body consists of chunks, and ends with the last chunk.
    Chunked,
    /// No field states the length. A response then ends when the connection closes, and a request has no
    /// body.
    Unstated,
}

/// Reads `Transfer-Encoding` and `Content-Length`. `Transfer-Encoding` overrides `Content-Length`. These are
/// errors: any transfer coding except one `chunked`; a content length that is not a number; two different
/// content lengths, except after a `Transfer-Encoding`.
pub(super) fn body_length(headers: &[(String, String)]) -> Result<BodyLength, HttpError> {
    let mut length = BodyLength::Unstated;
    for (name, value) in headers {
        if name.eq_ignore_ascii_case("transfer-encoding") {
            if length == BodyLength::Chunked || !value.trim().eq_ignore_ascii_case("chunked") {
                let (field, what) = ("transfer-encoding", "only one `chunked` is supported");
                return Err(HttpError::Length { field, value: value.clone(), what });
            }
            length = BodyLength::Chunked;
        } else if name.eq_ignore_ascii_case("content-length") {
            for part in value.split(',') {
                let stated = content_length(part)?;
                match length {
                    BodyLength::Chunked => {}
                    BodyLength::Known(before) if before != stated => {
                        let (field, what) = ("content-length", "two lengths that differ");
                        let value = format!("{before}, {stated}");
                        return Err(HttpError::Length { field, value, what });
                    }
                    _ => length = BodyLength::Known(stated),
                }
            }
        }
    }
    Ok(length)
}

fn content_length(text: &str) -> Result<u64, HttpError> {
    let text = text.trim();
    // `parse` alone would accept a leading `+`.
    if text.bytes().all(|byte| byte.is_ascii_digit())
        && let Ok(length) = text.parse()
    {
        return Ok(length);
    }
    let (field, what) = ("content-length", "not a number of bytes");
    Err(HttpError::Length { field, value: text.to_owned(), what })
}
