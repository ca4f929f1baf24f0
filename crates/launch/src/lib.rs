//! Servers as processes: starts them, waits until they are ready, watches them, and ends them with all
//! processes that they started, however this program ends.
//!
//! A server is never a child of the measuring process. Between the two runs a *guard*: a second
//! process of this program, whose standard input the first one holds open. The guard is the parent of
//! the server and, as a subreaper, of every orphan among the server's descendants, whatever session
//! they are in. When its input ends, which the kernel ensures even if the first process is killed,
//! the guard ends them all.
//!
//! Nothing here knows dialects, requests or what is measured. While a pass is measured nothing runs
//! but a look at `/proc` every two seconds, in the guard.

mod error;
mod event;
mod log;
mod tree;

pub mod guard;

mod server;

pub mod preset;

pub use error::LaunchError;
pub use event::{Ended, Usage};
pub use server::{LaunchedServer, ReadyWait, ServerFiles};
