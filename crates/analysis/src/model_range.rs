//! How far a predicted answer may be from the answer of a real server, because the engine's model is not exact.

use inferometer_model::digits::{Decimals, with_unit};
use serde::{Deserialize, Serialize};

/// The range of a predicted load that is expected to contain nine of ten measured ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelRange {
    /// The lower end, in the unit of the load; 0 if no tried load is met by a server as slow as the model allows.
    pub low: f64,
    /// The upper end; absent if a server as fast as the model allows meets every tried load.
    pub high: Option<f64>,
    /// Whether the range follows from errors of measured rows. If not, it is a guess.
    pub calibrated: bool,
}

impl ModelRange {
    /// The range in words: `Expect 5.6 to 22.4 requests/s on a real server (a guess: measured rows do not cover it)`.
    pub(crate) fn words(&self, unit: &str) -> String {
        let Self { low, high, calibrated } = *self;
        let digits = Decimals::of(&[low, high.unwrap_or(low)]);
        let range = match high {
            Some(high) => digits.interval([low, high]),
            None => format!("{} or more", digits.text(low)),
        };
        let why = match calibrated {
            true => "90 % range, from errors of measured rows",
            false => "a guess: measured rows do not cover it",
        };
        format!("Expect {} on a real server ({why})", with_unit(&range, unit))
    }
}
