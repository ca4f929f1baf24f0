//! Random numbers from a distribution: lengths, numbers of turns, think times. Each number depends only
//! on the seeded random generator. This module also defines the text form of distributions, but not the
//! meaning of the numbers.
//!
//! The text form is `8`, `uniform:2..8`, `exponential:8`, `geometric:8`, `normal:8,2` or `lognormal:8,2`.
//! The parameters of `lognormal` are the mean and the standard deviation of the number itself, not of its
//! logarithm. All distributions except `uniform` are specified by the mean of the number.

use derive_more::Display;
use rand_core::RngCore;
use serde::{Deserialize, Serialize};

use crate::stats::seed::{normal, unit};
use crate::{did_you_mean, stats::portable};

/// A distribution of numbers that are 0 or more.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Display)]
#[serde(rename_all = "snake_case", tag = "distribution")]
pub enum Distribution {
    /// Always the same number.
    #[display("{value}")]
    Constant {
        /// The number.
        value: f64,
    },
    /// All numbers between two limits are equally likely. [`Distribution::whole`] includes both limits.
    #[display("uniform:{least}..{most}")]
    Uniform {
        /// The smallest number.
        least: f64,
        /// The largest number.
        most: f64,
    },
    /// The exponential distribution, as for the times between independent events: many small numbers,
    /// few large ones.
    #[display("exponential:{mean}")]
    Exponential {
        /// The mean.
        mean: f64,
    },
    /// The geometric distribution: whole numbers from 1 on. The ratio between the probabilities of a number
    /// and the next one is always the same.
    #[display("geometric:{mean}")]
    Geometric {
        /// The mean, at least 1.
        mean: f64,
    },
    /// The normal distribution. Smaller numbers than the minimum (0 for [`Distribution::draw`], `least` for
    /// [`Distribution::whole`]) are replaced by the minimum. If the deviation is large relative to the
    /// mean, the mean of the drawn numbers is therefore larger.
    #[display("normal:{mean},{deviation}")]
    Normal {
        /// The mean.
        mean: f64,
        /// The standard deviation.
        deviation: f64,
    },
    /// The log-normal distribution: the logarithm of the number has a normal distribution. It has a long
    /// tail of large numbers.
    #[display("lognormal:{mean},{deviation}")]
    Lognormal {
        /// The mean of the number, not of its logarithm.
        mean: f64,
        /// The standard deviation of the number.
        deviation: f64,
    },
}

/// The names in the text form; a constant has no name.
const NAMES: [&str; 5] = ["uniform", "exponential", "geometric", "normal", "lognormal"];

impl Distribution {
    /// The distribution that always gives this number.
    pub fn constant(value: f64) -> Self {
        Self::Constant { value }
    }

    /// Parses a distribution. `number` parses one number with its unit, or returns an error message.
    ///
    /// # Errors
    /// If the text is not a distribution.
    pub fn parse(
        text: &str,
        number: impl Fn(&str) -> Result<f64, &'static str>,
    ) -> Result<Self, DistributionError> {
        let number = |text: &str| number(text).map_err(DistributionError::Number);
        let Some((name, rest)) = text.trim().split_once(':') else {
            return Ok(Self::Constant { value: number(text.trim())? });
        };
        let two = |separator: &str| -> Result<(f64, f64), DistributionError> {
            let (one, other) = rest
                .split_once(separator)
                .ok_or_else(|| DistributionError::OneNumber(name.to_owned()))?;
            Ok((number(one.trim())?, number(other.trim())?))
        };
        match name {
            "uniform" => match two("..")? {
                (least, most) if least <= most => Ok(Self::Uniform { least, most }),
                _ => Err(DistributionError::Descending),
            },
            "exponential" => Ok(Self::Exponential { mean: number(rest)? }),
            "geometric" => match number(rest)? {
                mean if mean >= 1.0 => Ok(Self::Geometric { mean }),
                _ => Err(DistributionError::MeanBelowOne),
            },
            "normal" => two(",").map(|(mean, deviation)| Self::Normal { mean, deviation }),
            "lognormal" => match two(",")? {
                (mean, deviation) if mean > 0.0 => Ok(Self::Lognormal { mean, deviation }),
                _ => Err(DistributionError::MeanOfZero),
            },
            other => Err(DistributionError::Unknown(other.to_owned())),
        }
    }

