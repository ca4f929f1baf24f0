//! Where a server listens: an IP address with a port, or a Unix socket.

use std::{net::SocketAddr, path::Path, sync::Arc};

use derive_more::{Display, From};

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq, Display, From)]
pub enum Address {
    /// An IP address and a port.
    #[from]
    Internet(SocketAddr),
    /// The path of a Unix socket.
    #[display("unix:{}", _0.display())]
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
