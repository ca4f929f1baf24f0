//! How often ranks ask rank 0, and how long before its start a pass is announced: slower for many ranks, so
//! that rank 0 keeps up with them.

use std::time::Duration;

/// The most questions per second that all ranks together ask rank 0, records aside. One takes rank 0 about 30 us
/// of a processor.
const MOST_QUESTIONS_PER_S: u32 = 5_000;
/// How often a rank asks while nothing waits for the answer.
const DURING_A_PASS: Duration = Duration::from_millis(250);
/// How often it asks while it has nothing to do.
const WHILE_IDLE: Duration = Duration::from_millis(20);
/// How often it asks for the start of a pass.
const WHILE_PREPARED: Duration = Duration::from_millis(5);
/// How long before its start a pass is announced, at least.
const ANNOUNCED: Duration = Duration::from_millis(150);
/// The longest round trip that an announcement allows for. One that took longer was held up by chance.
const LONGEST_ROUND_TRIP: Duration = Duration::from_secs(2);

/// What a rank waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// Nothing: a pass goes on.
    Nothing,
    /// The next order.
    Order,
    /// The start of a pass.
    Start,
}

/// The time between two questions of a rank, one of so many.
pub fn period(waits_for: WaitsFor, ranks: u32) -> Duration {
    let at_least = Duration::from_secs(1) * ranks / MOST_QUESTIONS_PER_S;
    at_least.max(match waits_for {
        WaitsFor::Nothing => DURING_A_PASS,
        WaitsFor::Order => WHILE_IDLE,
        WaitsFor::Start => WHILE_PREPARED,
    })
}

/// How long before its start a pass is announced, so that each rank has asked once more by then.
/// `round_trip`: the longest that a rank had lately.
pub fn announced(ranks: u32, round_trip: Duration) -> Duration {
    ANNOUNCED + period(WaitsFor::Start, ranks) + 2 * round_trip.min(LONGEST_ROUND_TRIP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_ranks_ask_less_often_and_a_pass_is_announced_before_each_has_asked_again() {
        let nothing = Duration::ZERO;
        for waits_for in [WaitsFor::Nothing, WaitsFor::Order, WaitsFor::Start] {
            for ranks in [2, 100, 1_000, 10_000, 100_000] {
                let per_second = f64::from(ranks) / period(waits_for, ranks).as_secs_f64();
                assert!(
                    per_second <= 5_000.0 || ranks <= 100,
                    "{ranks} ranks ask {per_second} times a second"
                );
                assert!(announced(ranks, nothing) > period(WaitsFor::Start, ranks));
            }
        }
        assert_eq!(period(WaitsFor::Start, 4), WHILE_PREPARED);
        let far = Duration::from_millis(400);
        assert!(announced(2, far) > 2 * far);
        assert!(announced(2, Duration::from_secs(60)) < Duration::from_secs(5));
    }
}
