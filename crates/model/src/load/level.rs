//! A level over time: the rate of an open loop, or the concurrency of a closed loop. A level is constant,
//! or consists of stages. Within a stage, the level stays constant, or rises or falls along a curve. No
//! random numbers are used.

use std::{fmt, time::Duration};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::json::{form, one_of};
use crate::{Bound, Nanos, stats::portable, time::nanoseconds};

/// The rate or the concurrency of a load, as a function of the time since the start of the pass.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Level {
    /// The same level at all times. If it is an infinite rate, all requests are due at the start.
    Constant(#[serde(serialize_with = "number::serialize")] f64),
    /// One stage after the other. After the last stage, no request is due.
    Stages(Vec<Stage>),
}

/// A part of a level: constant if `from` equals `to`, otherwise a ramp.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// The duration of the stage.
    #[serde(rename = "duration_ns", with = "nanoseconds")]
    pub duration: Duration,
    /// The level at the start of the stage.
    #[serde(with = "number")]
    pub from: f64,
    /// The level at the end of the stage.
    #[serde(with = "number")]
    pub to: f64,
    /// How the level changes from `from` to `to`.
    pub curve: Curve,
}

/// How a ramp changes from one level to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Curve {
    /// By equal amounts in equal times.
    #[default]
    Linear,
    /// By equal factors in equal times; both levels are above 0.
    Exponential,
}

impl<'de> Deserialize<'de> for Level {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        one_of(from, "a level or a list of stages", |value| match value {
            Value::Array(_) => form(value).map(Self::Stages),
            value => number::deserialize(value).ok().map(Self::Constant),
        })
    }
}

impl From<u32> for Level {
    fn from(level: u32) -> Self {
        Self::Constant(f64::from(level))
    }
}

impl From<f64> for Level {
    fn from(level: f64) -> Self {
        Self::Constant(level)
    }
}

impl Level {
    /// The duration of all stages together; `None` for a constant level, which does not end.
    pub fn duration(&self) -> Option<Duration> {
        match self {
            Self::Constant(_) => None,
            Self::Stages(stages) => Some(stages.iter().map(|stage| stage.duration).sum()),
        }
    }

    /// The level, if it is constant.
    pub fn constant(&self) -> Option<f64> {
        match self {
            Self::Constant(level) => Some(*level),
            Self::Stages(_) => None,
        }
    }

    /// A rate that `vllm bench serve` changes from request to request, as stages over time. It computes the rate from the
    /// index i of each of N requests, not from the time:
    ///
    /// - linear: from + (to - from) * i / (N - 1). The index grows faster at a higher rate, so the rate is exponential
    ///   in time. This is one exponential stage.
    /// - exponential: from * (to / from)^(i / (N - 1)). As a function of time, this rate is a hyperbola. No stage has
    ///   this form, so the ramp becomes `PARTS` linear stages with equal numbers of requests.
    ///
    /// A last stage keeps the final rate until all requests have been sent. `from` must be at most `to`.
    pub fn of_request_ramp(is_exponential: bool, from: f64, to: f64, requests: u32) -> Self {
        const PARTS: u32 = 32;
        let count = f64::from(requests);
        let stage = |seconds: f64, from: f64, to: f64, curve: Curve| Stage {
            duration: Duration::from_secs_f64(seconds),
            from,
            to,
            curve,
        };
        let mut stages = Vec::new();
        if from < to && !is_exponential {
            let seconds = count * portable::ln(to / from) / (to - from);
            stages.push(stage(seconds, from, to, Curve::Exponential));
        } else if from < to {
            let rate =
                |part: u32| from * portable::pow(to / from, f64::from(part) / f64::from(PARTS));
            stages.extend((0..PARTS).map(|part| {
                let (begin, end) = (rate(part), rate(part + 1));
                let seconds = 2.0 * count / f64::from(PARTS) / (begin + end);
                stage(seconds, begin, end, Curve::Linear)
            }));
        }
        // Random gaps can be longer than average. So this stage lasts over ten times the time of all requests at this
        // rate.
        stages.push(stage(10.0 * (count + 10.0) / to, to, to, Curve::Linear));
        Self::Stages(stages)
    }

    /// The integral of the level over the first seconds of a pass: for a rate, the mean number of arrivals.
    pub fn area_s(&self, seconds: f64) -> f64 {
        self.areas(Some(Duration::from_secs_f64(seconds))).last().copied().unwrap_or(0.0)
    }

