//! The HTTP front end: runs the engine in real time with the APIs of serving engines, and injects the configured
//! faults. `/engine/accounts` reports the true times of the newest finished requests, at most 100,000.

mod accounts;
mod api;
mod connection;
mod fault;
mod front;
mod latencies;
mod output;
mod words;

use std::{io::Write, net::SocketAddr, sync::Arc};

use inferometer_model::Tokenizer;
use inferometer_net::{EpollNet, Net, http::Server};

use crate::{Engine, EngineConfig, EngineError};

pub use fault::{Fault, FaultKind};
pub use front::Front;

/// The settings of the HTTP front end.
#[derive(Clone, Debug, PartialEq)]
pub struct FrontConfig {
    /// The model name that OpenAI requests must state, usually the hub id or name of the model.
    pub served_model_name: String,
    /// The faults to inject, and into which requests.
    pub faults: Vec<Fault>,
    /// The speed of the engine relative to the simulated hardware; with 2, steps take half of their duration.
    pub speed: f64,
    /// Tokens that a chat template adds to the contents of a chat.
    pub chat_overhead_tokens: u32,
    /// The model ends each text after a number of tokens that is uniformly distributed from 1 to this value, unless the
    /// request ignores the end of the text. If absent, the model never ends a text.
    pub end_of_text_within: Option<u32>,
    /// Whether streamed events state their send time: each event that is a JSON object, except the first event of a
    /// chat (which only announces the role) and errors. The send time is the last member of the object, `sent_ns`, in
    /// nanoseconds of the monotonic clock.
    pub send_instants: bool,
}

impl FrontConfig {
    /// A front end in real time, without faults.
    pub fn new(served_model_name: impl Into<String>) -> Self {
        Self {
            served_model_name: served_model_name.into(),
            faults: Vec::new(),
            speed: 1.0,
            chat_overhead_tokens: 8,
            end_of_text_within: None,
            send_instants: false,
        }
    }
}

/// Serves until the process ends. Prints `listening on http://ADDRESS` on stdout as soon as clients can connect.
///
/// # Errors
/// If the configuration is rejected, the server cannot listen on the address, the tokenizer fails, or an injected fault
/// ends the server.
pub fn serve(
    engine: EngineConfig,
    front: FrontConfig,
    tokenizer: Arc<dyn Tokenizer>,
    listen: SocketAddr,
) -> Result<(), EngineError> {
    let mut server = Server::new(Front::new(Engine::new(engine)?, front, tokenizer)?);
    let io = |error: std::io::Error| EngineError::Socket {
        address: listen.to_string(),
        reason: error.to_string(),
    };
    let mut net = EpollNet::new().map_err(io)?;
    let at = net.listen(listen).map_err(io)?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "listening on http://{at}").and_then(|()| stdout.flush()).map_err(io)?;
    net.run(&mut server).map_err(io)?;
    Err(EngineError::Died)
}
