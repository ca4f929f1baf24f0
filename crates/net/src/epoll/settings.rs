//! What is set of an event loop, and what it says of itself.

use std::time::Duration;

use super::EpollNet;
use crate::Address;
use crate::loop_stats::LoopStats;
use crate::stamp::StampStats;
use crate::waker::Waker;

impl EpollNet {
    /// Does not use the kernel's stamps, as on systems without them.
    #[must_use]
    pub fn with_user_stamps(mut self) -> Self {
        self.use_kernel_stamps = false;
        self._stamping = None;
        self
    }

    /// Sets how long before an actor's instant to stop sleeping and poll the clock instead. It makes
    /// wake-ups exact to a microsecond, for at most this much processor time each.
    pub fn set_spin(&mut self, spin: Duration) {
        self.spin = spin;
    }

    /// The loop's delays since the last call, or since the start.
    pub fn take_loop_stats(&mut self) -> LoopStats {
        self.run_delay.since_last();
        let waited_for_cpu = self.run_delay.take_total();
        LoopStats { waited_for_cpu, ..std::mem::take(&mut self.loop_stats) }
    }

    /// A handle that gives the actor a turn from another thread.
    pub fn waker(&self) -> Waker {
        self.waker.waker()
    }

    /// Counts of the kernel's stamps so far.
    pub fn stamp_stats(&self) -> StampStats {
        self.stamps.stats
    }

    /// Shares with another event loop what is known of servers.
    #[must_use]
    pub fn beside(mut self, other: &Self) -> Self {
        self.servers = other.servers.clone();
        self
    }

    /// Whether connections to a server delay acknowledgements, because it is known not to wait for them.
    pub fn delays_acknowledgements(&self, server: &Address) -> bool {
        self.servers.do_not_wait(server)
    }

    /// Whether connections that begin from now on try out if their server waits for acknowledgements: tokens of
    /// a server that does can be 40 ms late on them.
    pub fn try_delayed_acknowledgements(&mut self, are_tried: bool) {
        self.tries_delayed_acknowledgements = are_tried;
    }
}