    /// The highest level.
    pub fn peak(&self) -> f64 {
        match self {
            Self::Constant(level) => *level,
            Self::Stages(stages) => {
                stages.iter().map(|stage| stage.from.max(stage.to)).fold(0.0, f64::max)
            }
        }
    }

    /// The seconds after which the integral of the level over time reaches `area`; `None` if the integral over
    /// all stages is not larger than `area`. For a rate, the area is a number of requests, and the result is the
    /// time by which they have arrived.
    pub fn time_of_area_s(&self, area: f64) -> Option<f64> {
        match self {
            Self::Constant(level) => Some(area / level),
            Self::Stages(stages) => {
                let (mut start_s, mut left) = (0.0, area);
                for stage in stages {
                    let whole = stage.area();
                    if left < whole {
                        return Some(start_s + stage.time_of_area_s(left));
                    }
                    left -= whole;
                    start_s += stage.duration.as_secs_f64();
                }
                None
            }
        }
    }

    /// Returns, for each stage in order, the integral of the level from the start of the pass to the end of
    /// the stage. A constant level counts as one stage. Times after `limit` do not count. Without a limit,
    /// the integral of a constant level is infinite.
    pub(crate) fn areas(&self, limit: Option<Duration>) -> Vec<f64> {
        let limit_s = limit.map_or(f64::INFINITY, |limit| limit.as_secs_f64());
        match self {
            Self::Constant(level) => vec![level * limit_s],
            Self::Stages(stages) => {
                let (mut start_s, mut area) = (0.0, 0.0);
                let mut areas = Vec::new();
                for stage in stages {
                    let left_s = limit_s - start_s;
                    if left_s <= 0.0 {
                        break;
                    }
                    area += stage.area_until(left_s);
                    areas.push(area);
                    start_s += stage.duration.as_secs_f64();
                }
                areas
            }
        }
    }

    /// Returns the level rounded to whole numbers: instants in order, from 0 on, each with the number that
    /// applies until the next instant. After the last stage the number is 0.
    pub fn whole_steps(&self) -> Vec<(Nanos, u32)> {
        match self {
            Self::Constant(level) => vec![(Nanos::ZERO, level.round() as u32)],
            Self::Stages(stages) => {
                let mut steps = Vec::new();
                let mut start = Nanos::ZERO;
                for stage in stages {
                    stage.whole_steps(start, &mut steps);
                    start = start + stage.duration;
                }
                steps.push((start, 0));
                steps
            }
        }
    }
}

/// The times at which the stages of a load end. A request belongs to the stage in which it is due.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stages(Vec<Nanos>);

impl Stages {
    /// The stages of a level; empty if the level is constant or has only one stage.
    pub(crate) fn of(level: &Level) -> Self {
        let Level::Stages(stages) = level else { return Self::default() };
        if stages.len() < 2 {
            return Self::default();
        }
        let mut end = Nanos::ZERO;
        let ends = stages.iter().map(|stage| {
            end = end + stage.duration;
            end
        });
        Self(ends.collect())
    }

    /// The stage of a class that [`Stages::class`] gave, from 1; `None` if it has none.
    pub fn of_class(class: &str) -> Option<u32> {
        class.strip_prefix("stage ")?.split(',').next()?.parse().ok()
    }

    /// The class of a request that is due at this offset from the start of the pass: its stage, from 1,
    /// followed by the class that the workload gave it. If there are no stages, returns only the class of
    /// the workload.
    pub fn class(&self, due: Nanos, of_workload: Option<Box<str>>) -> Option<Box<str>> {
        let Some(last) = self.0.len().checked_sub(1) else { return of_workload };
        let stage = 1 + self.0.partition_point(|&end| end <= due).min(last);
        Some(match of_workload {
            None => format!("stage {stage}").into(),
            Some(class) => format!("stage {stage}, {class}").into(),
        })
    }
}

impl Stage {
    /// The integral of the level over the stage.
    fn area(&self) -> f64 {
        let ratio = portable::ln(self.to / self.from);
        let mean = match self.curve {
            Curve::Exponential if ratio != 0.0 => (self.to - self.from) / ratio,
            _ => 0.5 * (self.from + self.to),
        };
        mean * self.duration.as_secs_f64()
    }

