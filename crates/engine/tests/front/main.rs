//! The HTTP front over in-memory pipes in virtual time: every instant is exact.

mod client;

mod api;
mod faults;
mod timing;
