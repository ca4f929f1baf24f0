//! The state of this program's own process during a pass: processor time, delays and stalls.

use serde::{Deserialize, Serialize};

/// Processor time, delays and stalls of the client's process during a pass. Times are whole microseconds.
/// With several event loops, the quantiles, maxima and counts of turns, wake delays and stalls cover all of
/// them. `busy_us`, `stalled_us` and `waited_for_cpu_us` are each the largest value of all loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// The time from the opening of connections to the end of the last request.
    pub wall_us: u64,
    /// Processor time of the whole process within `wall_us`: user time and system time.
    pub cpu_us: u64,
    /// The time in which the event loop did not wait for an event.
    pub busy_us: u64,
    /// The median duration of a turn of the event loop. A turn is one iteration; during a turn, the loop
    /// reads and sends nothing else.
    pub turn_p50_us: u64,
    /// The 99th percentile of the durations of turns.
    pub turn_p99_us: u64,
    /// The longest turn.
    pub turn_max_us: u64,
    /// The median delay of a wake-up: the time from the requested instant to the wake-up.
    pub wake_delay_p50_us: u64,
    /// The 99th percentile of the delays of wake-ups.
    pub wake_delay_p99_us: u64,
    /// The largest delay of a wake-up.
    pub wake_delay_max_us: u64,
    /// The number of stalls: turns and wake-up delays of 10 ms or more.
    pub stalls: u64,
    /// The total time of all stalls.
    pub stalled_us: u64,
    /// The time in which the event loop was ready to run but had no processor; `None` if the kernel does not
    /// report this time.
    pub waited_for_cpu_us: Option<u64>,
    /// How often the wall clock was set to another time.
    pub clock_steps: u64,
    /// The number of kernel timestamps outside of the possible interval. They were not used.
    pub implausible_stamps: u64,
    /// The number of reads with control messages that did not fit into the buffer. Their timestamps may
    /// be lost.
    pub truncated_stamps: u64,
    /// How often a due request could not begin, because too many records were waiting to be written.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub waits_for_writer: u64,
    /// The total time of these waits.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub waited_for_writer_us: u64,
}
