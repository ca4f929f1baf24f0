//! Recognises the protocol of a server that does not use HTTP/1.1, by the first bytes of its answer. This
//! module does no I/O.

/// The advice for a server that does not offer HTTP/1.1.
pub(super) const HTTP1_IS_NEEDED: &str =
    "only HTTP/1.1 is supported; let the server, or the gateway in front of it, offer HTTP/1.1";

/// A protocol that is not HTTP/1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Other {
    Tls,
    Http2,
}

/// The protocol of an answer that begins with these bytes; `None` if it is unknown.
pub(super) fn other_protocol(begins: &[u8]) -> Option<Other> {
    match begins {
        // A TLS alert: the server regards a request in plain text as a broken handshake.
        [0x15, 0x03, ..] => Some(Other::Tls),
        // A frame of HTTP/2 on stream 0: SETTINGS (4) opens a connection, GOAWAY (7) ends it. The first three
        // bytes of a frame are its length.
        [0, _, _, 4 | 7, _, 0, 0, 0, 0, ..] => Some(Other::Http2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_and_http_2_are_recognised_by_the_first_bytes_of_the_server() {
        for (begins, other) in [
            (&b"\x15\x03\x03\x00\x02\x02\x46"[..], Some(Other::Tls)),
            (b"\0\0\x12\x04\0\0\0\0\0\0\x03", Some(Other::Http2)),
            (b"\0\0\x08\x07\0\0\0\0\0\0\0", Some(Other::Http2)),
            (b"SSH-2.0-OpenSSH_9.2", None),
            (b"", None),
        ] {
            assert_eq!(other_protocol(begins), other, "{begins:?}");
        }
    }
}
