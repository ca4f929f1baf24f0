//! The driver against a server of known truth, over in-memory pipes in virtual time: nothing
//! sleeps, and every instant is compared exactly.

mod conversations;
mod memory;
mod passes;
mod support;
