//! What the client and the bare reader of a check are asked to do.

use std::net::SocketAddr;

/// Requests to a server of known truth.
#[derive(Clone, Debug)]
pub struct Load {
    /// Where the server listens.
    pub server: SocketAddr,
    /// Streams at a time.
    pub streams: u32,
    /// Requests in all.
    pub requests: u32,
    /// Tokens of each.
    pub tokens: u32,
}

/// What the client is asked to do.
#[derive(Clone, Debug)]
pub struct ClientLoad {
    /// The requests.
    pub load: Load,
    /// Requests per second, instead of a closed loop.
    pub rate: Option<f64>,
    /// Play them once more and compare every event with the truth.
    pub errors: bool,
}
