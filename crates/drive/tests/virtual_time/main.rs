//! The driver against a reference server, over in-memory pipes in virtual time: nothing sleeps, and
//! every instant is compared exactly.

mod abandon;
mod conversations;
mod loops;
mod memory;
mod passes;
mod prefill;
mod spread;
mod support;
