//! Estimates the offset between two clocks, with an error bound. This module reads no clock: callers pass the instants.
//!
//! An exchange is a message to another process, and the answer. This process reads its clock when it sends the message
//! (`sent`) and when it receives the answer (`received`). The other process reads its clock between these two instants
//! (`reference`). So for any network delay, the offset (reference minus this clock) lies between
//! `reference - received` and `reference - sent`. This interval is narrow if the round trip was short.
//!
//! Two clocks drift apart by at most [`MAX_DRIFT_PPM`]. So each exchange also bounds the offset at other instants,
//! with a wider interval. The offset at an instant lies in the intersection of these intervals. The estimate uses only
//! exchanges near the instant, or the nearest exchange. The middle of the intersection is the estimate, and half its
//! width is the bound.

use inferometer_model::Nanos;

/// The assumed maximum drift between two clocks, in parts per million: crystal oscillators are accurate to about 50
/// ppm each. If exchanges contradict this maximum, for example after a step of one clock, the bounds are widened.
pub const MAX_DRIFT_PPM: u64 = 100;

/// The offset at an instant is computed from the exchanges that are at most this far from the instant, in nanoseconds.
/// If there are none, the nearest exchange is used.
const WINDOW_NS: u64 = 30_000_000_000;
/// Exchanges in the same period of this length, in nanoseconds, are merged if their intervals overlap. This limits the
/// memory of an idle rank to about 20 MB per day.
const TOGETHER_NS: u64 = 100_000_000;

/// One message to the reference, and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// When the message was sent, by this clock.
    pub sent: Nanos,
    /// The reference's stamp, made between the two instants of this clock.
    pub reference: Nanos,
    /// When the answer was received, by this clock.
    pub received: Nanos,
}

impl Exchange {
    /// The round-trip time, in nanoseconds.
    pub fn round_trip_ns(&self) -> u64 {
        self.received.0.saturating_sub(self.sent.0)
    }
}

/// The offset of the reference at an instant: reference minus this clock, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// The estimate, in nanoseconds.
    pub ns: i64,
    /// The largest possible error of the estimate, in nanoseconds.
    pub bound_ns: u64,
}

/// By how much this clock is slower than the reference, in parts per million. A drift of 1 ppm increases the offset by
/// one microsecond per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// The estimate, in parts per million.
    pub ppm: f64,
    /// The largest possible error of the estimate, in parts per million.
    pub bound_ppm: f64,
}

/// The interval of possible offsets at an instant, from one or several exchanges.
#[derive(Clone, Copy, Debug)]
struct Known {
    at: u64,
    low: i64,
    high: i64,
}

impl Known {
    /// The interval of possible offsets at another instant. It is wider because of drift.
    fn at(&self, at: u64) -> (i64, i64) {
        let drifted = (self.at.abs_diff(at) as u128 * u128::from(MAX_DRIFT_PPM) / 1_000_000) as i64;
        (self.low - drifted, self.high + drifted)
    }

    /// Intersects this interval with an earlier interval, at the instant of this interval. None if the two intervals
    /// do not overlap, or if their instants are not in the same period of `TOGETHER_NS`.
    fn with(&self, earlier: &Self) -> Option<Self> {
        let (low, high) = earlier.at(self.at);
        let (low, high) = (self.low.max(low), self.high.min(high));
        let are_near = self.at / TOGETHER_NS == earlier.at / TOGETHER_NS;
        (are_near && low <= high).then_some(Self { at: self.at, low, high })
    }
}

/// A clock that is compared with a reference.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    /// The known intervals of offsets, in order of time.
    known: Vec<Known>,
}

impl Clock {
    /// Adds an exchange. It must be later than all exchanges that were added before.
    pub fn add(&mut self, exchange: Exchange) {
        let Exchange { sent, reference, received } = exchange;
        let between = |local: Nanos| reference.0.cast_signed() - local.0.cast_signed();
        // The clocks may also have drifted during the round trip, so the interval is widened by this drift.
        let at = sent.0 + exchange.round_trip_ns() / 2;
        let drifted = (exchange.round_trip_ns() * MAX_DRIFT_PPM / 1_000_000) as i64;
        let (low, high) = (between(received) - drifted, between(sent) + drifted);
        let new = Known { at, low, high };
        match self.known.last_mut().and_then(|last| Some((new.with(last)?, last))) {
            Some((both, last)) => *last = both,
            None => self.known.push(new),
        }
    }

