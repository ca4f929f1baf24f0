//! Draws the input or output length of a request from a range around the length of the grid, from a
//! distribution, or from a histogram.

use inferometer_model::{load::distribution::Distribution, stats::seed};
use inferometer_plan::{Lengths, spec::MAX_LENGTH};

use super::{histogram::Histogram, pairs::PairSampler};
use crate::{PromptScope, WorkloadError};

/// Which length is drawn: the input length or the output length.
#[derive(Clone, Copy, Debug)]
pub enum Axis {
    Input,
    Output,
}

/// Draws input lengths, or output lengths.
pub struct LengthSampler {
    axis: Axis,
    source: Source,
}

enum Source {
    Around { ratio: f64 },
    Drawn(Distribution),
    Histogram(Histogram),
    Pairs(PairSampler),
}

impl LengthSampler {
    /// Opens the source of the lengths, and reads the file of a histogram.
    pub fn open(lengths: &Lengths, axis: Axis) -> Result<Self, WorkloadError> {
        let source = match lengths {
            Lengths::Around { ratio } => Source::Around { ratio: *ratio },
            Lengths::Drawn(distribution) => Source::Drawn(*distribution),
            Lengths::Histogram { file } => Source::Histogram(Histogram::open(file)?),
            Lengths::Pairs(pairs) => Source::Pairs(PairSampler::new(pairs)),
        };
        Ok(Self { axis, source })
    }

    /// The largest length that can be drawn; `None` if only the draws show how long a request is.
    pub fn most(&self, around: u32) -> Option<u32> {
        match self.source {
            Source::Around { ratio } => Some((f64::from(around) * (1.0 + ratio)).ceil() as u32),
            Source::Drawn(Distribution::Uniform { most, .. }) => {
                Some((most.floor() as u32).min(MAX_LENGTH))
            }
            Source::Drawn(_) | Source::Histogram(_) | Source::Pairs(_) => None,
        }
    }

    /// Draws the length of the request with this index in a scope, in tokens. `around` is the length of
    /// the grid. With the ratio 0, the result is always `around`; otherwise it is at least 1. A number above
    /// [`MAX_LENGTH`] from a distribution becomes [`MAX_LENGTH`].
    pub fn draw(&self, around: u32, seed: u64, scope: &PromptScope, index: u64) -> u32 {
        let axis = match self.axis {
            Axis::Input => "input length",
            Axis::Output => "output length",
        };
        let (repeat, number) = (scope.repeat.to_string(), index.to_string());
        let mut rng = seed::rng(seed, &[axis, &scope.cell, &scope.pass, &repeat, &number]);
        match &self.source {
            Source::Around { ratio: 0.0 } => around,
            // L is `around` and r is `ratio`. The range is floor(L (1 - r)) to ceil(L (1 + r)), as in
            // `vllm bench serve`. SGLang's `--random-range-ratio` draws from L r to L instead.
            Source::Around { ratio } => {
                let least = (f64::from(around) * (1.0 - ratio)).floor();
                let most = (f64::from(around) * (1.0 + ratio)).ceil();
                Distribution::Uniform { least, most }.whole(&mut rng, 1)
            }
            Source::Drawn(distribution) => distribution.whole(&mut rng, 1).min(MAX_LENGTH),
            Source::Histogram(histogram) => histogram.draw(&mut rng),
            Source::Pairs(pairs) => {
                let pair = pairs.of(seed, scope, index);
                let length = match self.axis {
                    Axis::Input => &pair.input,
                    Axis::Output => &pair.output,
                };
                length.whole(&mut rng, 1).min(MAX_LENGTH)
            }
        }
    }

    /// The class of the request with this index in a scope, if its lengths are one of several pairs.
    pub fn class(&self, seed: u64, scope: &PromptScope, index: u64) -> Option<&str> {
        match &self.source {
            Source::Pairs(pairs) => pairs.name(seed, scope, index),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn drawn(lengths: &Lengths, around: u32, seed: u64, count: u64) -> Vec<u32> {
        let axis = LengthSampler::open(lengths, Axis::Input).expect("it opens");
        let scope = PromptScope::new("cell", "pass", 0);
        (0..count).map(|index| axis.draw(around, seed, &scope, index)).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn sampled_lengths_stay_within_the_range_ratio_and_their_mean_is_the_grid_length(
            around in 20_u32..4_000, ratio in 0.0..0.95, seed: u64,
        ) {
            let found = drawn(&Lengths::Around { ratio }, around, seed, 2_000);
            let (least, most) = (f64::from(around) * (1.0 - ratio), f64::from(around) * (1.0 + ratio));
            for length in &found {
                prop_assert!((least.floor()..=most.ceil()).contains(&f64::from(*length)));
            }
            let mean = found.iter().map(|length| f64::from(*length)).sum::<f64>() / 2e3;
            // The largest accepted error: six standard errors of the mean of a uniform distribution,
            // plus rounding.
            let error = 6.0 * ratio * f64::from(around) / (3.0_f64 * 2e3).sqrt() + 0.5;
            prop_assert!((mean - f64::from(around)).abs() <= error, "{mean} for {around}");
            prop_assert_eq!(&found, &drawn(&Lengths::Around { ratio }, around, seed, 2_000));
        }
    }

    #[test]
    fn lengths_from_a_distribution_have_its_mean_and_ignore_the_grid() {
        let of = |distribution| {
            let found = drawn(&Lengths::Drawn(distribution), 7, 1, 20_000);
            found.iter().map(|length| f64::from(*length)).sum::<f64>() / 2e4
        };
        for (distribution, deviation) in [
            (Distribution::Normal { mean: 512.0, deviation: 100.0 }, 100.0),
            (Distribution::Lognormal { mean: 512.0, deviation: 256.0 }, 256.0),
            (Distribution::Uniform { least: 100.0, most: 924.0 }, 238.0),
        ] {
            let mean = of(distribution);
            assert!((mean - 512.0).abs() < 5.0 * deviation / 141.0, "{distribution}: {mean}");
        }
    }

    #[test]
    fn a_length_that_a_distribution_draws_is_at_most_the_longest_of_a_plan() {
        let exponential = Distribution::Exponential { mean: f64::from(MAX_LENGTH) };
        let found = drawn(&Lengths::Drawn(exponential), 7, 1, 100);
        assert_eq!(found.iter().max(), Some(&MAX_LENGTH));
    }

    #[test]
    fn a_different_seed_or_scope_gives_different_lengths() {
        let lengths = Lengths::Around { ratio: 0.5 };
        assert_ne!(drawn(&lengths, 1_000, 1, 50), drawn(&lengths, 1_000, 2, 50));
        let axis = LengthSampler::open(&lengths, Axis::Input).expect("it opens");
        let other = PromptScope::new("cell", "other", 0);
        let there: Vec<u32> = (0..50).map(|index| axis.draw(1_000, 1, &other, index)).collect();
        assert_ne!(drawn(&lengths, 1_000, 1, 50), there);
    }
}
