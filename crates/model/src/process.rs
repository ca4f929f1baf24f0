//! The state of this program's own process during a pass: processor time, delays and stalls.

use serde::{Deserialize, Serialize};

/// Processor time, delays and stalls of the client's process during a pass. Times are whole microseconds.
/// With several event loops, turns, wake delays and stalls are counted over all of them, and each time is
/// that of the loop with the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// The time from the opening of connections to the last end.
    pub wall_us: u64,
    /// Processor time of the whole process in this time, user and system.
    pub cpu_us: u64,
    /// The time in which the event loop did not wait.
    pub busy_us: u64,
    /// The median length of a turn of the event loop. During a turn, nothing else is read or sent.
    pub turn_p50_us: u64,
    /// The 99th percentile.
    pub turn_p99_us: u64,
    /// The longest turn.
    pub turn_max_us: u64,
    /// The median delay of a wake-up after the requested instant.
    pub wake_delay_p50_us: u64,
    /// The 99th percentile.
    pub wake_delay_p99_us: u64,
    /// The largest.
    pub wake_delay_max_us: u64,
    /// Turns and wake delays of 10 ms or more.
    pub stalls: u64,
    /// The total time of all of them.
    pub stalled_us: u64,
    /// The time in which the event loop was ready to run and had no processor; `None` if the kernel keeps no
    /// account.
    pub waited_for_cpu_us: Option<u64>,
    /// Steps of the wall clock.
    pub clock_steps: u64,
    /// Stamps of the kernel that were outside of the possible interval, and were not used.
    pub implausible_stamps: u64,
    /// Reads whose control messages did not fit, so that a stamp may be lost.
    pub truncated_stamps: u64,
    /// How often no request began, although one was due, because too many records were waiting to be written.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waits_for_writer: u64,
    /// How long in total.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waited_for_writer_us: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
