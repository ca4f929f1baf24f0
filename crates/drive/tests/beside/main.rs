//! What is asked beside the measurement, over real sockets. Nothing here waits for a clock.
#![expect(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

mod probe;
mod support;
mod tokenize;
