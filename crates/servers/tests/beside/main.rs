//! Requests outside of a measurement, over real sockets.
#![expect(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

mod local;
mod probe;
mod support;
#[path = "../../../cli/tests/end_to_end/tiny_server.rs"]
mod tiny_server;
mod tokenize;
