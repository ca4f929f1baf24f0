//! Observes the load generator's process during a pass: CPU time, event loop delays, clock steps.

use std::time::Duration;

use inferometer_drive::Waits;
use inferometer_model::{Nanos, Process, stats::histogram::Histogram};
use inferometer_net::{LoopStats, StampStats, process_cpu_time};

use super::network::Network;

/// The values at the beginning of a pass.
pub struct ProcessWatch {
    began: Nanos,
    cpu: Duration,
    stamps: StampStats,
}

impl ProcessWatch {
    /// Begins to observe, and stores the present values.
    pub fn begin(net: &mut impl Network) -> Self {
        // Delays before this instant belong to no pass.
        net.take_loop_stats();
        Self { began: net.now(), cpu: process_cpu_time(), stamps: net.stamp_stats() }
    }

    /// Returns the values since the beginning. `waits` states how often and how long requests waited for the writer of
    /// records.
    pub fn end(self, net: &mut impl Network, waits: Waits) -> Process {
        let stats: LoopStats = net.take_loop_stats();
        let stamps = net.stamp_stats();
        let quantiles =
            |spans: &Histogram| [spans.quantile(0.50), spans.quantile(0.99), spans.max()].map(us);
        let [turn_p50_us, turn_p99_us, turn_max_us] = quantiles(&stats.turns);
        let [wake_delay_p50_us, wake_delay_p99_us, wake_delay_max_us] = quantiles(&stats.overslept);
        Process {
            wall_us: us(net.now().since(self.began)),
            cpu_us: us(process_cpu_time() - self.cpu),
            busy_us: us(stats.busy),
            turn_p50_us,
            turn_p99_us,
            turn_max_us,
            wake_delay_p50_us,
            wake_delay_p99_us,
            wake_delay_max_us,
            stalls: stats.stalls,
            stalled_us: us(stats.stalled),
            waited_for_cpu_us: stats.waited_for_cpu.map(us),
            clock_steps: stamps.clock_steps - self.stamps.clock_steps,
            implausible_stamps: stamps.implausible - self.stamps.implausible,
            truncated_stamps: stats.truncated_control,
            waits_for_writer: waits.count,
            waited_for_writer_us: us(waits.time),
        }
    }
}

/// Converts a time to whole microseconds.
fn us(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
