//! Tests the HTTP front end over in-memory connections in virtual time, in which every instant is exact.

mod client;
#[path = "../../../../fuzz/src/words.rs"]
mod words;

mod api;
mod faults;
mod timing;
