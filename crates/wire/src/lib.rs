//! Protocols without I/O: bytes in, events out, and requests made into bytes.
//!
//! Nothing here opens a socket, reads a clock or keeps what it was given longer than it must:
//! whoever feeds these parsers stamps the reads and owns the connection. Whatever way a stream is
//! cut into reads, the events are the same.
//!
//! From the outside in: [`exchange`] reads one response from its first byte to its verdict. It
//! stands on [`http`] (framing), [`sse`] (messages of a stream) and a [`dialect`] (what the
//! messages of an engine mean, and the requests that it takes), and fills an [`Answer`].

pub mod exchange;

pub mod http;
pub mod sse;

pub mod dialect;

mod answer;
mod error;

pub use answer::Answer;
pub use error::{WireError, error_message};
