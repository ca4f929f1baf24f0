//! What the load generator is measured against: a server whose every event carries the instant at
//! which it was sent, and a reader that does nothing but count events.
//!
//! Both are actors over a [`inferometer_net::Net`]. The server and the load generator read the
//! same monotonic clock, each in a process of its own, so the difference between an event's
//! arrival and the instant inside it is the load generator's error (and the kernel's way between
//! them). Nothing here looks at how the load generator works.

mod frame;
mod server;
mod stats;

mod errors;
mod reader;

pub use errors::{Errors, Mismatch, Spread, Stamped};
pub use reader::BareReader;
pub use server::{Pace, TruthServer};
pub use stats::{Counters, ServerStats};
