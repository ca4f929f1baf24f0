//! Since when a socket may contain data, as far as the waits of an event loop show it. No system call and no
//! clock, so that each case can be tested.

use std::time::Duration;

use inferometer_model::time::Nanos;

use crate::run_delay::Account;

/// The longest assumed wake-up (interrupt, scheduler, return), without the time in which the thread waits for
/// a processor.
pub(crate) const WAKE_UP: Duration = Duration::from_micros(100);

/// What waits show about the sockets that they watch.
///
/// A wait checks all of them after its call. So a socket that it did not report was empty at its call. At its
/// return it need not be empty: the process may have been stopped in between, while data arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Emptiness {
    /// A reading of the clock before the last wait was called.
    called: Nanos,
    /// Whether the last wait had room to report everything that was ready.
    reported_all: bool,
    /// When the latest wait before that was called that reported everything. If a socket was drained before,
    /// the data that the last wait reports arrived after this instant.
    certain: Nanos,
    /// A later such instant, from a wait that slept: what it reports arrived after it, unless the wake-up
    /// took longer than [`WAKE_UP`]. If a kernel stamp is earlier, the stamp is right.
    likely: Nanos,
}

impl Emptiness {
    /// The state before there are sockets.
    pub fn new(now: Nanos) -> Self {
        Self { called: now, reported_all: true, certain: now, likely: now }
    }

    /// Call it before each wait. `now` is a reading of the clock before the wait.
    pub fn calls(&mut self, now: Nanos) {
        if self.reported_all {
            self.certain = self.called;
        }
        (self.called, self.reported_all) = (now, false);
    }

    /// Call it after each wait. `reported_all` is false if there may have been no room for everything that
    /// was ready.
    pub fn returns(&mut self, reported_all: bool) {
        self.reported_all = reported_all;
    }

    /// Call it after a wait that found nothing ready at its call and then reported something, at `woke`.
    /// `account` covers the thread's time since before the call.
    ///
    /// If the thread was given a processor once, it slept until the first arrival woke it, and then waited
    /// for a processor. So that arrival came at most `waited` and [`WAKE_UP`] before `woke`. A thread that
    /// was given a processor more often was stopped or preempted, and data may have arrived meanwhile.
    pub fn woke(&mut self, woke: Nanos, account: Option<Account>) {
        if let Some(Account { waited, turns: 1 }) = account {
            self.likely = woke - waited - WAKE_UP;
        }
    }

    /// Two instants after which the present content of a socket arrived: one is certain, the other is likely
    /// and not earlier. `drained_at` is an instant before a read that emptied the socket, `user` the time of
    /// the present read.
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

    /// For a socket that was drained at 1 ms: the certain and the likely instant, in ms, when the last of
    /// these waits reports it. Each wait has the time of its call, in ms, and whether it reported everything.
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
