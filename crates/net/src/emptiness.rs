//! Computes the earliest instant at which the data in a socket can have arrived. The inputs are the times of
//! an event loop's waits, that is, of its calls to epoll. This module makes no system call and reads no
//! clock, so tests can cover each case.

use std::time::Duration;

use inferometer_model::Nanos;

use crate::run_delay::Account;

/// The assumed maximum duration of a wake-up (interrupt, scheduler, return of the call). It does not include
/// the time in which the thread waits for a processor.
pub(crate) const WAKE_UP: Duration = Duration::from_micros(100);

/// The maximum time from the call of an empty wait to the call of the next wait, if the thread was not stopped in
/// between.
const AT_ONCE: Duration = Duration::from_micros(20);

/// Lower bounds for the arrival time of data in the watched sockets, from the waits of an event loop.
///
/// A wait checks all watched sockets after it is called. So a socket that the wait did not report was empty
/// when the wait was called. The socket may contain data when the wait returns: the process may have been
/// stopped in between, while data arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Emptiness {
    /// A reading of the clock before the last wait was called.
    called: Nanos,
    /// Whether the last wait had room to report everything that was ready.
    reported_all: bool,
    /// The call time of the latest wait that reported everything; the last wait is not considered. If a
    /// socket was drained before this instant, the data that the last wait reports arrived after this
    /// instant.
    certain: Nanos,
    /// A second lower bound, from a wait that slept; usually later than `certain`. The data that this wait
    /// reports arrived after the bound, unless the wake-up took longer than [`WAKE_UP`]. If a kernel stamp is
    /// earlier than the bound, the stamp is right.
    likely: Nanos,
}

impl Emptiness {
    /// The state of a loop without sockets.
    pub fn new(now: Nanos) -> Self {
        Self { called: now, reported_all: true, certain: now, likely: now }
    }

    /// Records that a wait is called; call this before each wait. `now` is a reading of the clock before the
    /// wait.
    pub fn calls(&mut self, now: Nanos) {
        if self.reported_all {
            self.certain = self.called;
        }
        (self.called, self.reported_all) = (now, false);
    }

    /// Records that a wait has returned; call this after each wait. `reported_all` is false if there may have
    /// been no room to report all ready sockets.
    pub fn returns(&mut self, reported_all: bool) {
        self.reported_all = reported_all;
    }

    /// Records the end of a sleep; call this after a wait that returned events at `woke`. `account` is the
    /// kernel's account of the thread; its interval begins before the wait.
    ///
    /// The bound changes only if two conditions are true. Otherwise, the thread may have been stopped or
    /// preempted, and data may have arrived during this time.
    /// - The wait before this one was called at most [`AT_ONCE`] earlier, and reported everything. So the
    ///   sockets were empty when this wait was called.
    /// - The thread received a processor exactly once: it slept until the first arrival woke it, and then
    ///   waited for a processor. So the first arrival was at most `waited` + [`WAKE_UP`] before `woke`.
    ///
    /// A stop of the process in the microsecond before the sleep begins, or after it has ended, is not noticed.
    pub fn woke(&mut self, woke: Nanos, account: Option<Account>) {
        let began_empty = self.called.since(self.certain) <= AT_ONCE;
        if let Some(Account { waited, turns: 1 }) = account
            && began_empty
        {
            self.likely = woke - waited - WAKE_UP;
        }
    }

    /// Returns two lower bounds for the arrival time of the data that a socket contains now. The first is
    /// certain. The second is likely, and not earlier than the first. `drained_at` is an instant before a
    /// read that emptied the socket; `user` is the time of the present read.
    pub fn of_drained(&self, drained_at: Nanos, user: Nanos) -> (Nanos, Nanos) {
        let certain = drained_at.max(self.certain).min(user);
        (certain, certain.max(self.likely).min(user))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: f64) -> Nanos {
        Nanos((ms * 1e6) as u64)
    }

    /// Returns the certain and the likely bound, in ms, for a socket that was drained at 1 ms and is reported
    /// by the last of `waits`. A wait is a pair: the time of its call, in ms, and whether it reported
    /// everything.
    fn after(waits: &[(f64, bool)], slept: Option<(f64, Account)>) -> (u64, u64) {
        let mut emptiness = Emptiness::new(at(0.0));
        for &(called, reported_all) in waits {
            emptiness.calls(at(called));
            emptiness.returns(reported_all);
        }
        if let Some((woke, account)) = slept {
            emptiness.woke(at(woke), Some(account));
        }
        let (certain, likely) = emptiness.of_drained(at(1.0), at(100.0));
        (certain.0 / 1_000_000, likely.0 / 1_000_000)
    }

    #[test]
    fn a_socket_that_a_wait_does_not_report_was_empty_when_the_wait_was_called() {
        assert_eq!(after(&[(2.0, true)], None), (1, 1), "the only wait reports it");
        assert_eq!(after(&[(2.0, true), (30.0, true)], None), (2, 2), "the wait before did not");
        assert_eq!(after(&[(2.0, true), (30.0, true), (60.0, true)], None), (30, 30));
        assert_eq!(
            after(&[(2.0, true), (30.0, false), (60.0, true)], None),
            (2, 2),
            "it had no room"
        );
    }

    #[test]
    fn a_wake_up_bounds_the_arrival_time_only_if_the_thread_was_not_preempted() {
        let account = |waited, turns| Account { waited: Duration::from_millis(waited), turns };
        let waits = [(2.0, true), (2.01, true)];
        assert_eq!(after(&waits, Some((50.0, account(0, 1)))), (2, 49));
        assert_eq!(
            after(&waits, Some((50.0, account(20, 1)))),
            (2, 29),
            "it waited for a processor"
        );
        for turns in [0, 2, 3] {
            assert_eq!(after(&waits, Some((50.0, account(0, turns)))), (2, 2), "{turns}");
        }
    }

    #[test]
    fn a_wake_up_bounds_no_arrival_time_if_the_sockets_may_have_had_data_before_the_wait() {
        let account = Account { waited: Duration::ZERO, turns: 1 };
        let stopped_before_the_wait = [(2.0, true), (48.0, true)];
        assert_eq!(after(&stopped_before_the_wait, Some((50.0, account))), (2, 2));
        let wait_before_had_no_room = [(2.0, true), (47.95, false), (48.0, true)];
        assert_eq!(after(&wait_before_had_no_room, Some((50.0, account))), (2, 2));
    }
}
