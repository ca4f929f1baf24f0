//! A histogram of durations in bounded memory, for events that are too frequent to be stored one by one.
//!
//! Latencies in results do not use this histogram, because they need more precise percentiles ([`crate`]). Here, values
//! below 32 ns are exact; larger values are rounded up by at most 1/32.

use std::time::Duration;

/// The number of buckets per octave.
const STEPS: u64 = 32;
/// The number of buckets: one for each value below 32, and 32 for each octave from 2^5 to 2^63.
const BUCKETS: usize = 32 + (64 - 5) * 32;

/// Counts durations by their length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    n: u64,
    max_ns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS], n: 0, max_ns: 0 }
    }
}

impl Histogram {
    /// Counts a duration once.
    pub fn add(&mut self, span: Duration) {
        self.add_times(span, 1);
    }

    /// Counts a duration this many times.
    pub fn add_times(&mut self, span: Duration, times: u64) {
        let ns = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        self.counts[bucket(ns)] += times;
        self.n += times;
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds the counts of another histogram.
    pub fn add_all(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(own, theirs)| *own += theirs);
        self.n += other.n;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// The number of durations in buckets whose end is not above `span`. The bucket that contains `span` counts only if
    /// it ends at `span`.
    pub fn count_up_to(&self, span: Duration) -> u64 {
        let ns = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        self.counts.iter().enumerate().filter(|(at, _)| upper(*at) <= ns).map(|(_, n)| n).sum()
    }

    /// The number of durations that were counted.
    pub fn count(&self) -> u64 {
        self.n
    }

    /// The longest counted duration, exact; zero without durations.
    pub fn max(&self) -> Duration {
        Duration::from_nanos(self.max_ns)
    }

    /// The duration that a share `q` of all durations does not exceed, rounded up to the end of its bucket, but
    /// not above [`Histogram::max`]; zero without durations.
    pub fn quantile(&self, q: f64) -> Duration {
        let rank = ((q * self.n as f64).ceil() as u64).clamp(1, self.n.max(1));
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return Duration::from_nanos(upper(index).min(self.max_ns));
            }
        }
        Duration::ZERO
    }
}

fn bucket(ns: u64) -> usize {
    if ns < STEPS {
        return ns as usize;
    }
    let shift = u64::from(ns.ilog2() - STEPS.ilog2());
    (STEPS + shift * STEPS + ((ns >> shift) - STEPS)) as usize
}

/// The largest value of a bucket, in ns.
fn upper(index: usize) -> u64 {
    let index = index as u64;
    if index < STEPS {
        return index;
    }
    let (shift, step) = ((index - STEPS) / STEPS, (index - STEPS) % STEPS);
    // The last bucket ends at the largest 64-bit number; a 64-bit sum would overflow there.
    ((u128::from(STEPS + step + 1) << shift) - 1) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_and_counts_of_short_durations_are_exact() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), Duration::ZERO);
        for ns in 1..=20 {
            histogram.add(Duration::from_nanos(ns));
        }
        assert_eq!(histogram.quantile(0.0), Duration::from_nanos(1));
        assert_eq!(histogram.quantile(0.5), Duration::from_nanos(10));
        assert_eq!(histogram.quantile(0.99), Duration::from_nanos(20));
        assert_eq!((histogram.count(), histogram.max()), (20, Duration::from_nanos(20)));
        histogram.add_times(Duration::from_nanos(30), 3);
        let up_to = |ns| histogram.count_up_to(Duration::from_nanos(ns));
        assert_eq!([0, 5, 20, 29, 30, u64::MAX].map(up_to), [0, 5, 20, 20, 23, 23]);
    }

    proptest! {
        #[test]
        fn a_duration_is_rounded_up_by_at_most_one_part_in_32(ns in any::<u64>()) {
            let end = upper(bucket(ns));
            prop_assert!(end >= ns && end - ns <= ns / 32);
        }

        #[test]
        fn a_longer_duration_never_falls_into_a_lower_bucket(a in any::<u64>(), b in any::<u64>()) {
            prop_assert!(bucket(a.min(b)) <= bucket(a.max(b)));
            prop_assert!(bucket(a.max(b)) < BUCKETS);
        }
    }
}
