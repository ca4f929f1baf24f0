//! `check`: this client on this machine against a server of known truth, each in a process of its
//! own, beside a bare reader. Nothing here is assumed: every figure is measured when it is asked
//! for.

mod client;
mod document;
mod levels;
mod part;
mod process;
mod table;

pub use levels::{Extent, measure};
pub use part::{PartArgs, part};
pub use table::text;