    /// Parses a distribution of whole numbers, for [`Self::whole`].
    ///
    /// # Errors
    /// Those of [`Self::parse`], and if no whole number is in the range of `uniform`.
    pub fn parse_whole(
        text: &str,
        number: impl Fn(&str) -> Result<f64, &'static str>,
    ) -> Result<Self, DistributionError> {
        match Self::parse(text, number)? {
            Self::Uniform { least, most } if least.ceil() > most.floor() => {
                Err(DistributionError::NoWholeNumber)
            }
            found => Ok(found),
        }
    }

    /// The mean of the distribution, before [`Self::draw`] or [`Self::whole`] replaces numbers below its
    /// minimum.
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Constant { value } => value,
            Self::Uniform { least, most } => f64::midpoint(least, most),
            Self::Exponential { mean }
            | Self::Geometric { mean }
            | Self::Normal { mean, .. }
            | Self::Lognormal { mean, .. } => mean,
        }
    }

    /// Draws a number, 0 or more.
    pub fn draw(&self, rng: &mut impl RngCore) -> f64 {
        match *self {
            Self::Constant { value } => value,
            Self::Uniform { least, most } => least + unit(rng) * (most - least),
            // Inversion: -ln(1 - u) is exponential with mean 1 for u uniform in [0, 1).
            Self::Exponential { mean } => -portable::ln(1.0 - unit(rng)) * mean,
            Self::Geometric { mean } if mean <= 1.0 => 1.0,
            // Inversion of 1 - (1 - p)^k with p = 1 / mean.
            Self::Geometric { mean } => {
                (portable::ln(1.0 - unit(rng)) / portable::ln(1.0 - 1.0 / mean)).floor() + 1.0
            }
            Self::Normal { mean, deviation } => (mean + deviation * normal(rng)).max(0.0),
            // Let s^2 = ln(1 + (deviation / mean)^2) and m = ln(mean) - s^2 / 2, and let z be standard
            // normal. Then exp(m + s z) has the mean `mean` and the standard deviation `deviation`.
            Self::Lognormal { mean, deviation } => {
                let spread = deviation / mean;
                let variance = portable::ln_1p(spread * spread);
                let middle = portable::ln(mean) - variance / 2.0;
                portable::exp(middle + variance.sqrt() * normal(rng))
            }
        }
    }

    /// Draws a whole number, `least` or more. With `Uniform`, all whole numbers of the range are equally
    /// likely; the range must contain one ([`Self::parse_whole`]).
    pub fn whole(&self, rng: &mut impl RngCore, least: u32) -> u32 {
        let drawn = match *self {
            Self::Uniform { least, most } => {
                let (least, most) = (least.ceil(), most.floor());
                (least + (unit(rng) * (most - least + 1.0)).floor()).min(most)
            }
            _ => self.draw(rng).round(),
        };
        (drawn as u32).max(least)
    }
}

/// Why a text is not a distribution, as the rest of a sentence that begins with the quoted text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DistributionError {
    /// A number of the distribution is wrong, for this reason.
    #[error("{0}")]
    Number(&'static str),
    /// The distribution of this name needs two numbers.
    #[error("needs two numbers, as in {}", example(.0))]
    OneNumber(String),
    /// The numbers of `uniform` descend.
    #[error("has a smallest number above its largest number")]
    Descending,
    /// The mean of `geometric` is too small.
    #[error("has a mean below 1, the minimum of a geometric distribution")]
    MeanBelowOne,
    /// The mean of `lognormal` is 0.
    #[error("has a mean of 0; give a mean above 0")]
    MeanOfZero,
    /// No distribution has this name.
    #[error(
        "names `{0}`, which is not a distribution{meant}; the distributions are {known}",
        meant = did_you_mean(.0, NAMES),
        known = NAMES.map(example).join(", ")
    )]
    Unknown(String),
    /// The range of `uniform` has no whole number, but whole numbers are needed.
    #[error("contains no whole number; write whole limits, such as uniform:2..3")]
    NoWholeNumber,
}

