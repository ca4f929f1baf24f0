//! What can go wrong in serving pages at all: one closed enum. What goes wrong with one page is
//! that page's own response.

use std::io;

/// Why pages are not served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be listened on.
    #[error("{address}: {reason}{advice}")]
    Listen {
        /// The address that was asked for.
        address: String,
        /// What the operating system says.
        reason: String,
        /// What to do, where that is known.
        advice: &'static str,
    },
    /// A token that others could guess.
    #[error(
        "{variable}: its token has {found} characters and may have letters, digits, '-' and '_' \
         only, {least} at the least; unset it to get a random one"
    )]
    WeakToken {
        /// The variable that holds it.
        variable: String,
        /// How many it has.
        found: usize,
        /// How many it must have.
        least: usize,
    },
    /// The operating system gives no random bytes.
    #[error("no random token can be made: /dev/urandom: {0}")]
    Random(io::Error),
    /// Sockets cannot be waited for any more.
    #[error("the sockets cannot be waited for: {0}")]
    Sockets(io::Error),
}