    /// The integral of the level over this many seconds from the start of the stage, or over the whole stage if the
    /// stage is shorter.
    fn area_until(&self, seconds: f64) -> f64 {
        let whole_s = self.duration.as_secs_f64();
        if seconds >= whole_s {
            return self.area();
        }
        let share = seconds / whole_s;
        let to = match self.curve {
            Curve::Linear => self.from + share * (self.to - self.from),
            Curve::Exponential => self.from * portable::pow(self.to / self.from, share),
        };
        Self { duration: Duration::from_secs_f64(seconds), to, ..*self }.area()
    }

    /// The seconds from the start of the stage after which the integral of the level reaches `area`. `area`
    /// must be less than the integral over the whole stage.
    fn time_of_area_s(&self, area: f64) -> f64 {
        let whole_s = self.duration.as_secs_f64();
        let mean = area / whole_s;
        let ratio = portable::ln(self.to / self.from);
        let share = match self.curve {
            // Solves `from` (r^u - 1) / ln r = `mean` for u, with r = `to` / `from`.
            Curve::Exponential if ratio != 0.0 => portable::ln_1p(mean * ratio / self.from) / ratio,
            // Solves `from` u + (`to` - `from`) u^2 / 2 = `mean` for u. This form stays accurate when both
            // levels are equal.
            _ => {
                let slope = self.to - self.from;
                let root = (self.from * self.from + 2.0 * slope * mean).max(0.0).sqrt();
                if mean == 0.0 { 0.0 } else { 2.0 * mean / (self.from + root) }
            }
        };
        share.clamp(0.0, 1.0) * whole_s
    }

    /// The seconds from the stage's start at which a ramp reaches a level between its ends.
    fn crossing_s(&self, level: f64) -> f64 {
        let share = match self.curve {
            Curve::Linear => (level - self.from) / (self.to - self.from),
            Curve::Exponential => {
                portable::ln(level / self.from) / portable::ln(self.to / self.from)
            }
        };
        share.clamp(0.0, 1.0) * self.duration.as_secs_f64()
    }

    /// Appends the steps of the stage to `steps`. The rounded number changes where the level is halfway
    /// between two whole numbers.
    fn whole_steps(&self, start: Nanos, steps: &mut Vec<(Nanos, u32)>) {
        let (first, last) = (self.from.round() as u32, self.to.round() as u32);
        let crossing =
            |middle: f64| start + Duration::from_secs_f64(self.crossing_s(middle).max(0.0));
        steps.push((start, first));
        steps.extend((first + 1..=last).map(|up| (crossing(f64::from(up) - 0.5), up)));
        steps.extend((last..first).rev().map(|down| (crossing(f64::from(down) + 0.5), down)));
    }
}

impl fmt::Display for Level {
    /// The level as users write it: `8`, `60s@1..20`, `30s@2+30s@8`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(level) => write!(f, "{level}"),
            Self::Stages(stages) => {
                let stages: Vec<String> = stages.iter().map(ToString::to_string).collect();
                f.write_str(&stages.join("+"))
            }
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}s@{}", self.duration.as_secs_f64(), self.from)?;
        match self.curve {
            _ if self.from == self.to => Ok(()),
            Curve::Linear => write!(f, "..{}", self.to),
            Curve::Exponential => write!(f, "..{}:exp", self.to),
        }
    }
}

mod number {
    //! Stores a number that may be infinite. JSON has no infinity, so it is stored as the text `inf`. Whole
    //! numbers are stored as integers.
    use crate::json::one_of;
    use serde::{Deserializer, Serialize, Serializer};
    use serde_json::Value;

    pub fn serialize<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        if number.is_infinite() {
            "inf".serialize(serializer)
        } else if number.fract() == 0.0 && (0.0..1e15).contains(number) {
            (*number as u64).serialize(serializer)
        } else {
            number.serialize(serializer)
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        one_of(deserializer, "a number or `inf`", |value| match value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) if text == "inf" => Some(f64::INFINITY),
            _ => None,
        })
    }
}

/// The time of the last due request, in seconds from the start of the pass. `each` is the part of the
/// integral of the level that one request needs. In a closed loop, this is the duration of the request
/// in seconds. In an open loop, it is 1. Infinite if neither the level nor the bound ends.
pub(crate) fn bounded_s(level: &Level, bound: Bound, each: f64) -> f64 {
    let by_count = bound.requests.and_then(|count| level.time_of_area_s(f64::from(count) * each));
    let limits = [by_count, level.duration().map(|span| span.as_secs_f64())];
    let by_time = bound.duration.map(|span| span.as_secs_f64());
    limits.into_iter().flatten().chain(by_time).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests;
