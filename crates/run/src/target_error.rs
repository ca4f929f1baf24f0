//! Why a server cannot be measured.

use std::io;

use inferometer_model::url::UrlError;
use inferometer_net::http::client::ClientError;
use inferometer_plan::spec::limits::MAX_NAME;

/// How the user states the API of a server.
const NAMES_IT: &str = "name its API with --dialect (`inferometer list dialects` lists them)";

/// Why a server cannot be reached or started, or why it is not what the plan needs.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the text says what the fields are")]
pub enum TargetError {
    /// The server cannot be reached.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The server loads its model. `advice`: what to do, which begins with a semicolon; empty if the run waits.
    #[error("{url}: {what}{advice}")]
    Loading { url: String, what: String, advice: String },
    /// The server lists no model yet, and the plan names none.
    #[error("{0}: does not list a model yet")]
    NoModelYet(String),
    /// The server did not become ready in time.
    #[error("the server was not ready after {after_s:.0} s (--wait): {last}")]
    NeverReady { after_s: f64, last: Box<TargetError> },
    /// The calling program does not state its own path.
    #[error("server: Host::program is missing; this program guards the server")]
    NoGuard,
    /// A process of this program did not start as a server.
    #[error("{what}: {why}")]
    Process { what: String, why: ProcessError },
    /// The embedded engine listens at an address that is none.
    #[error(transparent)]
    Address(#[from] UrlError),
    /// The plan has no server.
    #[error("there is no server")]
    NoServer,
    /// The plan does not have the server at this address.
    #[error("{0}: the plan does not name this server")]
    NotInPlan(String),
    /// A tunnel reaches only one server.
    #[error(
        "target (--target): a tunnel through proxy {0} reaches only one server; for several servers, use --proxy none \
            or NO_PROXY"
    )]
    Tunnel(String),
    /// Servers that share one load differ.
    #[error(
        "target (--target): servers that share one load must be equal, but {} has {what} {} and {} has {}; give \
            {flag}, or measure them one after the other with [[target]]s",
        urls[0],
        values[0],
        urls[1],
        values[1]
    )]
    Unequal {
        /// The addresses.
        urls: Box<[String; 2]>,
        /// The property.
        what: &'static str,
        /// Its values.
        values: Box<[String; 2]>,
        /// The flag that states the property.
        flag: &'static str,
    },
    /// Two servers are one.
    #[error(
        "target (--target): {first} and {second} lead to the same address, {address}; each server needs a different \
            address"
    )]
    SameAddress { first: String, second: String, address: String },
    /// The server generates no text.
    #[error(
        "{url}: {engine} serves {serves}, no generated text: give --dialect openai-embeddings or --dialect rerank to \
            measure them, or a server that generates text"
    )]
    OtherKind { url: String, engine: String, serves: String },
    /// The server answers, but not like a known API.
    #[error("{0}: answers, but its API is not recognised; {NAMES_IT}")]
    UnknownApi(String),
    /// The server lists no models, and the address may be wrong.
    #[error("{url}: {what}. If the address is correct, {NAMES_IT} and its model with --model")]
    NotFound { url: String, what: String },
    /// The server answers with an error.
    #[error("{url}: {what}")]
    Unexpected { url: String, what: String },
    /// The model has the value of a header in its name.
    #[error(
        "{0}: the name of its model contains the value of a header; name the model with --model"
    )]
    SecretModel(String),
    /// The name of the model is too long.
    #[error(
        "{0}: the name of its model has more than {MAX_NAME} characters; give the name with --model"
    )]
    LongModel(String),
    /// The server lists no models. `why`: what it answers, in brackets; empty if it has no such list.
    #[error("{url}: lists no models{why}; name one with --model")]
    NoModels { url: String, why: String },
    /// The server lists several models.
    #[error("{url}: serves several models; choose one with --model: {listed}")]
    SeveralModels { url: String, listed: String },
}

/// Why a process of this program did not start as a server.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The operating system does not start the process.
    #[error("cannot be started: {0}")]
    Start(io::Error),
    /// The output of the process cannot be read.
    #[error("its output cannot be read: {0}")]
    Output(io::Error),
    /// The process ended.
    #[error("did not start; its own message is above")]
    Ended,
    /// The process printed something else than its address.
    #[error(transparent)]
    Address(UrlError),
}
