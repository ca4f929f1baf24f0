//! The errors that prevent serving a site. They do not include the failure of a single page: the response of
//! this page states the failure.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

/// Why pages are not served.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the text says what the fields are")]
pub enum ServeError {
    /// The server cannot listen on the address.
    #[error("{address}: {reason}{advice}")]
    Listen { address: String, reason: String, advice: &'static str },
    /// The token that the user chose is too short, or has a character that is not allowed.
    #[error(
        "{variable}: the token has {found} characters; it must have at least {least}, and only \
            letters, digits, '-' and '_'; unset the variable to get a random token"
    )]
    WeakToken { variable: String, found: usize, least: usize },
    /// The operating system gives no random bytes.
    #[error("cannot make a random token: /dev/urandom: {0}")]
    Random(io::Error),
    /// The event loop over the sockets fails.
    #[error("cannot wait for the sockets: {0}")]
    Sockets(io::Error),
}

impl ServeError {
    /// The error of listening on an address.
    pub(in crate::http) fn listen(address: SocketAddr, error: &io::Error) -> Self {
        let advice = match error.kind() {
            ErrorKind::AddrInUse => ": another program listens there; choose another port, or 0",
            ErrorKind::PermissionDenied => {
                ": ports below 1024 need privileges; choose a higher port"
            }
            ErrorKind::AddrNotAvailable => {
                ": this machine does not have that address; choose another"
            }
            _ => "",
        };
        Self::Listen { address: address.to_string(), reason: error.to_string(), advice }
    }
}
