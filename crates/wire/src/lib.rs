//! Protocols without I/O: bytes in, events out, and requests made into bytes.
//!
//! Nothing here opens a socket or reads a clock: the caller stamps the reads and owns the connection.
//! However a stream is cut into reads, the events are the same.
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
