//! The reference for checks of the load generator: a server that writes the send time into every token event, and a
//! reader that only counts token events and notes the time of each first token.
//!
//! Server and reader are actors over a [`inferometer_net::Net`]. The server and the load generator are separate
//! processes that read the same monotonic clock. So the difference between the arrival of an event and the send time
//! inside the event is the load generator's error plus the transport time in the kernel. Nothing here depends on the
//! code of the load generator.

mod frame;
mod server;
mod stats;

mod errors;
mod reader;

pub use errors::{ClientErrors, ErrorSpread, Errors, Mismatch, Stamped};
pub use reader::BareReader;
pub use server::{Pace, TruthServer};
pub use stats::{Counters, ServerStats};
