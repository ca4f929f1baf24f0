//! What servers and machines say of themselves while passes run: a server's metrics, the cards'
//! clocks and power, and what the machine is.
//!
//! An [`Observer`] asks on a thread of its own, by blocking questions, so that the load generator
//! neither waits for an answer nor reads one. Nothing here computes a figure: samples go into the
//! run log as they came, and `core` makes of them what a report shows.

mod names;
mod scrape;

mod cards;
mod host;

mod observer;

pub use cards::{Cards, Dcgm, chosen, of_this_machine};
pub use host::environment;
pub use names::Names;
pub use observer::Observer;
pub use scrape::Scrape;
