//! The errors that prevent serving a site. They do not include the failure of a single page: the response of
//! this page states the failure.

use std::io;

/// Why pages are not served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The server cannot listen on the address.
    #[error("{address}: {reason}{advice}")]
    Listen {
        /// The address that was requested.
        address: String,
        /// The reason that the operating system states.
        reason: String,
        /// What to do; empty if that is not known.
        advice: &'static str,
    },
    /// The token that the user chose is too short, or has a character that is not allowed.
    #[error(
        "{variable}: the token has {found} characters; it must have at least {least}, and only \
            letters, digits, '-' and '_'; unset the variable to get a random token"
    )]
    WeakToken {
        /// The environment variable that contains the token.
        variable: String,
        /// How many characters the token has.
        found: usize,
        /// How many characters the token must have at least.
        least: usize,
    },
    /// The operating system gives no random bytes.
    #[error("cannot make a random token: /dev/urandom: {0}")]
    Random(io::Error),
    /// The event loop over the sockets fails.
    #[error("cannot wait for the sockets: {0}")]
    Sockets(io::Error),
}