/// An example of the text form of the distribution with this name.
fn example(name: &str) -> String {
    let rest = match name {
        "uniform" => "2..8",
        "exponential" | "geometric" => "8",
        _ => "8,2",
    };
    format!("{name}:{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::seed::rng;

    fn parse(text: &str) -> Result<Distribution, DistributionError> {
        Distribution::parse(text, |number| number.parse().map_err(|_| "is not a number"))
    }

    #[test]
    fn parsing_and_displaying_a_distribution_gives_the_same_text() {
        for text in
            ["8", "uniform:2..8", "exponential:8", "geometric:8", "normal:8,2", "lognormal:8,2.5"]
        {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn invalid_distributions_are_refused_with_advice() {
        for (wrong, told) in [
            ("many", "is not a number"),
            ("unifrom:2..8", "did you mean `uniform`"),
            ("uniform:2", "uniform:2..8"),
            ("uniform:8..2", "has a smallest number above its largest number"),
            ("normal:8", "normal:8,2"),
            ("geometric:0.5", "mean below 1"),
            ("lognormal:0,1", "mean of 0"),
        ] {
            let problem = parse(wrong).unwrap_err().to_string();
            assert!(problem.contains(told), "{wrong}: {problem}");
        }
    }

    #[test]
    fn a_range_without_a_whole_number_is_refused_only_if_whole_numbers_are_needed() {
        let whole = |text| {
            Distribution::parse_whole(text, |number| number.parse().map_err(|_| "is not a number"))
        };
        let told = whole("uniform:2.2..2.8").unwrap_err();
        assert_eq!(told, DistributionError::NoWholeNumber);
        for text in ["uniform:2.2..3.8", "uniform:3..3", "lognormal:2.2,0.1"] {
            assert_eq!(whole(text), parse(text));
        }
        assert!(parse("uniform:2.2..2.8").is_ok());
    }

    #[test]
    fn samples_of_every_distribution_have_its_mean_and_standard_deviation() {
        let root = f64::sqrt;
        for (text, deviation) in [
            ("8", 0.0),
            ("uniform:2..8", root(3.0)),
            ("exponential:8", 8.0),
            ("geometric:8", root(56.0)),
            ("normal:80,7", 7.0),
            ("lognormal:8,3", 3.0),
        ] {
            let distribution = parse(text).unwrap();
            let mut rng = rng(1, &["test"]);
            let drawn: Vec<f64> = (0..200_000).map(|_| distribution.draw(&mut rng)).collect();
            let mean = drawn.iter().sum::<f64>() / 2e5;
            let variance = drawn.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / 2e5;
            assert!((mean / distribution.mean() - 1.0).abs() < 0.01, "{text}: {mean}");
            assert!((variance.sqrt() - deviation).abs() <= deviation * 0.03, "{text}: {variance}");
            assert!(drawn.iter().all(|&one| one >= 0.0), "{text}");
        }
    }

    #[test]
    fn samples_are_bit_identical_on_every_machine() {
        let hash = |text| {
            let (distribution, mut rng) = (parse(text).unwrap(), rng(1, &["golden"]));
            let bits = (0..1_000).flat_map(|_| distribution.draw(&mut rng).to_le_bytes());
            crate::sha256::sha256_hex(&bits.collect::<Vec<u8>>())[..16].to_owned()
        };
        let texts =
            ["uniform:2..8", "exponential:8", "geometric:8", "normal:80,7", "lognormal:8,3"];
        assert_eq!(
            texts.map(hash),
            [
                "d1f59044619b3324", "4917f2ddd871ed0a", "39c9751171bece80", "fc0857aa11e7822a",
                "8765472723480996"
            ]
        );
    }

    #[test]
    fn integer_samples_are_uniform_including_both_ends_and_respect_the_minimum() {
        let mut rng = rng(1, &["test"]);
        let uniform = parse("uniform:2..4").unwrap();
        let mut counts = [0u32; 6];
        (0..30_000).for_each(|_| counts[uniform.whole(&mut rng, 1) as usize] += 1);
        assert!(counts[2..5].iter().all(|count| count.abs_diff(10_000) < 400), "{counts:?}");
        assert_eq!(counts[2..5].iter().sum::<u32>(), 30_000);
        assert!((0..1_000).all(|_| parse("exponential:1").unwrap().whole(&mut rng, 1) >= 1));
    }

    #[test]
    fn a_seed_determines_its_samples() {
        let draw = |seed| {
            let mut rng = rng(seed, &["test"]);
            let lognormal = parse("lognormal:8,3").unwrap();
            (0..10).map(|_| lognormal.draw(&mut rng)).collect::<Vec<_>>()
        };
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
    }
}