    /// The offset at an instant of this clock; None before the first exchange.
    pub fn offset(&self, local: Nanos) -> Option<Offset> {
        let begin = self.known.partition_point(|one| one.at + WINDOW_NS < local.0);
        let end = self.known.partition_point(|one| one.at <= local.0 + WINDOW_NS);
        let near = match &self.known[begin..end] {
            [] => std::slice::from_ref(self.nearest(local)?),
            near => near,
        };
        let (mut low, mut high) = (i64::MIN, i64::MAX);
        for one in near {
            let (one_low, one_high) = one.at(local.0);
            (low, high) = (low.max(one_low), high.min(one_high));
        }
        if low > high {
            // The clocks drifted faster than assumed. Use the estimate of the nearest exchange, and widen its bound by
            // the contradiction between the intervals.
            let (one_low, one_high) = self.nearest(local)?.at(local.0);
            let beyond = (low - high).unsigned_abs();
            let ns = one_low.midpoint(one_high);
            return Some(Offset { ns, bound_ns: one_high.abs_diff(one_low) / 2 + beyond });
        }
        Some(Offset { ns: low.midpoint(high), bound_ns: high.abs_diff(low).div_ceil(2) })
    }

    fn nearest(&self, local: Nanos) -> Option<&Known> {
        self.known.iter().min_by_key(|one| one.at.abs_diff(local.0))
    }

    /// Converts an instant of the reference's clock to this clock; None before the first exchange.
    pub fn to_local(&self, reference: Nanos) -> Option<Nanos> {
        let last = self.known.last()?;
        let about = reference.0.saturating_add_signed(-last.low.midpoint(last.high));
        let offset = self.offset(Nanos(about))?;
        Some(Nanos(reference.0.saturating_add_signed(-offset.ns)))
    }

