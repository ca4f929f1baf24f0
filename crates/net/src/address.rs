//! Where a server listens: an IP address with a port, or a Unix socket.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// An IP address and a port.
    Internet(SocketAddr),
    /// The path of a Unix socket.
    Unix(Arc<Path>),
}

impl Address {
    /// Whether the address is local: a loopback address or a Unix socket.
    pub fn is_here(&self) -> bool {
        match self {
            Self::Internet(address) => address.ip().is_loopback(),
            Self::Unix(_) => true,
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self::Internet(address)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Internet(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}
