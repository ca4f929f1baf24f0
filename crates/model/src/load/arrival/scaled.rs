//! Arrivals scaled to the requested load: N arrivals at a rate R take exactly N / R seconds, for every
//! seed. All gaps within a part of the load are multiplied by one factor, so the ratios between gaps do
//! not change.

use std::collections::VecDeque;

use super::Arrivals;
use crate::{Bound, load::level::Level};

/// A part of the load in which all gaps are multiplied by one factor: the whole load if the rate is
/// constant, otherwise one stage. An area is an integral of the rate over time, that is, a number of
/// requests.
#[derive(Clone, Copy, Debug, PartialEq)]
struct StretchedPart {
    from: f64,
    area: f64,
    count: u64,
    /// Whether the part ends at a given time after its last arrival. If true, one more gap is drawn for
    /// the time from the last arrival to the end. If false, the part ends at its last arrival.
    ends_by_time: bool,
}

/// Splits a load that is bounded by a count, a time, or both into its parts.
fn parts(rate: &Level, bound: Bound) -> Vec<StretchedPart> {
    let most = bound.requests.map_or(u64::MAX, u64::from);
    let mut parts = Vec::new();
    let (mut from, mut counted) = (0.0, 0);
    for until in rate.areas(bound.duration) {
        // The cumulative number of requests is rounded, not the number of each part, so that rounding
        // errors do not add up.
        let count = (until.round() as u64).saturating_sub(counted);
        let left = most - counted;
        if left < count {
            parts.push(StretchedPart { from, area: left as f64, count: left, ends_by_time: false });
            return parts;
        }
        parts.push(StretchedPart { from, area: until - from, count, ends_by_time: true });
        (from, counted) = (until, counted + count);
    }
    if let Some(last) = parts.last_mut().filter(|last| counted == 0 && last.area > 0.0) {
        // A load of less than half a request still gets one request, because a pass without requests
        // measures nothing.
        last.count = most.min(1);
    }
    parts
}

/// Returns the arrivals of a load, in order. Each arrival is given as the integral of the rate up to its
/// time. The random numbers are drawn twice, once for the factors and once for the arrivals, so they are
/// not stored.
pub fn scaled(
    arrivals: Arrivals,
    rate: &Level,
    bound: Bound,
    seed: u64,
) -> impl Iterator<Item = f64> + Send + use<> {
    let mut sums = arrivals.seconds(seed);
    let mut before = 0.0;
    let mut stretched: VecDeque<(StretchedPart, f64, f64)> = VecDeque::new();
    for part in parts(rate, bound) {
        let gaps = part.count + u64::from(part.ends_by_time);
        let sum = match usize::try_from(gaps).unwrap_or(usize::MAX).checked_sub(1) {
            None => before,
            Some(last) => sums.nth(last).expect("invariant: an arrival process has no end"),
        };
        stretched.push_back((part, before, sum));
        before = sum;
    }
    let mut draws = arrivals.seconds(seed);
    let mut made = 0;
    std::iter::from_fn(move || {
        loop {
            let &(part, begin, end) = stretched.front()?;
            if made < part.count {
                made += 1;
                let sum = draws.next()?;
                return Some(part.from + part.area * ((sum - begin) / (end - begin)));
            }
            if part.ends_by_time {
                draws.next();
            }
            made = 0;
            stretched.pop_front();
        }
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::load::level::{Curve, Stage};
    use proptest::prelude::*;

    fn held(seconds: u64, level: f64) -> Stage {
        let duration = Duration::from_secs(seconds);
        Stage { duration, from: level, to: level, curve: Curve::Linear }
    }

    fn areas(arrivals: Arrivals, rate: &Level, bound: Bound, seed: u64) -> Vec<f64> {
        scaled(arrivals, rate, bound, seed).collect()
    }

    fn by_time(seconds: f64) -> Bound {
        Bound { requests: None, duration: Some(Duration::from_secs_f64(seconds)) }
    }

    #[test]
    fn the_last_of_n_scaled_arrivals_is_due_when_the_integral_of_the_rate_reaches_n() {
        for count in [1, 2, 100] {
            let found = areas(Arrivals::Poisson, &60.0.into(), Bound::requests(count), 3);
            assert_eq!((found.len(), found.last()), (count as usize, Some(&f64::from(count))));
            assert!(found.is_sorted() && found[0] > 0.0);
        }
    }

    #[test]
    fn a_duration_gives_rate_times_duration_arrivals_all_before_its_end() {
        for (rate, seconds, expected) in
            [(20.0, 5.0, 100), (20.0, 0.33, 7), (0.1, 1.0, 1), (0.1, 14.0, 1), (0.1, 16.0, 2)]
        {
            let found = areas(Arrivals::Poisson, &rate.into(), by_time(seconds), 3);
            assert_eq!(found.len(), expected, "{rate} for {seconds} s");
            assert!(found.iter().all(|&at| at < rate * seconds), "{rate} {seconds} {found:?}");
        }
    }

    #[test]
    fn the_load_ends_at_its_count_or_its_duration_whichever_comes_first() {
        let both = |requests| Bound { requests: Some(requests), ..by_time(5.0) };
        let of = |requests| areas(Arrivals::Poisson, &20.0.into(), both(requests), 3);
        assert_eq!((of(50).len(), of(50)[49]), (50, 50.0));
        assert_eq!(of(100), areas(Arrivals::Poisson, &20.0.into(), by_time(5.0), 3));
        assert_eq!(of(900), of(100));
    }

    #[test]
    fn each_stage_has_the_number_of_arrivals_of_its_own_rate() {
        let rate = Level::Stages(vec![held(10, 2.0), held(5, 0.0), held(10, 8.05)]);
        let found = areas(Arrivals::Poisson, &rate, Bound::none(), 3);
        assert_eq!((found.len(), found.iter().filter(|&&at| at < 20.0).count()), (101, 20));
        // A time bound shortens the last stage. With a count, the last stage ends at its last arrival.
        let cut = areas(Arrivals::Poisson, &rate, by_time(20.0), 3);
        assert_eq!((cut.len(), cut.iter().all(|&at| at < 60.25)), (60, true));
        let counted = areas(Arrivals::Poisson, &rate, Bound::requests(45), 3);
        assert_eq!((counted.len(), counted[44]), (45, 45.0));
        assert_eq!(counted[..20], found[..20]);
    }

    proptest! {
        #[test]
        fn scaled_gaps_are_the_sampled_gaps_times_one_common_factor(
            shape in 0.3f64..9.0, count in 2u32..300, seed: u64, timed: bool,
        ) {
            let arrivals = Arrivals::Gamma { shape };
            let bound = if timed { by_time(f64::from(count)) } else { Bound::requests(count) };
            let found = areas(arrivals, &1.0.into(), bound, seed);
            let drawn: Vec<f64> = arrivals.seconds(seed).take(count as usize).collect();
            prop_assert_eq!(found.len(), drawn.len());
            let factor = found[0] / drawn[0];
            for (found, drawn) in found.iter().zip(&drawn) {
                prop_assert!((found - factor * drawn).abs() < 1e-9 * f64::from(count));
            }
        }
    }
}
