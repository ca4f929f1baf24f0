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
    /// Its address, or that of the proxy that leads to it.
    pub address: Address,
    /// The proxy that tunnels to it, and the server's `host:port`.
    pub tunnel: Option<(Proxy, String)>,
    /// How to use TLS with it, if it is used.
    pub tls: Option<TlsClient>,
    /// A client for questions besides the measurement; absent if nothing can be asked, as on a network in
    /// memory.
    pub server: Option<Client>,
    /// How its requests are made.
    pub endpoint: Endpoint,
    /// What it states about itself.
    pub target: Target,
    /// Findings from before the measurement.
    pub findings: Vec<Finding>,
    /// The embedded engine, which ends when this value is dropped.
    pub embedded: Option<EmbeddedServer>,
    /// The other servers that get requests of the same load; [`Target::servers`] names all.
    pub others: Vec<OtherServer>,
}

/// A server besides the first.
pub struct OtherServer {
    /// Its address, or that of the proxy that leads to it.
    pub address: Address,
    /// How its requests are made.
    pub endpoint: Endpoint,
    /// How to use TLS with it, if it is used.
    pub tls: Option<TlsClient>,
    /// A client for questions besides the measurement.
    pub server: Option<Client>,
}
