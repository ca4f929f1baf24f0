//! Checks this client on this machine against a reference server, and compares it with a minimal reader.
//! Client, server and reader have separate processes. Every figure is measured during the check; none is
//! assumed.
//!
//! [`measure`] starts the parts as processes of the `inferometer` program. [`server()`], [`reader()`] and [`client`]
//! are the code of those processes. [`in_memory()`] is for counting instructions.

pub mod truth;

mod error;

mod document;
mod load;

mod client;
mod in_memory;
mod reader;
mod server;

mod process;

mod levels;
mod table;

pub use client::measure as client;
pub use document::{Document, Level, OpenLoop, Verdict};
pub use error::CheckError;
pub use in_memory::in_memory;
pub use levels::{Extent, measure};
pub use load::{ClientLoad, Load, Part};
pub use reader::reader;
pub use server::server;
pub use table::text;
