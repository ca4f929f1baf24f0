//! Why a text is not the address of a server.

use crate::Url;

/// The longest path of a Unix socket that the kernel accepts, in bytes.
pub(super) const MAX_PATH: usize = 107;

/// Why a text is not the address of a server, as the rest of a sentence that begins with the text. It does not contain
/// a user name, a password or a query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the text says what the fields are")]
pub enum UrlError {
    /// The scheme is missing or unknown. The text may be this host.
    #[error("is not the address of a server; write it as http://{0}")]
    NoScheme(String),
    /// The address has a user or a password.
    #[error(
        "contains a user name or a password, which would be stored in results; use --header or --api-key-env"
    )]
    Password,
    /// The path has a character that no path has.
    #[error("has a space or a control character in its path")]
    Path,
    /// The address has a query.
    #[error("has a query; give the address of the server only")]
    Query,
    /// The address is that of the requests of a dialect.
    #[error(
        "is the path of requests, not the address of the server; give --target {url} --dialect {dialect}"
    )]
    Call { url: Box<Url>, dialect: String },
    /// The address is that of the requests of a dialect, and has a query.
    #[error(
        "is the path of requests, not the address of the server; give --target {url} --dialect {dialect} --model MODEL \
            --endpoint '{path}?...', with your query in place of the dots"
    )]
    CallWithQuery { url: Box<Url>, dialect: String, path: String },
    /// The brackets of an IPv6 address are not closed.
    #[error("has `[` without `]`")]
    Bracket,
    /// The host is missing or has a character that no host has.
    #[error("has no host; write it as http://127.0.0.1:8000")]
    Host,
    /// The port is wrong. The message does not contain it: it may be a password before an `@`.
    #[error("has a port that is not a number from 1 to 65535")]
    Port,
    /// The path of a Unix socket is escaped in a wrong way.
    #[error("has a % without two hexadecimal digits after it, or a path that is not UTF-8")]
    Percent,
    /// The path of a Unix socket is missing.
    #[error("has no path; write it as unix:/path/to.sock")]
    NoSocket,
    /// The path of a Unix socket is too long.
    #[error("has a path of more than {MAX_PATH} bytes, the maximum for a Unix socket")]
    LongSocket,
    /// The path of a Unix socket, or the prefix after it, has a wrong character.
    #[error("is not the address of a server; write it as unix:/path/to.sock")]
    Socket,
}
