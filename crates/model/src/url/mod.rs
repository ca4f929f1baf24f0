//! The address of a server: its type, and how it is parsed.

mod error;
mod parse;
mod percent;
mod unix;

pub use error::UrlError;
pub use parse::{parse_url, shown_address};
pub use percent::percent_decoded;

use serde::{Deserialize, Serialize};

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Url {
    /// Whether the server uses TLS.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secure: bool,
    /// Host name or address, IPv6 without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// A path before the dialect's own path, without a final slash; usually empty.
    pub prefix: String,
    /// The path of the Unix socket on which the server listens; absent: the server listens on a TCP port.
    /// With a Unix socket, host and port are used only for the `host` field of requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unix: Option<String>,
}

impl std::fmt::Display for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.unix {
            Some(path) if self.prefix.is_empty() => return write!(f, "unix:{path}"),
            Some(path) => {
                let path = path.replace('%', "%25").replace('/', "%2F");
                return write!(f, "http+unix://{path}{}", self.prefix);
            }
            None => {}
        }
        let scheme = if self.secure { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.prefix)
    }
}

impl Url {
    /// A server without TLS and without a path.
    pub fn plain(host: impl Into<String>, port: u16) -> Self {
        Self { secure: false, host: host.into(), port, prefix: String::new(), unix: None }
    }

    /// A server on a Unix socket.
    pub fn unix(path: impl Into<String>, prefix: impl Into<String>) -> Self {
        Self { unix: Some(path.into()), prefix: prefix.into(), ..Self::plain("localhost", 80) }
    }

    /// Whether both addresses name the same server with the same protocol. The prefixes may differ.
    pub fn is_same_server(&self, other: &Self) -> bool {
        let place = |url: &Self| (url.secure, url.authority(), url.unix.clone());
        place(self) == place(other)
    }

    /// The value of the `host` field of a request. It contains the port only if the port is not the default
    /// port of HTTP or HTTPS.
    pub fn host_field(&self) -> String {
        let authority = self.authority();
        let usual = if self.secure { ":443" } else { ":80" };
        authority.strip_suffix(usual).unwrap_or(&authority).to_owned()
    }

    /// `host:port`, with brackets around an IPv6 address.
    pub fn authority(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }
}
