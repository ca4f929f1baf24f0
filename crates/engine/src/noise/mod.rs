//! Options for the noise of the engine: how the durations of steps differ from their computed cost, as on a real
//! engine. This file parses and formats the options; it generates no random numbers.

mod state;

use std::{fmt, time::Duration};

use crate::EngineError;
pub use state::NoiseState;

/// The kinds of noise, which make steps longer or shorter than their computed cost. An absent kind has no effect. Idle
/// time of the engine does not count in any of the times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Noise {
    /// Independent variation of each step: the standard deviation of the logarithm of its factor, whose mean is 1.
    pub step: Option<f64>,
    /// Slow variation of all steps together.
    pub drift: Option<Drift>,
    /// Slower steps at the start.
    pub warmup: Option<WarmUp>,
    /// A few much slower steps.
    pub burst: Option<Burst>,
    /// Occasional stops of the engine.
    pub pause: Option<Pause>,
    /// The seed of all random numbers; absent: the caller chooses one.
    pub seed: Option<u64>,
}

/// A factor on all steps, with mean 1, that changes slowly. Its logarithm is a first-order autoregressive process,
/// which starts in its stationary distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// The standard deviation of the logarithm of the factor.
    pub sd: f64,
    /// The time after which the correlation with an earlier value has decreased to 1/e.
    pub time: Duration,
}

/// Slower steps at the start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WarmUp {
    /// The relative increase of the duration of the first step. It decreases linearly to 0.
    pub share: f64,
    /// The time after which the increase is 0.
    pub time: Duration,
}

/// Slow steps without a visible cause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burst {
    /// The probability that a step is slow.
    pub probability: f64,
    /// The factor by which a slow step takes longer.
    pub factor: f64,
}

/// Stops of the engine, such as garbage collections. A stop occurs within a step and makes this step longer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pause {
    /// The length of a stop.
    pub length: Duration,
    /// The mean time from the end of a stop to the start of the next stop. These times are exponentially distributed.
    pub every: Duration,
}

const LONGEST_PAUSE: Duration = Duration::from_secs(3_600);
const SHORTEST_WAY: Duration = Duration::from_millis(1);

const PARTS: &str = "write parts such as step=0.05,drift=0.02:60s,warmup=0.3:5s,burst=0.001:5,\
    pause=20ms:10s,seed=7";

impl Noise {
    /// Parses `step=SD,drift=SD:TIME,warmup=SHARE:TIME,burst=PROBABILITY:FACTOR,pause=TIME:EVERY,seed=N`. Every part is
    /// optional.
    ///
    /// # Errors
    /// If a part is wrong or is given twice, or if there is no kind of noise. The error names the part or the whole
    /// text, and states what is wrong or allowed.
    pub fn parse(text: &str) -> Result<Self, EngineError> {
        let mut noise = Self::default();
        for part in text.split(',').map(str::trim) {
            let problem = |expected: &str| EngineError::invalid("--noise", part, expected);
            let (name, value) = part.split_once('=').ok_or_else(|| problem(PARTS))?;
            let read = match name {
                "step" => set(
                    &mut noise.step,
                    number(value, 0.0, 2.0),
                    "write step=SD, the standard deviation of the logarithm of step times: 0 to 2",
                ),
                "drift" => set(
                    &mut noise.drift,
                    two(value, |sd| number(sd, 0.0, 2.0), span)
                        .map(|(sd, time)| Drift { sd, time }),
                    "write drift=SD:TIME, a standard deviation of 0 to 2 and the correlation time, \
                     such as drift=0.02:60s",
                ),
                "warmup" => set(
                    &mut noise.warmup,
                    two(value, |share| number(share, 0.0, 1000.0), span)
                        .map(|(share, time)| WarmUp { share, time }),
                    "write warmup=SHARE:TIME, the relative increase of the first step's duration \
                     (0 to 1000) and the time until it is 0, such as warmup=0.3:5s",
                ),
                "burst" => set(
                    &mut noise.burst,
                    two(value, |share| number(share, 0.0, 1.0), |by| number(by, 1.0, 1e6))
                        .map(|(probability, factor)| Burst { probability, factor }),
                    "write burst=PROBABILITY:FACTOR, the share of slow steps (0 to 1) and the \
                     factor of their time (1 to 1000000), such as burst=0.001:5",
                ),
                "pause" => {
                    // If pauses were closer together, a prediction would spend most of its time on computing pauses.
                    let length = |text: &str| span(text).filter(|&time| time <= LONGEST_PAUSE);
                    let every = |text: &str| span(text).filter(|&time| time >= SHORTEST_WAY);
                    set(
                        &mut noise.pause,
                        two(value, length, every).map(|(length, every)| Pause { length, every }),
                        "write pause=TIME:EVERY, the length of a pause (at most 1h) and the mean \
                         time between two pauses (at least 1ms), such as pause=20ms:10s",
                    )
                }
                "seed" => set(
                    &mut noise.seed,
                    value.parse().ok(),
                    "write seed=N, a whole number from 0 to 18446744073709551615",
                ),
                _ => Err(PARTS),
            };
            read.map_err(problem)?;
        }
        if (Self { seed: None, ..noise }) == Self::default() {
            return Err(EngineError::invalid(
                "--noise",
                text,
                format!("contains no kind of noise; {PARTS}"),
            ));
        }
        Ok(noise)
    }

