//! Servers that are ready to be measured, as values.

use inferometer_drive::Endpoint;
use inferometer_http::client::Client;
use inferometer_http::proxy::Proxy;
use inferometer_model::finding::Finding;
use inferometer_model::target::Target;
use inferometer_net::Address;
use inferometer_net::tls::TlsClient;

use crate::embedded_server::EmbeddedServer;

/// A server that is ready to be measured.
pub struct ReadyTarget {
    /// Where it listens, or the proxy that leads to it.
    pub address: Address,
    /// The proxy that leads to it by a tunnel, and the server's `host:port`.
    pub tunnel: Option<(Proxy, String)>,
    /// How TLS is spoken to it, if it is.
    pub tls: Option<TlsClient>,
    /// Asks it questions beside the measurement; absent where there is nobody to ask, as on a
    /// network in memory.
    pub server: Option<Client>,
    /// How its requests are made.
    pub endpoint: Endpoint,
    /// What it says of itself.
    pub target: Target,
    /// What was found on the way.
    pub findings: Vec<Finding>,
    /// The embedded engine, which ends with this value.
    pub embedded: Option<EmbeddedServer>,
    /// The servers beside it that get requests of the same load; [`Target::servers`] names all.
    pub others: Vec<OtherServer>,
}

/// A server beside the first.
pub struct OtherServer {
    /// Where it listens, or the proxy that leads to it.
    pub address: Address,
    /// How its requests are made.
    pub endpoint: Endpoint,
    /// How TLS is spoken to it, if it is.
    pub tls: Option<TlsClient>,
    /// Asks it questions beside the measurement.
    pub server: Option<Client>,
}
