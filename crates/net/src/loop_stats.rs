//! Counts delays of an event loop. It does not judge the delays.

use std::time::Duration;

use inferometer_model::stats::histogram::Histogram;

/// A turn of at least this length counts as a stall. A wait also counts as a stall if it ends too late by at
/// least this time.
pub const STALL: Duration = Duration::from_millis(10);

/// Delays of a loop since the last call of [`crate::EpollNet::take_loop_stats`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoopStats {
    /// The lengths of turns. A turn lasts from the end of one wait to the call of the next wait. Data that
    /// arrives during a turn, and work that becomes due during a turn, wait for the next turn.
    pub turns: Histogram,
    /// For each wait that returned at its end or later, also with events: how late it returned.
    pub overslept: Histogram,
    /// The total time of all turns.
    pub busy: Duration,
    /// How many turns and late wake-ups reached [`STALL`].
    pub stalls: u64,
    /// The total time of all stalls.
    pub stalled: Duration,
    /// The time in which the thread was ready to run and had no processor; `None` if the kernel keeps no
    /// account.
    pub waited_for_cpu: Option<Duration>,
    /// How many reads received control messages that did not fit into their buffer. The kernel stamp of such
    /// a read may be lost.
    pub truncated_control: u64,
}

impl LoopStats {
    /// Adds the counts of another loop that ran at the same time. `busy`, `stalled` and `waited_for_cpu`
    /// become the larger value of the two loops, because each value is a part of one thread's time.
    #[must_use]
    pub fn merge_parallel(mut self, other: &Self) -> Self {
        self.turns.add_all(&other.turns);
        self.overslept.add_all(&other.overslept);
        self.busy = self.busy.max(other.busy);
        self.stalls += other.stalls;
        self.stalled = self.stalled.max(other.stalled);
        self.waited_for_cpu = self.waited_for_cpu.max(other.waited_for_cpu);
        self.truncated_control += other.truncated_control;
        self
    }

    pub(crate) fn turn(&mut self, length: Duration) {
        self.busy += length;
        self.turns.add(length);
        self.stall(length);
    }

    pub(crate) fn overslept(&mut self, by: Duration) {
        self.overslept.add(by);
        self.stall(by);
    }

    fn stall(&mut self, length: Duration) {
        if length >= STALL {
            self.stalls += 1;
            self.stalled += length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_parallel_loops_adds_their_turns_and_takes_the_busy_time_of_the_busiest_loop() {
        let mut stats = [LoopStats::default(), LoopStats::default()];
        stats[0].turn(Duration::from_millis(20));
        stats[1].turn(Duration::from_millis(3));
        stats[1].overslept(Duration::from_millis(40));
        let [first, second] = stats;
        let all = first.merge_parallel(&second);
        assert_eq!((all.turns.count(), all.turns.max()), (2, Duration::from_millis(20)));
        assert_eq!((all.overslept.count(), all.busy), (1, Duration::from_millis(20)));
        assert_eq!((all.stalls, all.stalled), (2, Duration::from_millis(40)));
    }

    #[test]
    fn long_turns_and_late_wake_ups_are_counted_as_stalls() {
        let mut stats = LoopStats::default();
        for ms in [1, 9, 10, 30] {
            stats.turn(Duration::from_millis(ms));
            stats.overslept(Duration::from_millis(ms / 2));
        }
        assert_eq!(stats.busy, Duration::from_millis(50));
        assert_eq!((stats.stalls, stats.stalled), (3, Duration::from_millis(55)));
        assert_eq!((stats.turns.count(), stats.overslept.max()), (4, Duration::from_millis(15)));
    }
}
