//! A plan with several servers: a run of each server in each round.

mod done;
mod estimate;
pub(crate) mod measure;
mod names;
mod tune;
