//! Steps before the measurement that may take long.

use derive_more::Display;
use inferometer_model::CellPlan;
use serde::Serialize;

/// A step before the measurement that may take long.
#[derive(Clone, Debug, PartialEq, Serialize, Display)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum SlowStep {
    /// The server of the plan starts.
    #[display("starting the server")]
    Start,
    /// Servers that run are asked what they are.
    #[display(
        "identifying the {} at {}",
        if urls.len() == 1 { "server" } else { "servers" },
        urls.join(", ")
    )]
    Identify {
        /// Their addresses.
        urls: Vec<String>,
    },
    /// The server is asked for its tokenizer.
    #[display("checking whether the server has a tokenizer API (/tokenize, /detokenize)")]
    FindTokenizer,
    /// The first requests are sent.
    #[display(
        "sending first short requests, to learn what the server adds to a prompt and how fast it is"
    )]
    FirstRequests,
    /// A request is sent from which the time of the run is estimated.
    #[display("sending a request with a long prompt, to estimate the time of the run")]
    LongPrompt,
    /// A prompt is made.
    #[display(
        "making a first prompt for {cell}{}",
        if *asks_server { " with the server's tokenizer (/tokenize)" } else { "" }
    )]
    FirstPrompt {
        /// The cell of the prompt.
        cell: CellPlan,
        /// Whether the server counts its tokens.
        asks_server: bool,
    },
}
