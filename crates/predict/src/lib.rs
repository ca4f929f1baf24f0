//! Predictions: a plan played against the embedded engine in virtual time, in seconds. Nothing is sent,
//! and nobody waits.
//!
//! [`predict()`] predicts the grid of a plan, [`search()`] its search; [`read_against`] reads what a
//! prediction is compared with. The records are stored like those of a run, marked as predicted.

mod error;

mod against;
mod planned;
mod row;

mod no_room;
mod requests;

mod play;
mod stored;
pub mod tables;

mod predict;
mod search;

pub use against::{Against, Counts, read as read_against};
pub use error::PredictError;
pub use planned::{planned, refuse_servers};
pub use play::{PlayTime, check_plan};
pub use predict::{Prediction, predict, write_tables};
pub use row::{Row, row};
pub use search::{PredictedSearch, expected_answers, search};
