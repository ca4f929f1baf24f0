//! Servers as processes. This module starts servers, waits until they are ready, watches them, and ends them
//! with all their descendants, even if this program is killed.
//!
//! A server is never a child of the measuring process. Between these two processes is a *guard*: a second process of
//! this program. The measuring process keeps the guard's standard input open. The guard is the parent of the
//! server and, as a subreaper, of every orphan among the server's descendants, in any session. When its input
//! ends, the guard ends all of them. The kernel closes the input even if the measuring process is killed.
//!
//! How a server is started and ended does not depend on its dialect or on the measurement. During a pass, the
//! guard only reads `/proc` and reports the resource use every two seconds, and writes the log.

mod error;
mod event;
mod log;
mod marks;
mod phases;
mod tree;

pub mod guard;

mod server;

pub mod preset;

pub use error::LaunchError;
pub use event::{ServerExit, Usage};
pub use server::{LaunchedServer, ReadyWait, ServerFiles};
