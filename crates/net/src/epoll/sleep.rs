//! The waits of the event loop: how it sleeps and polls, and what this shows about the arrival time of data.

use std::{io, time::Duration};

use inferometer_model::Nanos;

use super::EpollNet;
use crate::{Net, sys::Epoll};

/// A wait that is longer than this is split into two parts. The kernel's account of the thread during the
/// second part narrows the arrival intervals. Shorter waits need no account: their intervals are narrow.
const LONG_WAIT: Duration = Duration::from_millis(1);

impl EpollNet {
    /// Waits until something is ready or until `end`; polls during the last `spin` of this time.
    pub(super) fn sleep(&mut self, now: Nanos, end: Nanos, spin: Duration) -> io::Result<usize> {
        let asleep_until = end - spin;
        let briefly_until = asleep_until.min(now + LONG_WAIT);
        let mut found = self.look(now, briefly_until)?;
        let mut now = self.now();
        // If a signal ended the sleep early, the actor gets a turn now.
        if found == 0 && (briefly_until..asleep_until).contains(&now) {
            found = self.sleep_on(asleep_until)?;
            now = self.now();
        }
        while found == 0 && (asleep_until..end).contains(&now) {
            found = self.look(now, now)?;
            now = self.now();
        }
        Ok(found)
    }

    /// The second part of a wait that has found nothing so far.
    fn sleep_on(&mut self, until: Nanos) -> io::Result<usize> {
        self.run_delay.since_last();
        // Data may have arrived since the first part. The account says when data arrived only if there were
        // none when the sleep began.
        let now = self.now();
        let found = self.look(now, now)?;
        if found > 0 {
            return Ok(found);
        }
        let found = self.look(self.now(), until)?;
        if found > 0 {
            let woke = self.now();
            self.emptiness.woke(woke, self.run_delay.since_last());
        }
        Ok(found)
    }

    /// Makes one wait. `now` is a reading of the clock before the wait.
    fn look(&mut self, now: Nanos, until: Nanos) -> io::Result<usize> {
        self.emptiness.calls(now);
        let found = self.epoll.wait(until.since(now))?;
        self.emptiness.returns(found < Epoll::BATCH);
        Ok(found)
    }
}
