//! The processes (ranks) that measured a run together, as stored in results.

use inferometer_model::OutcomeCounts;
use serde::{Deserialize, Serialize};

/// One of several processes that measured a run together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankSummary {
    /// The number of the rank, from 0.
    pub rank: u32,
    /// The machine that the rank runs on.
    pub host: String,
    /// The outcomes of the requests of this rank, counted over the records that rank 0 has.
    pub requests: OutcomeCounts,
    /// The clock of the rank, compared with that of rank 0. Absent for rank 0, and for a rank that reported no pass.
    pub clock: Option<RankClock>,
    /// How the rank ended.
    pub state: RankState,
    /// Why the rank did not complete; absent if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The clock of a rank, compared with that of rank 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankClock {
    /// By how much the clock of rank 0 was ahead at the end of the last pass, in milliseconds. Negative if it was
    /// behind.
    pub offset_ms: f64,
    /// The largest error, in any pass, that a time of this rank can have after conversion to the clock of rank 0, in
    /// milliseconds.
    pub bound_ms: f64,
    /// By how much the clock of this rank is slower, in parts per million. Absent if the run was too short for an
    /// estimate.
    pub drift_ppm: Option<f64>,
    /// The largest error of `drift_ppm`, in parts per million.
    pub drift_bound_ppm: Option<f64>,
    /// The shortest round trip to rank 0, in milliseconds.
    pub round_trip_ms: f64,
}

/// How a rank ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankState {
    /// The rank did everything that rank 0 ordered.
    Complete,
    /// The user of the rank interrupted it.
    Interrupted,
    /// The connection of the rank ended, or the rank could not continue.
    Lost,
}
