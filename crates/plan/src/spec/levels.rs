//! Parses levels as users write them: `8`, `60s@1..64`, `60s@1..64:exp`, `30s@2+30s@8`, and the stages of a
//! plan file.

use std::time::Duration;

use inferometer_model::json::{form, one_of};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value as Json;

use super::limits::{MAX_IN_FLIGHT, MAX_RATE, MIN_RATE};
use super::values::{self, Value};
use inferometer_model::load::{Curve, Level, Stage};

/// The stages of a load: a text such as `30s@2,30s@8` in requests/s, or one table for each stage.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Stages {
    /// The form in a flag.
    Text(String),
    /// The form in a plan file.
    Tables(Vec<StageTable>),
}

impl<'de> Deserialize<'de> for Stages {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        one_of(from, "a text or a list of tables", |value| match value {
            Json::String(text) => Some(Self::Text(text)),
            value => form(value).map(Self::Tables),
        })
    }
}

impl std::str::FromStr for Stages {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::Text(text.to_owned()))
    }
}

/// A `[[stages]]` table of a plan file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageTable {
    /// The duration of the stage.
    pub duration: Value,
    /// Requests per second: `8`, `2..8` for a ramp, or `2..8:exp` for an exponential ramp. A stage has either
    /// `rate` or `concurrency`.
    pub rate: Option<Value>,
    /// Requests in flight, in the same form.
    pub concurrency: Option<Value>,
}

/// A load in stages, with the unit of its level.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Staged {
    Rate(Level),
    Concurrency(Level),
}

const PROBLEM: &str = "is not a load; write a rate up to 1000000, or a whole number of requests in \
    flight up to 65536, or stages: 30s@8 (constant), 60s@1..64 (a ramp), 60s@1..64:exp (an exponential \
    ramp); join stages by `+`, but by `,` in --stages";

const TOO_LOW: &str = "is too low; the minimum is 0.000001 requests per second";

const TOO_MANY_IN_FLIGHT: &str = "is too high; the maximum is 65536 requests in flight";

/// Parses a rate in requests per second, or its stages; `inf`: all requests are due at the start.
pub(crate) fn rate(value: &Value) -> Result<Level, &'static str> {
    match value {
        Value::Text(text) if text.contains('@') => stages(text, '+'),
        _ => match values::rate(value)? {
            rate if rate > MAX_RATE && rate.is_finite() => Err(
                "is too high; the maximum is 1000000 requests per second (`inf`: all at the start)",
            ),
            rate if rate < MIN_RATE => Err(TOO_LOW),
            rate => Ok(Level::Constant(rate)),
        },
    }
}

/// Parses a finite and constant rate in requests per second.
pub(crate) fn constant_rate(value: &Value) -> Result<f64, &'static str> {
    match values::positive(value)? {
        rate if rate > MAX_RATE => Err("is too high; the maximum is 1000000 requests per second"),
        rate if rate < MIN_RATE => Err(TOO_LOW),
        rate => Ok(rate),
    }
}

/// Parses a number of requests in flight, or its stages.
pub(crate) fn concurrency(value: &Value) -> Result<Level, &'static str> {
    match value {
        Value::Text(text) if text.contains('@') => stages(text, '+').and_then(in_flight),
        _ => match values::count(value) {
            Ok(0) => Err("is not a number of requests in flight; give 1 or more"),
            Ok(count) if count > MAX_IN_FLIGHT => Err(TOO_MANY_IN_FLIGHT),
            Ok(count) => Ok(count.into()),
            Err(_) => Err(PROBLEM),
        },
    }
}

/// Returns the level if its peak is at most the limit of requests in flight; otherwise an error.
fn in_flight(level: Level) -> Result<Level, &'static str> {
    if level.peak() > f64::from(MAX_IN_FLIGHT) { Err(TOO_MANY_IN_FLIGHT) } else { Ok(level) }
}

/// Parses all stages of one load.
pub(crate) fn staged(stages_: &Stages) -> Result<Staged, &'static str> {
    match stages_ {
        Stages::Text(text) => stages(text, ',').map(Staged::Rate),
        Stages::Tables(tables) => tables_level(tables),
    }
}

fn tables_level(tables: &[StageTable]) -> Result<Staged, &'static str> {
    const MIXED: &str = "must have either a rate in every stage or a concurrency in every stage";
    let level = |of: fn(&StageTable) -> Option<&Value>| {
        let stage = |table: &StageTable| -> Result<Stage, &'static str> {
            let duration = values::span(&table.duration)?;
            stage(duration, &of(table).ok_or(MIXED)?.to_string())
        };
        checked(tables.iter().map(stage).collect::<Result<_, _>>()?)
    };
    let has_rate = tables.iter().any(|table| table.rate.is_some());
    let has_concurrency = tables.iter().any(|table| table.concurrency.is_some());
    match (has_rate, has_concurrency) {
        (true, false) => level(|table| table.rate.as_ref()).map(Staged::Rate),
        (false, true) => {
            let level = level(|table| table.concurrency.as_ref()).and_then(in_flight)?;
            Ok(Staged::Concurrency(level))
        }
        _ => Err(MIXED),
    }
}