    /// Returns the noise with this seed if it has no seed yet.
    #[must_use]
    pub fn or_seed(self, seed: u64) -> Self {
        Self { seed: self.seed.or(Some(seed)), ..self }
    }
}

impl fmt::Display for Noise {
    /// Writes the noise in the format that [`Noise::parse`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |time: Duration| format!("{}s", time.as_secs_f64());
        let parts = [
            self.step.map(|sd| format!("step={sd}")),
            self.drift.map(|it| format!("drift={}:{}", it.sd, seconds(it.time))),
            self.warmup.map(|it| format!("warmup={}:{}", it.share, seconds(it.time))),
            self.burst.map(|it| format!("burst={}:{}", it.probability, it.factor)),
            self.pause.map(|it| format!("pause={}:{}", seconds(it.length), seconds(it.every))),
            self.seed.map(|seed| format!("seed={seed}")),
        ];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(","))
    }
}

/// Sets an absent value. Without a value, the error is `expected`.
fn set<T>(
    slot: &mut Option<T>,
    value: Option<T>,
    expected: &'static str,
) -> Result<(), &'static str> {
    match slot.replace(value.ok_or(expected)?) {
        None => Ok(()),
        Some(_) => Err("this part is given twice"),
    }
}

fn two<A, B>(
    value: &str,
    first: impl Fn(&str) -> Option<A>,
    second: impl Fn(&str) -> Option<B>,
) -> Option<(A, B)> {
    let (a, b) = value.split_once(':')?;
    Some((first(a)?, second(b)?))
}

fn number(text: &str, least: f64, most: f64) -> Option<f64> {
    text.parse().ok().filter(|number| (least..=most).contains(number))
}

/// Parses a time from 1e-6 to 1e9 seconds: `20ms`, `5s`, `10m` (or `10min`), `2h`.
fn span(text: &str) -> Option<Duration> {
    let split = text.find(|c: char| c.is_ascii_alphabetic())?;
    let unit_s = match &text[split..] {
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    number(&text[..split], 0.0, 1e9)
        .map(|figure| figure * unit_s)
        .filter(|seconds| (1e-6..=1e9).contains(seconds))
        .map(Duration::from_secs_f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noise_specification_is_unchanged_after_parsing_and_formatting() {
        let all = "step=0.05,drift=0.02:60s,warmup=0.3:5s,burst=0.001:5,pause=0.02s:10s,seed=7";
        let noise = Noise::parse(all).unwrap();
        assert_eq!(noise.to_string(), all);
        assert_eq!(noise.drift, Some(Drift { sd: 0.02, time: Duration::from_secs(60) }));
        assert_eq!(noise.pause.map(|it| it.length), Some(Duration::from_millis(20)));
        let spaced = Noise::parse("pause=20ms:1m, step=0.1").unwrap();
        assert_eq!(spaced.to_string(), "step=0.1,pause=0.02s:60s");
        let seeded = Noise::parse("step=0.1").unwrap().or_seed(3);
        assert_eq!((seeded.seed, noise.or_seed(3).seed), (Some(3), Some(7)));
    }

    #[test]
    fn an_invalid_noise_specification_is_an_error_that_names_the_invalid_part() {
        for (text, part, words) in [
            ("", "--noise :", "write parts"),
            ("seed=3", "--noise seed=3:", "contains no kind of noise"),
            ("step=0.1,shake=3", "--noise shake=3:", "write parts"),
            ("step=-1", "--noise step=-1:", "0 to 2"),
            ("step=NaN", "--noise step=NaN:", "0 to 2"),
            ("step=0.1,step=0.2", "--noise step=0.2:", "twice"),
            ("drift=0.1", "--noise drift=0.1:", "SD:TIME"),
            ("drift=0.1:60", "--noise drift=0.1:60:", "drift=0.02:60s"),
            ("drift=0.1:0s", "--noise drift=0.1:0s:", "drift=0.02:60s"),
            ("warmup=x:5s", "--noise warmup=x:5s:", "SHARE:TIME"),
            ("burst=2:5", "--noise burst=2:5:", "0 to 1"),
            ("burst=0.1:0.5", "--noise burst=0.1:0.5:", "1 to 1000000"),
            ("pause=20:10s", "--noise pause=20:10s:", "20ms:10s"),
            ("step=0.1,seed=-1", "--noise seed=-1:", "whole number"),
        ] {
            let message = Noise::parse(text).unwrap_err().to_string();
            assert!(message.starts_with(part) && message.contains(words), "{text}: {message}");
        }
    }
}
