//! The load that the client and the bare reader of a check play. Values only.

use std::net::SocketAddr;

/// Requests to the server of known truth.
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

/// The load that the client plays, and how.
#[derive(Clone, Debug)]
pub struct ClientLoad {
    /// The requests, as for the bare reader.
    pub load: Load,
    /// The arrival rate of an open loop, in requests per second; absent: a closed loop.
    pub rate: Option<f64>,
    /// Whether the client plays the requests once more to measure its errors: it compares the arrival
    /// of every event with the truth.
    pub errors: bool,
}
