//! The load of a check, for the client and for the bare reader. This module contains only values.

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
    /// Tokens of the answer to each request.
    pub tokens: u32,
}

/// The load of the client.
#[derive(Clone, Debug)]
pub struct ClientLoad {
    /// The requests, as for the bare reader.
    pub load: Load,
    /// The arrival rate of an open loop, in requests per second; `None` for a closed loop.
    pub rate: Option<f64>,
    /// Whether the client sends the requests a second time to measure its errors. It then compares the
    /// arrival of every event with the send time of the server.
    pub errors: bool,
}
