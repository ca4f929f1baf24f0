//! Arrival processes with one arrival per second on average: endless iterators over the arrival times in
//! seconds. A [`Level`](crate::load::Level) scales these times to the requested rate, so every process can be
//! combined with every rate.
//!
//! Times are offsets from the start of the pass. They are not rounded, so rounding errors do not add up.
//! This module never waits.

mod constant;
mod gamma;
mod poisson;
mod scaled;
mod vllm;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use constant::Constant;
pub use gamma::Gamma;
pub use poisson::Poisson;
pub(crate) use scaled::scaled;
pub use vllm::Vllm;

/// The arrival process: how the gaps between arrivals vary at a given rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "process")]
pub enum Arrivals {
    /// Independent arrivals: exponential gaps.
    #[default]
    Poisson,
    /// Equal gaps.
    Constant,
    /// Gamma-distributed gaps.
    Gamma {
        /// The shape, above 0: a shape below 1 gives bursts, 1 is Poisson, a larger shape gives more even
        /// gaps.
        shape: f64,
    },
    /// The gaps that `vllm bench serve` draws with the same seed.
    Vllm {
        /// vLLM's burstiness, above 0: the shape of the gamma distribution of the gaps.
        shape: f64,
    },
}

impl Arrivals {
    /// Returns the process for a burstiness. As in vLLM, the burstiness is the shape of the gamma
    /// distribution of the gaps: 1 is Poisson, infinity is constant.
    pub fn of_burstiness(burstiness: f64) -> Self {
        if burstiness == 1.0 {
            Self::Poisson
        } else if burstiness.is_infinite() {
            Self::Constant
        } else {
            Self::Gamma { shape: burstiness }
        }
    }

    /// Returns the arrivals of `vllm bench serve` with this burstiness.
    pub fn of_vllm(burstiness: f64) -> Self {
        if burstiness.is_infinite() { Self::Constant } else { Self::Vllm { shape: burstiness } }
    }

    /// The shape of the gamma distribution of the gaps, which vLLM calls burstiness; infinity for equal gaps.
    pub fn burstiness(self) -> f64 {
        match self {
            Self::Poisson => 1.0,
            Self::Constant => f64::INFINITY,
            Self::Gamma { shape } | Self::Vllm { shape } => shape,
        }
    }

    /// Whether the arrival times of a measured run are known, also if another program measured the run. This is true
    /// for equal gaps, and for the gaps of vLLM, which depend only on vLLM's seed. A simulation then has the same
    /// arrivals.
    pub fn is_known(self) -> bool {
        matches!(self, Self::Constant | Self::Vllm { .. })
    }

    /// Returns an endless iterator over the arrival times in seconds, with one arrival per second on
    /// average.
    pub fn seconds(self, seed: u64) -> Box<dyn Iterator<Item = f64> + Send> {
        match self {
            Self::Poisson => Box::new(Poisson::new(seed)),
            Self::Constant => Box::new(Constant::default()),
            Self::Gamma { shape } => Box::new(Gamma::new(shape, seed)),
            Self::Vllm { shape } => Box::new(Vllm::new(shape, seed)),
        }
    }
}

impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Poisson | Self::Vllm { shape: 1.0 } => f.write_str("Poisson"),
            Self::Constant => f.write_str("constant"),
            Self::Gamma { shape } | Self::Vllm { shape } => write!(f, "gamma (burstiness {shape})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any() -> impl Strategy<Value = Arrivals> {
        prop_oneof![
            Just(Arrivals::Poisson),
            Just(Arrivals::Constant),
            (0.2f64..20.0).prop_map(|shape| Arrivals::Gamma { shape }),
            (0.2f64..20.0).prop_map(|shape| Arrivals::Vllm { shape }),
        ]
    }

    fn gaps(arrivals: Arrivals, seed: u64, count: usize) -> Vec<f64> {
        let seconds: Vec<f64> = arrivals.seconds(seed).take(count).collect();
        std::iter::once(0.0)
            .chain(seconds.iter().copied())
            .zip(&seconds)
            .map(|(a, b)| b - a)
            .collect()
    }

    proptest! {
        #[test]
        fn arrivals_are_ordered_and_have_a_mean_rate_of_1_per_second(arrivals in any(), seed: u64) {
            let gaps = gaps(arrivals, seed, 10_000);
            prop_assert!(gaps.iter().all(|&gap| gap >= 0.0));
            // The relative standard deviation of a gamma gap is 1/sqrt(shape). For the mean of 10,000 gaps
            // at a shape of 0.2, it is 2.2 %. The test allows a little more than five such deviations.
            let mean = gaps.iter().sum::<f64>() / 10_000.0;
            prop_assert!((mean - 1.0).abs() < 0.12, "{}", mean);
        }

        #[test]
        fn the_same_seed_gives_the_same_arrivals(arrivals in any(), seed: u64) {
            let draw = || arrivals.seconds(seed).take(50).collect::<Vec<_>>();
            prop_assert_eq!(draw(), draw());
        }
    }

    #[test]
    fn arrivals_are_bit_identical_on_every_machine() {
        let hash = |burstiness| {
            let seconds = Arrivals::of_burstiness(burstiness).seconds(1).take(1_000);
            let bits: Vec<u8> = seconds.flat_map(f64::to_le_bytes).collect();
            crate::sha256::sha256_hex(&bits)[..16].to_owned()
        };
        assert_eq!(
            [1.0, 0.4, 3.0].map(hash),
            ["ea7f22bc1a8ba8ba", "be75c1c24a058677", "0a40de634e544a21"]
        );
    }

    #[test]
    fn the_variance_of_the_gaps_is_1_over_the_burstiness() {
        for shape in [0.25, 0.5, 1.0, 4.0, 100.0] {
            let gaps = gaps(Arrivals::of_burstiness(shape), 7, 200_000);
            let mean = gaps.iter().sum::<f64>() / 2e5;
            let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / 2e5;
            assert!((variance * shape - 1.0).abs() < 0.05, "{shape}: {variance}");
        }
        assert_eq!(Arrivals::of_burstiness(f64::INFINITY), Arrivals::Constant);
        assert_eq!(gaps(Arrivals::Constant, 7, 4), [0.0, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn gaps_follow_the_gamma_distribution() {
        use statrs::distribution::ContinuousCDF;
        let processes = [|shape| Arrivals::Gamma { shape }, |shape| Arrivals::Vllm { shape }];
        for (shape, process) in
            [0.3, 1.0, 2.5].into_iter().flat_map(|it| processes.map(|of| (it, of)))
        {
            let mut gaps = gaps(process(shape), 3, 20_000);
            gaps.sort_by(f64::total_cmp);
            let law = statrs::distribution::Gamma::new(shape, shape).unwrap();
            let furthest = gaps
                .iter()
                .enumerate()
                .map(|(i, &gap)| (law.cdf(gap) - i as f64 / 2e4).abs())
                .fold(0.0, f64::max);
            // The critical value of the Kolmogorov-Smirnov test at 0.1 %: 1.95 / sqrt(20,000).
            assert!(furthest < 0.0138, "{shape}: {furthest}");
        }
    }
}
