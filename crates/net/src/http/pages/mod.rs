//! Read-only sites: pages as functions from a request target to a response, and the handler that serves them
//! to browsers and programs. This module writes no file and generates no page.

mod access;
mod error;
mod handler;
mod response;
mod serve;
mod target;

pub use access::ReaderAccess;
pub use error::ServeError;
pub use handler::{PageHandler, Pages};
pub use response::{Body, Event, Response};
pub use serve::serve;
pub use target::{RequestTarget, link};
