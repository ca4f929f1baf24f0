//! The load of a check, for the client and for the bare reader. Values only.

use std::net::SocketAddr;

/// Requests to the reference server.
#[derive(Clone, Debug)]
pub struct Load {
    /// The address on which the server listens.
    pub server: SocketAddr,
    /// The number of streams that are open at the same time.
    pub streams: u32,
    /// The total number of requests.
    pub requests: u32,
    /// Tokens of each stream.
    pub tokens: u32,
}

/// The load of the client.
#[derive(Clone, Debug)]
pub struct ClientLoad {
    /// The requests, as for the bare reader.
    pub load: Load,
    /// The arrival rate of an open loop, in requests per second; None for a closed loop.
    pub rate: Option<f64>,
    /// Whether the client repeats the requests to measure its errors, by comparing the arrival of
    /// every event with the true time.
    pub errors: bool,
}
