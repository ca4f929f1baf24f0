//! How often ranks send messages to rank 0, and how long in advance the start of a pass is announced. With many ranks,
//! each rank sends fewer messages per second and the announcement is earlier, so that rank 0 is not overloaded.

use std::time::Duration;

/// The maximum number of periodic messages per second from all ranks together. Messages that contain records, and the
/// messages without pauses at the start and after a pass, are not counted. Rank 0 needs about 30 us of processor time
/// for one message.
const MOST_QUESTIONS_PER_S: u32 = 5_000;
/// The shortest time between two messages of a rank that works on an order, for example during a pass.
const DURING_A_PASS: Duration = Duration::from_millis(250);
/// The shortest time between two messages of a rank that waits for an order.
const WHILE_IDLE: Duration = Duration::from_millis(20);
/// The shortest time between two messages of a rank that waits for the start of a pass.
const WHILE_PREPARED: Duration = Duration::from_millis(5);
/// The part of the time from the announcement of a pass to its start that does not depend on the ranks.
const ANNOUNCED: Duration = Duration::from_millis(150);
/// The longest round trip that an announcement takes into account. A longer round trip counts as this long.
const LONGEST_ROUND_TRIP: Duration = Duration::from_secs(2);

/// What a rank waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// Nothing; it works on an order.
    Nothing,
    /// The next order.
    Order,
    /// The start of a pass.
    Start,
}

/// The time between two messages of a rank, in a run with this number of ranks.
pub fn period(waits_for: WaitsFor, ranks: u32) -> Duration {
    let at_least = Duration::from_secs(1) * ranks / MOST_QUESTIONS_PER_S;
    at_least.max(match waits_for {
        WaitsFor::Nothing => DURING_A_PASS,
        WaitsFor::Order => WHILE_IDLE,
        WaitsFor::Start => WHILE_PREPARED,
    })
}

/// The time from the announcement of a pass to its start. Within this time, each rank sends at least one message.
/// `round_trip` is the longest recent round trip of a rank.
pub fn announced(ranks: u32, round_trip: Duration) -> Duration {
    ANNOUNCED + period(WaitsFor::Start, ranks) + 2 * round_trip.min(LONGEST_ROUND_TRIP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_rate_of_many_ranks_is_limited_and_every_rank_learns_of_a_pass_in_time() {
        let nothing = Duration::ZERO;
        for waits_for in [WaitsFor::Nothing, WaitsFor::Order, WaitsFor::Start] {
            for ranks in [2, 100, 1_000, 10_000, 100_000] {
                let per_second = f64::from(ranks) / period(waits_for, ranks).as_secs_f64();
                assert!(
                    per_second <= 5_000.0 || ranks <= 100,
                    "{ranks} ranks send {per_second} messages per second"
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
