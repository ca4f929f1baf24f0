//! The processes (ranks) that measured a run together, as results name them.

use inferometer_model::outcome::OutcomeCounts;
use serde::{Deserialize, Serialize};

/// One of several processes that measured a run together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankSummary {
    /// Which rank, from 0.
    pub rank: u32,
    /// Its machine.
    pub host: String,
    /// Outcomes of its requests, as far as rank 0 has their records.
    pub requests: OutcomeCounts,
    /// Its clock, compared with that of rank 0; absent for rank 0, and for a rank that reported no pass.
    pub clock: Option<RankClock>,
    /// How it ended.
    pub state: RankState,
    /// Why it did not complete; absent if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The clock of a rank, compared with that of rank 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankClock {
    /// By how much the clock of rank 0 was ahead at the end of the last pass, in milliseconds.
    pub offset_ms: f64,
    /// The largest error of an instant of any pass on the clock of rank 0, in milliseconds.
    pub bound_ms: f64,
    /// By how much it is slower, in millionths; absent if the run was too short for an estimate.
    pub drift_ppm: Option<f64>,
    /// The largest error of that.
    pub drift_bound_ppm: Option<f64>,
    /// The shortest round trip, in milliseconds.
    pub round_trip_ms: f64,
}

/// How a rank ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankState {
    /// It did everything that rank 0 ordered.
    Complete,
    /// Its user interrupted it.
    Interrupted,
    /// Its connection ended, or it could not go on.
    Lost,
}
