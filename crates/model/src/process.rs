//! What this program's own process went through while a pass ran.

use serde::{Deserialize, Serialize};

/// What the client's process went through during a pass. Times are whole microseconds. Of several event loops
/// turns, wake delays and stalls are counted together, and a time is that of the loop that had most of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// From the opening of connections to the last end.
    pub wall_us: u64,
    /// Processor time of the whole process in it, user and system.
    pub cpu_us: u64,
    /// Time that the event loop was at work, and not waiting.
    pub busy_us: u64,
    /// Median length of a turn of the event loop: while one goes on, nothing else is read or sent.
    pub turn_p50_us: u64,
    /// The 99th percentile.
    pub turn_p99_us: u64,
    /// The longest turn.
    pub turn_max_us: u64,
    /// Median time by which the event loop woke after the instant that it had asked for.
    pub wake_delay_p50_us: u64,
    /// The 99th percentile.
    pub wake_delay_p99_us: u64,
    /// The largest.
    pub wake_delay_max_us: u64,
    /// Turns and wake delays of 10 ms or more.
    pub stalls: u64,
    /// The time of all of them.
    pub stalled_us: u64,
    /// Time that the event loop was ready to run and had no processor; absent where the kernel
    /// keeps no account.
    pub waited_for_cpu_us: Option<u64>,
    /// Steps of the wall clock.
    pub clock_steps: u64,
    /// Stamps of the kernel that lay outside of what is possible, and were not used.
    pub implausible_stamps: u64,
    /// Reads whose stamps the kernel had no room to deliver.
    pub truncated_stamps: u64,
    /// How often no request began, though one was due, because more records waited to be written than
    /// memory is planned for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waits_for_writer: u64,
    /// How long, in all.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waited_for_writer_us: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
