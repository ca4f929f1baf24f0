//! HTTP/1.1 for everything except the load generator: the server side of all our endpoints, a blocking
//! client, and Prometheus text. The contents of the endpoints are in other crates: the engine, the metrics,
//! the pages of the dashboard.
//!
//! - [`Server`] runs a [`Handler`] as an actor over a [`crate::Net`]: it accepts connections,
//!   parses requests, applies [`Limits`] and writes. The embedded engine, the reference server and the
//!   dashboard are handlers, so all of them can run over sockets and in virtual time.
//! - [`pages`] has a handler for read-only sites: [`pages::Pages`] map a request target to a response.
//! - [`client`] sends one blocking request at a time, never while a pass is measured on the same
//!   thread.
//! - [`proxy`] decides which proxy is used for a server, and opens tunnels.
//! - [`relay`] passes requests on to a server, and shows both sides.
//! - [`prometheus`] writes and reads the text format of `/metrics`.

mod connection;
mod connections;
mod limits;
mod server;
mod write_buffer;

pub mod client;
pub mod pages;
pub mod prometheus;
pub mod proxy;
pub mod relay;

pub use connection::Connection;
pub use connections::Connections;
pub use limits::{Limits, Timeouts};
pub use server::{Handler, Server, answer_waiting};
pub use write_buffer::WriteBuffer;
