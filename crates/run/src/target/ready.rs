//! Data types for servers that are ready to be measured.

use inferometer_drive::Endpoint;
use inferometer_model::{Finding, Target};
use inferometer_net::{Address, http::client::Client, http::proxy::Proxy, tls::TlsClient};

use super::embedded::EmbeddedServer;

/// A server that is ready to be measured.
pub struct ReadyTarget {
    /// The address of the server, or of the proxy in front of it.
    pub address: Address,
    /// The proxy with a tunnel to the server, and the server's `host:port`; absent without a tunnel.
    pub tunnel: Option<(Proxy, String)>,
    /// The TLS settings for the server, if it uses TLS.
    pub tls: Option<TlsClient>,
    /// A client for requests outside of the measurement; absent if such requests are impossible, as on an
    /// in-memory network.
    pub server: Option<Client>,
    /// The dialect, path, headers and model of requests to the server.
    pub endpoint: Endpoint,
    /// The description of the server.
    pub target: Target,
    /// Findings from before the measurement.
    pub findings: Vec<Finding>,
    /// The embedded engine, if it is the server. It ends when this value is dropped.
    pub embedded: Option<EmbeddedServer>,
    /// The other servers that get requests of the same load. [`Target::servers`] has the names of all
    /// servers.
    pub others: Vec<OtherServer>,
}

/// One of the other servers that share the load.
pub struct OtherServer {
    /// The address of the server, or of the proxy in front of it.
    pub address: Address,
    /// The dialect, path, headers and model of requests to the server.
    pub endpoint: Endpoint,
    /// The TLS settings for the server, if it uses TLS.
    pub tls: Option<TlsClient>,
    /// A client for requests outside of the measurement.
    pub server: Option<Client>,
}
