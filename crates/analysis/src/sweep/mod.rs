//! Sweeps the load, from one request in flight to saturation. This module chooses the loads to try, and finds out when
//! the server is saturated and where the knee is. It sends no requests: other modules measure the trials, and pass the
//! results to this module.
//!
//! A [`Sweep`] requests a trial, gets its figures ([`LevelTrial`]), and finally gives the answer. docs/sweep.md
//! describes the procedure with its formulas.

mod estimate;
mod fold;
mod level;

mod knee;
mod saturation;

mod outcome;

mod document;
mod sentence;

mod answer;
mod procedure;
mod visits;
mod within;

mod findings;

pub use document::{
    FigureInterval, KneeAnswer, LevelAnswer, LoadValue, SaturationAnswer, SweepAnswer, WithinAnswer,
};
pub use estimate::FigureEstimate;
pub use findings::{CODES, findings};
pub use fold::{LevelFold, LevelTrial};
pub use outcome::SweepEnding;
pub use procedure::{NextLevel, Sweep};
pub use sentence::{one_user, sentence};

#[cfg(test)]
mod tests;
