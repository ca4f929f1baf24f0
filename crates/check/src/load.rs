//! What the processes of a check do. This module contains only values.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// What a process of a check does. The command line passes it to the process as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The reference server. It sends the first token of a stream `first_us` microseconds after the request, and each
    /// further token `gap_us` microseconds after the previous token. If `gap_us` is 0, it sends as fast as it can.
    Server {
        /// Time until the first token, in microseconds.
        first_us: u64,
        /// Time between two tokens, in microseconds.
        gap_us: u64,
    },
    /// The bare reader.
    Reader(Load),
    /// The client.
    Client(ClientLoad),
    /// A run of this plan over a network in memory, in virtual time, to count its instructions.
    InMemory(serde_json::Value),
}

/// Requests to the reference server.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct ClientLoad {
    /// The requests, as for the bare reader.
    pub load: Load,
    /// The arrival rate of an open loop, in requests per second; `None` for a closed loop.
    pub rate: Option<f64>,
    /// Whether the client sends the requests a second time to measure its errors. It then compares the
    /// arrival of every event with the send time of the server.
    pub errors: bool,
}
