//! Samples of servers and machines while passes run: a server's metrics, the clocks and power of its
//! cards, and the properties of this machine.
//!
//! While a pass runs, an [`Observer`] polls on its own thread, with blocking requests. So the load generator
//! does not wait for these responses, and does not parse them. No figures are computed here: samples are
//! written to the run log unchanged, and reports are computed from the log.

mod error;

mod names;
mod scrape;

mod cards;
mod host;

mod observer;

pub use cards::{CardSource, Dcgm, local_cards, select_cards};
pub use error::{ObserveError, SmiError};
pub use host::environment;
pub use names::MetricNames;
pub use observer::Observer;
pub use scrape::Scrape;
