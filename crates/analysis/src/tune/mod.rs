//! Finds the best of several sets of server arguments. This module decides which of them are measured in the next round, and
//! what the answer is; other modules measure.
//!
//! In each round, the server with its default arguments and the candidates that are left get the same load with new
//! prompts. While many candidates are left, the better half of them stays after each stage (successive halving; Jamieson
//! and Talwalkar, 2016). The rounds of the final count alone for the answer, so the choice of the finalists does not
//! favour them. All pairs of finalists are compared by Student's t over the rounds, and the intervals hold together
//! (Bonferroni), so the best of them may be named.

mod answer;
mod answering;
mod procedure;
mod reading;
mod sentence;

pub use answer::{TuneAnswer, TuneStatus, TunedCandidate};
pub use procedure::{DEFAULT, Tune};
pub use reading::TuneReading;

#[cfg(test)]
mod tests;
