//! Why a request got no usable response: one closed enum.

use std::io;

use inferometer_net::tls::{Distrust, distrust};
use inferometer_plan::Url;

/// Why a request got no usable response.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The name of the server cannot be resolved.
    #[error("{url}: the name cannot be resolved: {source}")]
    Resolve {
        /// The address as given.
        url: String,
        /// The system's reason.
        source: io::Error,
    },
    /// Nobody listens there, or the network is in the way.
    #[error("{url}: cannot connect: {source}")]
    Unreachable {
        /// The address as given.
        url: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The server's certificate is not trusted, or it does not speak TLS.
    #[error("{url}: no TLS connection: {source}{advice}")]
    NoTls {
        /// The address as given.
        url: String,
        /// What is wrong with it.
        source: io::Error,
        /// What to do, where that is known.
        advice: &'static str,
    },
    /// The connection broke or timed out.
    #[error("{url}{path}: no answer: {}", reason(source))]
    Broken {
        /// The address as given.
        url: String,
        /// The requested path.
        path: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The response is not HTTP, or not the JSON that was expected.
    #[error("{url}{path}: not an answer of a known server: {what}")]
    Garbled {
        /// The address as given.
        url: String,
        /// The requested path.
        path: String,
        /// What is wrong with it.
        what: String,
    },
    /// The server responded with an error status.
    #[error("{url}{path}: the server answered {status}: {message}")]
    Refused {
        /// The address as given.
        url: String,
        /// The requested path.
        path: String,
        /// The HTTP status.
        status: u16,
        /// The server's message.
        message: String,
    },
}

/// The system's reason. It has one code for a timeout and for a socket without data.
fn reason(source: &io::Error) -> String {
    match (source.kind(), source.raw_os_error()) {
        (io::ErrorKind::WouldBlock, Some(_)) => "it took too long".to_owned(),
        _ => source.to_string(),
    }
}

/// An error of the TLS handshake, with advice.
pub(super) fn no_tls(url: &Url, source: io::Error) -> ClientError {
    let advice = match distrust(&source) {
        Some(Distrust::UnknownAuthority) => {
            "; give the authority that vouches for it with --ca-cert"
        }
        Some(Distrust::OtherName) => "; use a name that its certificate is for",
        Some(Distrust::Other) | None => "",
    };
    ClientError::NoTls { url: url.to_string(), source, advice }
}
