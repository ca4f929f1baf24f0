//! Servers as processes: started, known to be ready, watched, and ended with everything that they
//! have started, however this program ends.
//!
//! A server is never our own child. Between us and it stands a *guard*: this program once more,
//! whose standard input we hold open. The guard is the server's parent, and the system makes every
//! orphan among the server's descendants its child, whatever session they put themselves into. When
//! its input ends, which the system sees to even if we are killed, it ends them all.
//!
//! Nothing here knows dialects, requests or what is measured, and nothing runs while a pass is
//! measured but a look at `/proc` every two seconds, in the guard.

mod error;
mod event;
mod log;
mod tree;

pub mod guard;

mod server;

pub mod preset;

pub use error::LaunchError;
pub use event::{Ended, Usage};
pub use server::{Launched, Patience, Place};