    /// The drift, from the narrowest interval of offsets in the first third of the time and the narrowest in the last
    /// third. None without two intervals at different instants.
    pub fn drift(&self) -> Option<Drift> {
        let (first, last) = (self.known.first()?.at, self.known.last()?.at);
        let third = (last - first) / 3;
        let best = |from: u64, to: u64| {
            let within = self.known.iter().filter(|one| (from..=to).contains(&one.at));
            within.min_by_key(|one| one.high - one.low)
        };
        let (before, after) = (best(first, first + third)?, best(last - third, last)?);
        let span = after.at.checked_sub(before.at).filter(|span| *span > 0)? as f64;
        let (from, to) = (before.low.midpoint(before.high), after.low.midpoint(after.high));
        let width = (before.high - before.low + after.high - after.low) as f64 / 2.0;
        Some(Drift { ppm: (to - from) as f64 / span * 1e6, bound_ppm: width / span * 1e6 })
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_core::{RngCore, SeedableRng};

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// A simulated clock: its offset at instant 0 in nanoseconds, and its drift. `local` converts an instant of the
    /// reference to this clock.
    #[derive(Clone, Copy)]
    struct Off {
        ns: i64,
        ppm: f64,
    }

    impl Off {
        fn local(self, reference: u64) -> Nanos {
            let drifted = (reference as f64 * self.ppm / 1e6) as i64;
            Nanos(reference.saturating_add_signed(drifted - self.ns))
        }
    }

    /// Returns a clock after one exchange every 250 ms. `ways` returns the two one-way latencies of an exchange, in
    /// nanoseconds.
    fn held(off: Off, seconds: u64, mut ways: impl FnMut(&mut ChaCha8Rng) -> (u64, u64)) -> Clock {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut clock = Clock::default();
        for quarter in 0..seconds * 4 {
            let sent = 10_000 * SECOND + quarter * SECOND / 4;
            let (there, back) = ways(&mut random);
            clock.add(Exchange {
                sent: off.local(sent),
                reference: Nanos(sent + there),
                received: off.local(sent + there + back),
            });
        }
        clock
    }

    fn jitter(random: &mut ChaCha8Rng, least: u64, spread: u64) -> u64 {
        least + u64::from(random.next_u32()) * spread / u64::from(u32::MAX)
    }

    #[test]
    fn the_clock_bound_covers_the_true_time_for_any_offset_drift_and_network() {
        let minutes = 7 * 60 * SECOND as i64;
        type Ways = fn(&mut ChaCha8Rng) -> (u64, u64);
        let networks: [(&str, Ways, u64); 4] = [
            (
                "near",
                |random| (jitter(random, 20_000, 80_000), jitter(random, 20_000, 80_000)),
                130_000,
            ),
            (
                "far",
                |random| (jitter(random, 20_000_000, 5_000_000), jitter(random, 50_000, 0)),
                13_000_000,
            ),
            (
                "busy",
                |random| (jitter(random, 50_000, 40_000_000), jitter(random, 50_000, 40_000_000)),
                4_000_000,
            ),
            ("equal", |_| (100_000, 100_000), 130_000),
        ];
        for (name, ways, most) in networks {
            for off in [(0, 0.0), (minutes, 50.0), (-minutes, -50.0), (1_000, 50.0)] {
                let off = Off { ns: off.0, ppm: off.1 };
                let clock = held(off, 60, ways);
                for tenth in 1..600 {
                    let truth = 10_000 * SECOND + tenth * SECOND / 10;
                    let local = off.local(truth);
                    let found = clock.offset(local).expect("there were exchanges");
                    let error = local.0.saturating_add_signed(found.ns).abs_diff(truth);
                    assert!(error <= found.bound_ns, "{name}: {error} of {}", found.bound_ns);
                    assert!(found.bound_ns <= most, "{name}: {}", found.bound_ns);
                    let back = clock.to_local(Nanos(truth)).expect("an instant");
                    let error = back.0.abs_diff(local.0);
                    assert!(error <= 2 * found.bound_ns, "{name}: {error}");
                }
                let drift = clock.drift().expect("a minute is enough");
                let error = (drift.ppm + off.ppm).abs();
                assert!(error <= drift.bound_ppm + 0.1, "{name}: {drift:?}");
            }
        }
    }

    #[test]
    fn a_clock_step_during_the_run_widens_the_bound() {
        let off = Off { ns: 0, ppm: 0.0 };
        let mut clock = held(off, 10, |_| (50_000, 50_000));
        let later = 10_010 * SECOND;
        let step = 3_000_000;
        clock.add(Exchange {
            sent: Nanos(later + step),
            reference: Nanos(later + 50_000),
            received: Nanos(later + step + 100_000),
        });
        let after = clock.offset(Nanos(later + step)).unwrap();
        assert!(after.ns.abs_diff(-(step as i64)) <= after.bound_ns);
        assert!(after.bound_ns > step / 2, "{after:?}");
    }

    #[test]
    fn exchanges_close_in_time_are_stored_as_one_without_losing_accuracy() {
        let (mut random, mut idle) = (ChaCha8Rng::seed_from_u64(2), Clock::default());
        for asked in 0..100_000 {
            let sent = Nanos(asked * 20_000_000);
            let reference = Nanos(sent.0 + jitter(&mut random, 20_000, 60_000));
            let received = Nanos(reference.0 + jitter(&mut random, 20_000, 60_000));
            idle.add(Exchange { sent, reference, received });
        }
        assert!(idle.known.len() <= 100_000 / 5, "{}", idle.known.len());
        let found = idle.offset(Nanos(1_000 * SECOND)).unwrap();
        assert!(found.bound_ns < 35_000 && found.ns.unsigned_abs() <= found.bound_ns, "{found:?}");
    }

    #[test]
    fn before_the_first_exchange_the_clock_offset_and_drift_are_unknown() {
        let clock = Clock::default();
        assert_eq!(clock.offset(Nanos(5)), None);
        assert_eq!(clock.to_local(Nanos(5)), None);
        assert_eq!(clock.drift(), None);
    }

    #[test]
    fn an_old_exchange_still_bounds_the_offset_with_a_wider_bound() {
        let mut clock = Clock::default();
        clock.add(Exchange { sent: Nanos(0), reference: Nanos(500), received: Nanos(1_000) });
        let hour = clock.offset(Nanos(3_600 * SECOND)).unwrap();
        assert_eq!(hour.ns, 0);
        assert!(hour.bound_ns >= 360_000_000, "{hour:?}");
    }
}
