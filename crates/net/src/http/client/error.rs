//! The errors of the blocking client.

use std::io;

use inferometer_model::Url;

use super::protocol::HTTP1_IS_NEEDED;
use crate::tls::{TlsFailure, tls_failure};

/// Why a request got no usable response.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the text says what the fields are")]
pub enum ClientError {
    /// The name of the server cannot be resolved.
    #[error("{url}: the name cannot be resolved: {source}")]
    Resolve { url: String, source: io::Error },
    /// The connection cannot be opened: for example, no program listens at the address, or no route leads to
    /// it.
    #[error("{url}: cannot connect: {source}")]
    Unreachable { url: String, source: io::Error },
    /// The proxy for the server cannot be used.
    #[error("{url}: {what}")]
    Proxy { url: String, what: String },
    /// The TLS connection failed: for example, the server's certificate is not trusted. `advice`: the advice, which
    /// begins with a semicolon; empty if there is no advice.
    #[error("{url}: no TLS connection: {what}{advice}")]
    NoTls { url: String, what: String, advice: String },
    /// The server uses another protocol than its address states, or than this client supports. `speaks`: what the
    /// server does, such as `uses TLS` or `does not use HTTP/1.1`.
    #[error("{url}: the server {speaks} at this address; {advice}")]
    OtherProtocol { url: String, speaks: &'static str, advice: String },
    /// The connection broke or timed out.
    #[error("{url}{path}: no answer: {}", reason(source))]
    Broken { url: String, path: String, source: io::Error },
    /// The response is not HTTP, not the JSON that was expected, incomplete or too large.
    #[error("{url}{path}: not a valid answer: {what}")]
    Garbled { url: String, path: String, what: String },
    /// The server responded with an error status.
    #[error("{url}{path}: the server answered {status}: {message}")]
    Refused { url: String, path: String, status: u16, message: String },
}

/// The message of an I/O error. A timeout has its own text, because the text of the system for this error
/// code describes a non-blocking socket without data.
pub(super) fn reason(source: &io::Error) -> String {
    match (source.kind(), source.raw_os_error()) {
        (io::ErrorKind::WouldBlock, Some(_)) => "it took too long".to_owned(),
        _ => source.to_string(),
    }
}

/// The error for a failed TLS connection, with advice if its cause is known.
pub(super) fn no_tls(url: &Url, source: io::Error) -> ClientError {
    match tls_failure(&source) {
        Some(TlsFailure::NotTls) => ClientError::OtherProtocol {
            url: url.to_string(),
            speaks: "does not use TLS",
            advice: format!("give {} as the target", Url { secure: false, ..url.clone() }),
        },
        Some(TlsFailure::NoHttp1) => ClientError::OtherProtocol {
            url: url.to_string(),
            speaks: "does not use HTTP/1.1",
            advice: HTTP1_IS_NEEDED.to_owned(),
        },
        Some(tls_failure) => {
            let advice = format!("; {}", tls_failure.advice());
            ClientError::NoTls { url: url.to_string(), what: tls_failure.in_words(), advice }
        }
        None => {
            let what = match source.kind() {
                io::ErrorKind::UnexpectedEof => {
                    "the server closed the connection during the TLS handshake; check whether it \
                        uses TLS at this address"
                        .to_owned()
                }
                _ => reason(&source),
            };
            ClientError::NoTls { url: url.to_string(), what, advice: String::new() }
        }
    }
}
