//! Writes heads and chunks as bytes. Header fields of the caller replace default fields of the same name.

/// The chunk that ends a chunked body.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// The response to a request with `Expect: 100-continue`. The client waits for this response before it sends
/// the body.
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// The head of a request. `authority` is the value of the `Host` field. `content_length` announces a body, as
/// JSON unless `headers` has another content type. Bytes of the path that are not visible ASCII are
/// percent-encoded, so that the path cannot end the request line. Names and values of `headers` are written
/// unchanged.
pub fn request_head(
    method: &str,
    path: &str,
    authority: &str,
    headers: &[(String, String)],
    content_length: Option<usize>,
) -> Vec<u8> {
    let given = |name: &str| headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
    let mut head = format!("{method} {} HTTP/1.1\r\n", visible_ascii(path));
    let mut field = |name: &str, value: &str| {
        head.extend([name, ": ", value, "\r\n"]);
    };
    if !given("host") {
        field("Host", authority);
    }
    for (name, value) in headers {
        field(name, value);
    }
    if let Some(length) = content_length {
        if !given("content-type") {
            field("Content-Type", "application/json");
        }
        field("Content-Length", &length.to_string());
    }
    head.push_str("\r\n");
    head.into_bytes()
}

/// Percent-encodes every byte of a path that is not visible ASCII. A sequence such as `%20` does not change.
fn visible_ascii(path: &str) -> String {
    encoded(path, |byte| byte.is_ascii_graphic())
}

/// Encodes a text as one segment of a path: everything except letters, digits and `-._~` is percent-encoded.
pub fn path_segment(text: &str) -> String {
    encoded(text, |byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
}

fn encoded(text: &str, is_kept: impl Fn(u8) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if is_kept(byte) { out.push(char::from(byte)) } else { out += &format!("%{byte:02X}") }
    }
    out
}

/// The head of a response, with the usual reason phrase. The phrase is empty for rare statuses.
pub fn response_head(status: u16, headers: &[(&str, &str)]) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
    for (name, value) in headers {
        head.extend([name, ": ", value, "\r\n"]);
    }
    head.push_str("\r\n");
    head.into_bytes()
}

/// Appends data as one chunk. Empty data is skipped, because an empty chunk would end the body.
pub fn write_chunk(out: &mut Vec<u8>, data: &[u8]) {
    if data.is_empty() {
        return;
    }
    out.extend_from_slice(format!("{:x}\r\n", data.len()).as_bytes());
    out.extend_from_slice(data);
    out.extend_from_slice(b"\r\n");
}

/// The reason phrases of RFC 9110 and RFC 6585 for the statuses that the servers of this program use. Empty
/// for other statuses.
fn reason(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        200 => "OK",
        204 => "No Content",
        303 => "See Other",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "",
    }
}