fn stages(text: &str, separator: char) -> Result<Level, &'static str> {
    let stage = |part: &str| -> Result<Stage, &'static str> {
        let (duration, level) = part.split_once('@').ok_or(PROBLEM)?;
        stage(values::span(&Value::Text(duration.to_owned()))?, level)
    };
    checked(text.split(separator).map(stage).collect::<Result<_, _>>()?)
}

fn stage(duration: Duration, level: &str) -> Result<Stage, &'static str> {
    let (range, curve) = match level.trim().strip_suffix(":exp") {
        Some(range) => (range, Curve::Exponential),
        None => (level.trim(), Curve::Linear),
    };
    let (from, to) = range.split_once("..").unwrap_or((range, range));
    let number = |text: &str| -> Result<f64, &'static str> {
        let level: f64 = text.trim().parse().map_err(|_| PROBLEM)?;
        match level {
            0.0 => Ok(level),
            level if (MIN_RATE..=MAX_RATE).contains(&level) => Ok(level),
            level if level > 0.0 && level < MIN_RATE => {
                Err("has a level that is too low; give 0, or 0.000001 or more")
            }
            _ => Err(PROBLEM),
        }
    };
    let (from, to) = (number(from)?, number(to)?);
    if curve == Curve::Exponential && (from == 0.0 || to == 0.0) {
        return Err("has an exponential ramp that begins or ends at 0; give a level above 0");
    }
    Ok(Stage { duration, from, to, curve })
}

fn checked(stages: Vec<Stage>) -> Result<Level, &'static str> {
    if stages.iter().all(|stage| stage.from == 0.0 && stage.to == 0.0) {
        return Err("is 0 all the time, so nothing would be measured");
    }
    Ok(Level::Stages(stages))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Value {
        Value::Text(value.to_owned())
    }

    #[test]
    fn parsing_and_displaying_a_level_gives_the_same_text() {
        for written in ["8", "60s@1..64", "0.5s@1..64:exp", "30s@2+30s@8", "10s@0..5+60s@5"] {
            assert_eq!(rate(&text(written)).unwrap().to_string(), written);
            assert_eq!(concurrency(&text(written)).unwrap().to_string(), written);
        }
        assert_eq!(rate(&text("inf")), Ok(Level::Constant(f64::INFINITY)));
    }

    #[test]
    fn invalid_levels_are_refused() {
        for wrong in ["", "many", "@5", "5s@", "5s@-1", "5s@0..8:exp", "5s@0", "5s@inf", "0s@5"] {
            assert!(rate(&text(wrong)).is_err() && concurrency(&text(wrong)).is_err(), "{wrong}");
        }
        assert!(concurrency(&text("0")).is_err() && concurrency(&text("2.5")).is_err());
        assert!(concurrency(&text("65536")).is_ok() && rate(&text("1e6")).is_ok());
        for too_many in ["65537", "4294967295", "5s@1..65537"] {
            let told = concurrency(&text(too_many)).unwrap_err();
            assert!(told.contains("the maximum is 65536"), "{told}");
        }
        assert!(rate(&text("1e9")).unwrap_err().contains("too high"));
        for low in ["1e-7", "5s@1e-300", "5s@1e-7..1", "5s@1..1e-9:exp"] {
            assert!(rate(&text(low)).unwrap_err().contains("too low"), "{low}");
        }
        assert!(constant_rate(&text("1e-7")).unwrap_err().contains("too low"));
        assert!(constant_rate(&text("1e7")).unwrap_err().contains("too high"));
        assert_eq!(constant_rate(&text("0.5")), Ok(0.5));
    }

    #[test]
    fn stages_given_as_a_flag_and_as_tables_of_a_plan_are_equal() {
        let table = |duration: f64, rate: Option<&str>, concurrency: Option<&str>| StageTable {
            duration: Value::Number(duration),
            rate: rate.map(text),
            concurrency: concurrency.map(text),
        };
        let flag = staged(&Stages::Text("30s@2, 1m@2..8".to_owned()));
        let tables = vec![table(30.0, Some("2"), None), table(60.0, Some("2..8"), None)];
        assert_eq!(staged(&Stages::Tables(tables)), flag);
        let in_flight = vec![table(5.0, None, Some("3"))];
        assert!(matches!(staged(&Stages::Tables(in_flight)), Ok(Staged::Concurrency(_))));
        for wrong in [
            vec![],
            vec![table(5.0, Some("1"), None), table(5.0, None, Some("1"))],
            vec![table(5.0, Some("1"), Some("1"))],
            vec![table(5.0, None, None)],
        ] {
            assert!(staged(&Stages::Tables(wrong)).is_err());
        }
    }
}
