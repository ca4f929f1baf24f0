//! Since when a socket may hold data: what the waits of an event loop tell of it. No system call and no
//! clock, so that each case can be tested.

use std::time::Duration;

use inferometer_model::time::Nanos;

use crate::run_delay::Account;

/// Longest time of a wake-up without waiting for a processor: interrupt, scheduler, return.
pub(crate) const WAKE_UP: Duration = Duration::from_micros(100);

/// What waits tell of the sockets that they watch.
///
/// A wait looks at all of them after it was called. So what it did not report was empty when it was called.
/// Nothing is known of the instant at which it returned: the process may have been stopped in between, with
/// data arriving all the while.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Emptiness {
    /// When the last wait was called: a reading of the clock before it.
    called: Nanos,
    /// Whether the last wait had room to report everything that was ready.
    reported_all: bool,
    /// When the wait before it was called, if that reported everything. What the last wait reports arrived
    /// later, if it was drained before.
    certain: Nanos,
    /// A later such instant, of a wait that slept: everything that it reports arrived after it, unless the
    /// wake-up took too long. A kernel stamp that says otherwise is right.
    likely: Nanos,
}

impl Emptiness {
    /// There are no sockets yet.
    pub fn new(now: Nanos) -> Self {
        Self { called: now, reported_all: true, certain: now, likely: now }
    }

    /// A wait is about to be called; the clock was read before.
    pub fn calls(&mut self, now: Nanos) {
        if self.reported_all {
            self.certain = self.called;
        }
        (self.called, self.reported_all) = (now, false);
    }

    /// It has returned, and may have had no room for all that was ready.
    pub fn returns(&mut self, reported_all: bool) {
        self.reported_all = reported_all;
    }

    /// A wait that was called when nothing was ready has reported something, at `woke`. `account` is of the
    /// thread, from before the call.
    ///
    /// If the thread came to a processor once, it slept until the first arrival woke it, and then waited
    /// for a processor: that arrival came no earlier than so much before `woke`. A thread that came to a
    /// processor more often was stopped or had to give way, perhaps with data arriving.
    pub fn woke(&mut self, woke: Nanos, account: Option<Account>) {
        if let Some(Account { waited, turns: 1 }) = account {
            self.likely = woke - waited - WAKE_UP;
        }
    }

    /// After when what a socket holds now arrived, for certain and in all likelihood. `drained_at` is an
    /// instant before a read that left nothing in it.
    pub fn of_drained(&self, drained_at: Nanos, user: Nanos) -> (Nanos, Nanos) {
        let certain = drained_at.max(self.certain).min(user);
        (certain, certain.max(self.likely).min(user))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at(ms: u64) -> Nanos {
        Nanos(ms * MS)
    }

    /// A socket that was drained at 1 ms, and the waits since: their call, whether they reported
    /// everything. Its interval when the last of them reports it, in milliseconds.
    fn after(waits: &[(u64, bool)], slept: Option<(u64, Account)>) -> (u64, u64) {
        let mut emptiness = Emptiness::new(at(0));
        for &(called, reported_all) in waits {
            emptiness.calls(at(called));
            emptiness.returns(reported_all);
        }
        if let Some((woke, account)) = slept {
            emptiness.woke(at(woke), Some(account));
        }
        let (certain, likely) = emptiness.of_drained(at(1), at(100));
        (certain.0 / MS, likely.0 / MS)
    }

    #[test]
    fn what_a_wait_does_not_report_was_empty_when_it_was_called() {
        assert_eq!(after(&[(2, true)], None), (1, 1), "the only wait reports it");
        assert_eq!(after(&[(2, true), (30, true)], None), (2, 2), "the wait before did not");
        assert_eq!(after(&[(2, true), (30, true), (60, true)], None), (30, 30));
        assert_eq!(after(&[(2, true), (30, false), (60, true)], None), (2, 2), "it had no room");
    }

    #[test]
    fn a_sleep_ends_with_an_arrival_only_if_the_thread_was_never_stopped() {
        let account = |waited, turns| Account { waited: Duration::from_millis(waited), turns };
        let waits = [(2, true), (3, true)];
        assert_eq!(after(&waits, Some((50, account(0, 1)))), (2, 49));
        assert_eq!(after(&waits, Some((50, account(20, 1)))), (2, 29), "it waited for a processor");
        for turns in [0, 2, 3] {
            assert_eq!(after(&waits, Some((50, account(0, turns)))), (2, 2), "{turns}");
        }
    }
}
