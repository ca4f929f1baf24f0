//! Counts of durations between fixed bounds, as in a histogram of Prometheus. The text format is written
//! elsewhere.

/// Upper bounds for TTFT, in seconds, as in vLLM.
pub const FIRST_TOKEN_S: [f64; 22] = [
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
    20.0, 40.0, 80.0, 160.0, 640.0, 2560.0,
];
/// Upper bounds for the time between two tokens, in seconds, as in vLLM.
pub const FURTHER_TOKEN_S: [f64; 19] = [
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0,
    40.0, 80.0,
];
/// Upper bounds for E2E latency, in seconds, as in vLLM.
pub const REQUEST_S: [f64; 21] = [
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0,
    480.0, 960.0, 1920.0, 7680.0,
];
/// Upper bounds for delays that this program itself causes, in seconds.
pub const INSTRUMENT_S: [f64; 14] = [
    0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.05,
    0.1, 0.5, 1.0,
];

/// Counts of durations between bounds, and their sum.
#[derive(Clone, Debug, PartialEq)]
pub struct Buckets {
    bounds_s: &'static [f64],
    /// One count for each bound, and one for values above the last bound. Weights may be fractions, so counts
    /// are too.
    counts: Vec<f64>,
    sum_s: f64,
}

impl Buckets {
    /// Empty buckets between ascending upper bounds in seconds.
    pub fn new(bounds_s: &'static [f64]) -> Self {
        Self { bounds_s, counts: vec![0.0; bounds_s.len() + 1], sum_s: 0.0 }
    }

    /// Counts a duration in seconds `times` times; `times` may be a fraction.
    pub fn add(&mut self, seconds: f64, times: f64) {
        let index = self.bounds_s.partition_point(|&bound| bound < seconds);
        self.counts[index] += times;
        self.sum_s += seconds * times;
    }

    /// Adds the counts of other buckets with the same bounds.
    ///
    /// # Panics
    /// If the bounds differ.
    pub fn add_all(&mut self, other: &Self) {
        assert_eq!(self.bounds_s, other.bounds_s, "the two sets of buckets have different bounds");
        self.counts.iter_mut().zip(&other.counts).for_each(|(mine, theirs)| *mine += theirs);
        self.sum_s += other.sum_s;
    }

    /// The sum of all durations in seconds.
    pub fn sum_s(&self) -> f64 {
        self.sum_s
    }

    /// Each upper bound in seconds, with the number of durations at or below it; the last bound is infinity.
    pub fn cumulative(&self) -> impl Iterator<Item = (f64, f64)> {
        let bounds = self.bounds_s.iter().copied().chain([f64::INFINITY]);
        bounds.zip(&self.counts).scan(0.0, |below, (bound, count)| {
            *below += count;
            Some((bound, *below))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cumulative_buckets_count_values_up_to_their_bound_and_the_last_bucket_counts_all_values() {
        let mut buckets = Buckets::new(&[0.001, 0.005]);
        for (seconds, times) in [(0.001, 1.0), (0.005, 1.0), (0.006, 0.5), (3_000.0, 1.0)] {
            buckets.add(seconds, times);
        }
        let mut twice = buckets.clone();
        twice.add_all(&buckets);
        assert_eq!(
            (twice.cumulative().last(), twice.sum_s()),
            (Some((f64::INFINITY, 7.0)), 6_000.018)
        );
        let cumulative: Vec<(f64, f64)> = buckets.cumulative().collect();
        assert_eq!(cumulative, [(0.001, 1.0), (0.005, 2.0), (f64::INFINITY, 3.5)]);
    }
}
