//! Predictions: the embedded engine simulates a plan in virtual time. The simulation takes seconds of real time, and no
//! server is contacted.
//!
//! [`predict()`] predicts the grid of a plan, [`search()`] a search or a sweep, and [`ab()`] a comparison of two
//! settings. [`read_against`] reads the measurements that a prediction is compared with. Predicted records are stored
//! in the same way as the records of a measured run. The results are marked as predicted.

mod unpredictable;

mod measured_runs;
mod server_facts;

mod against;
mod planned;
mod row;

mod requests;
mod too_long_prompts;

mod slower;

mod simulated_pass;

mod play;
mod ranges;
mod stored;
pub mod tables;

mod expected;
mod player;
mod predict;
mod ranges_of_answers;
mod search;

mod fleet;

mod ab;

pub use ab::{PredictedAb, ab};
pub use against::measured_on::of_target as measured_on;
pub use against::{Counts, MeasuredRows, Source, open as open_against, read as read_against};
pub use expected::{BUILT_IN, Expected, ProfileChoice, expected, known_engine};
pub use fleet::{Capacity, capacity};
pub use measured_runs::{MeasuredPass, measured_passes, passes_of};
pub use planned::{planned, refuse_servers, with_mistakes_of_plan};
pub use play::{PlayTime, check_plan};
pub use predict::{Prediction, predict, simulated_cells, write_tables};
pub use row::{Row, row};
pub use search::{expected_answers, search};
pub use server_facts::ServerFacts;
pub use unpredictable::Unpredictable;
