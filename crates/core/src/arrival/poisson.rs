//! Poisson arrivals: gaps are exponential and independent.

use rand_chacha::ChaCha8Rng;

use crate::seed::{rng, unit};
use crate::time::Nanos;

/// Poisson arrivals at a mean rate. The gaps are summed as they are drawn, so the schedule is
/// absolute and nothing drifts.
#[derive(Debug)]
pub struct Poisson {
    rate_per_s: f64,
    at_s: f64,
    rng: ChaCha8Rng,
}

impl Poisson {
    /// Arrivals at `rate_per_s`; an infinite rate makes all arrive at once.
    #[must_use]
    pub fn new(rate_per_s: f64, seed: u64) -> Self {
        Self { rate_per_s, at_s: 0.0, rng: rng(seed, &["arrival", "poisson"]) }
    }
}

impl Iterator for Poisson {
    type Item = Nanos;

    fn next(&mut self) -> Option<Nanos> {
        // Inversion: -ln(1 - u) is exponential with mean 1 for u uniform in [0, 1).
        self.at_s += -(1.0 - unit(&mut self.rng)).ln() / self.rate_per_s;
        Some(Nanos((self.at_s * 1e9) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn arrivals_keep_their_mean_rate_and_never_go_back(seed: u64, rate in 0.1f64..5_000.0) {
            let arrivals: Vec<Nanos> = Poisson::new(rate, seed).take(10_000).collect();
            prop_assert!(arrivals.is_sorted());
            let seconds = arrivals.last().expect("10,000 arrivals").seconds_after(Nanos::ZERO);
            // The sum of n exponential gaps has a relative deviation of 1/sqrt(n): 1 % here.
            prop_assert!((10_000.0 / seconds / rate - 1.0).abs() < 0.06);
        }

        #[test]
        fn a_seed_reproduces_its_arrivals(seed: u64) {
            let draw = || Poisson::new(7.0, seed).take(50).collect::<Vec<_>>();
            prop_assert_eq!(draw(), draw());
        }
    }

    #[test]
    fn an_infinite_rate_makes_all_arrive_at_once() {
        assert!(Poisson::new(f64::INFINITY, 1).take(9).all(|at| at == Nanos::ZERO));
    }
}
