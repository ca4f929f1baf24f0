//! A cell of the grid: an input length and an output length. Also the end of the name of a pass.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A cell of the grid: an input length and an output length, in the unit of the workload's grid (tokens or
/// characters).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CellPlan {
    /// The length of a prompt; 0 if each request has its own length.
    pub input_length: u32,
    /// The length of an output; 0 if each request has its own length.
    pub output_length: u32,
}

impl CellPlan {
    /// The only cell of a workload in which each request has its own lengths.
    pub const OWN: Self = Self { input_length: 0, output_length: 0 };

    /// The tokens of prompt plus output.
    pub fn tokens(&self) -> u64 {
        u64::from(self.input_length) + u64::from(self.output_length)
    }
}

impl fmt::Display for CellPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.input_length, self.output_length) {
            (0, 0) => f.write_str("own lengths"),
            (0, output) => write!(f, "own x {output}"),
            (input, 0) => write!(f, "{input} x own"),
            (input, output) => write!(f, "{input} x {output}"),
        }
    }
}

/// The text after the load in the name of a pass, such as `, trial 3` for a trial of a search or a sweep, or
/// `, repeat 2`. The text is empty for the first repeat.
pub fn trial_or_repeat_suffix(is_trial: bool, number: u32) -> String {
    match (is_trial, number) {
        (true, trial) => format!(", trial {trial}"),
        (false, 0 | 1) => String::new(),
        (false, repeat) => format!(", repeat {repeat}"),
    }
}
