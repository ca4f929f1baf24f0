//! The reference for checking the load generator: a server whose every event carries its send time,
//! and a reader that only counts events.
//!
//! Both are actors over a [`inferometer_net::Net`]. The server and the load generator read the
//! same monotonic clock, each in a process of its own, so the difference between an event's
//! arrival and the time inside it is the load generator's error, plus the kernel's transport between
//! them. Nothing here depends on how the load generator works.

mod frame;
mod server;
mod stats;

mod errors;
mod reader;

pub use errors::{ErrorSpread, Errors, Mismatch, Stamped};
pub use reader::BareReader;
pub use server::{Pace, TruthServer};
pub use stats::{Counters, ServerStats};
