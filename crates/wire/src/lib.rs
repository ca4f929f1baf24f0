//! Protocols without I/O: this crate decodes bytes into events, and encodes requests into bytes.
//!
//! Nothing here opens a socket or reads a clock: the caller owns the connection and the times of reads.
//! Except for the index of their read, the events do not depend on how a stream is cut into reads.
//!
//! [`exchange`] reads one response from its first byte to its outcome. It uses [`http`] (framing), [`sse`]
//! (messages of a stream) and a [`dialect`] (request bodies and messages of an engine). The result is a
//! [`ParsedResponse`].

pub mod exchange;

pub mod http;
pub mod sse;

pub mod dialect;

mod body;
mod body_form;
mod calls;
mod error;
mod parsed_response;
mod server_times;
mod skipped;
pub mod structured;
mod think;

pub use error::{WireError, error_message};
pub use parsed_response::ParsedResponse;
