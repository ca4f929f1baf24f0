//! The HTTP front over in-memory pipes in virtual time: every instant is exact.

mod client;
#[path = "../../../../fuzz/src/words.rs"]
mod words;

mod api;
mod faults;
mod timing;
