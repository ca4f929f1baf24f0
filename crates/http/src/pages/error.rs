//! Why a site cannot be served: one closed enum. An error of one page is that page's own response.

use std::io;

/// Why pages are not served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be listened on.
    #[error("{address}: {reason}{advice}")]
    Listen {
        /// The address that was requested.
        address: String,
        /// What the operating system says.
        reason: String,
        /// What to do; empty if that is not known.
        advice: &'static str,
    },
    /// A token that others could guess.
    #[error(
        "{variable}: the token has {found} characters; it must have at least {least}, and only \
            letters, digits, '-' and '_'; unset the variable to get a random token"
    )]
    WeakToken {
        /// The variable that contains it.
        variable: String,
        /// How many characters it has.
        found: usize,
        /// How many characters it must have.
        least: usize,
    },
    /// The operating system gives no random bytes.
    #[error("cannot make a random token: /dev/urandom: {0}")]
    Random(io::Error),
    /// The event loop over the sockets fails.
    #[error("cannot wait for the sockets: {0}")]
    Sockets(io::Error),
}
