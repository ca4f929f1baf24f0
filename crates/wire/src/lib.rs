//! Protocols without I/O: they turn bytes into events, and requests into bytes.
//!
//! Nothing here opens a socket or reads a clock: the caller takes the times of reads and owns the connection.
//! The events are the same wherever a stream is cut into reads.
//!
//! [`exchange`] reads one response from its first byte to its outcome. It uses [`http`] (framing),
//! [`sse`] (messages of a stream) and a [`dialect`] (request bodies and messages of an engine), and
//! fills a [`ParsedResponse`].

pub mod exchange;

pub mod http;
pub mod sse;

pub mod dialect;

mod body_form;
mod error;
mod parsed_response;

pub use error::{WireError, error_message};
pub use parsed_response::ParsedResponse;
