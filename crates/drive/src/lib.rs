//! The load generator: sends the requests of a load model to a server and records them.
//!
//! [`Driver`] is an actor over a [`inferometer_net::Net`]: the same code runs over sockets in real time and
//! over in-memory pipes in virtual time. It does not parse protocols (`wire` does), does not decide when a
//! request is due (the load model does), and computes no results. Only a [`Watcher`] uses figures of single
//! requests, to end a pass early.

mod balance;
mod connections;
mod driver;
mod encode;
mod exchange;
mod job;
mod live;
mod memory;
mod outgoing;
mod session;
mod timers;
mod watch;
mod window;

pub use balance::Servers;
pub use driver::{Driver, Waits};
pub use encode::{Encoder, Endpoint};
pub use job::{Job, LoopPart, Order, Recorder, StartGate};
pub use live::{Live, LiveCounts};
pub use memory::{ANSWER_BYTES, ANSWERS_BYTES, of_answer};
pub use session::SessionHeaders;
pub use watch::Watcher;
