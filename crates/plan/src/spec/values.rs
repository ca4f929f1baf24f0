//! Parses values as users write them: `10s`, `1%`, `inf`.

use std::time::Duration;

use derive_more::{Display, From};
use inferometer_model::json::one_of;
use inferometer_model::secrets::{MIN_SECRET_CHARS, names_a_secret, names_a_secret_parameter};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value as Json};

/// A number or a text, as a plan file or a flag may give it.
#[derive(Clone, Debug, PartialEq, Serialize, Display, From)]
#[serde(untagged)]
pub enum Value {
    /// A number.
    #[from]
    Number(f64),
    /// A text.
    Text(String),
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        one_of(from, "a number or a text", |value| match value {
            Json::Number(number) => number.as_f64().map(Self::Number),
            Json::String(text) => Some(Self::Text(text)),
            _ => None,
        })
    }
}

impl std::str::FromStr for Value {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::Text(text.to_owned()))
    }
}

/// The number in a value, which may be given as text; `None` if the text is not a number.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => Some(*number),
        Value::Text(text) => text.trim().parse().ok(),
    }
}

/// Parses a number of tokens, such as 512, or 8k for 8192.
///
/// # Errors
/// If the text is not such a number, or the number does not fit into 32 bits.
pub fn tokens(text: &str) -> Result<u32, String> {
    let (digits, unit) = match text.strip_suffix(['k', 'K']) {
        Some(thousands) => (thousands, 1024),
        None => (text, 1),
    };
    let number = digits.parse::<u32>().ok().and_then(|number| number.checked_mul(unit));
    number.ok_or_else(|| "write a number of tokens, such as 512, or 8k for 8192".to_owned())
}

/// Parses the finite number of a flag. Infinity and NaN are rejected, because JSON would store them as null.
///
/// # Errors
/// If the text is not a finite number.
pub fn finite(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        Ok(_) => Err("it is not a finite number".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Parses a positive span of time: `500ms`, `10s`, `2m`, `6h`; a number without a unit is in seconds.
pub fn span(value: &Value) -> Result<Duration, &'static str> {
    const PROBLEM: &str = "is not a duration; write it as 500ms, 10s, 2m or 6h";
    let (figure, unit_s) = match value {
        Value::Number(number) => (*number, 1.0),
        Value::Text(text) => {
            let text = text.trim();
            let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
            let unit_s = match &text[split..] {
                "ms" => 1e-3,
                "" | "s" => 1.0,
                "m" | "min" => 60.0,
                "h" => 3600.0,
                _ => return Err(PROBLEM),
            };
            (text[..split].trim().parse().map_err(|_| PROBLEM)?, unit_s)
        }
    };
    let seconds = figure * unit_s;
    if seconds > 0.0 && seconds <= 1e9 {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err("is out of range; a duration is above 0 and at most 1000000000 s")
    }
}

/// Parses a share from 0 to 1: `1%` or `0.01`.
pub fn share(value: &Value) -> Result<f64, &'static str> {
    let percent = match value {
        Value::Text(text) => text.trim().strip_suffix('%'),
        Value::Number(_) => None,
    };
    let share = match percent {
        Some(figure) => figure.trim().parse::<f64>().ok().map(|figure| figure / 100.0),
        None => number(value),
    };
    match share {
        Some(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("is not a share from 0 to 1; write 5 percent as 5% or 0.05"),
    }
}

/// Parses a positive number.
pub fn positive(value: &Value) -> Result<f64, &'static str> {
    match number(value) {
        Some(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("is not a positive number"),
    }
}

/// Parses a whole number from 0 on.
pub fn count(value: &Value) -> Result<u32, &'static str> {
    match number(value) {
        Some(number) if number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number) => {
            Ok(number as u32)
        }
        _ => Err("is not a whole number of at least 0"),
    }
}

/// Parses the burstiness of arrivals: at least 0.01, or `inf` for equal gaps.
pub fn burstiness(value: &Value) -> Result<f64, &'static str> {
    match number(value) {
        Some(shape) if shape >= 0.01 => Ok(shape),
        _ => Err("is not a burstiness; write a number of at least 0.01 (1 is Poisson), or `inf` \
                  for equal gaps"),
    }
}

/// Parses a rate of arrivals in requests per second: positive, or `inf` for all requests at the start.
pub fn rate(value: &Value) -> Result<f64, &'static str> {
    match number(value) {
        Some(rate) if rate > 0.0 => Ok(rate),
        _ => Err("is not a rate; write requests per second, or `inf` to send all at the start"),
    }
}

/// The name of the first query parameter of a path that has a value and a name that suggests a secret; `None`
/// if there is no such parameter.
pub(crate) fn secret_parameter(path: &str) -> Option<&str> {
    let (_, query) = path.split_once('?')?;
    let mut pairs = query.split(['&', ';', '#']).filter_map(|pair| pair.split_once('='));
    let (name, _) =
        pairs.find(|(name, value)| !value.is_empty() && names_a_secret_parameter(name))?;
    Some(name)
}

/// The names of the fields in a JSON body that suggest a secret. Only texts and long numbers are considered,
/// at any depth.
pub(crate) fn secret_fields(body: &Map<String, Json>) -> Vec<String> {
    let mut names: Vec<String> =
        body.iter().flat_map(|(name, value)| secrets_in(name, value)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn secrets_in(name: &str, value: &Json) -> Vec<String> {
    let short = ["token", "auth", "authorization"];
    let is_secret =
        || names_a_secret(name) || short.iter().any(|known| name.eq_ignore_ascii_case(known));
    let is_long = |number: &str| number.len() >= MIN_SECRET_CHARS;
    match value {
        Json::String(text) if !text.is_empty() && is_secret() => vec![name.to_owned()],
        Json::Number(number) if is_long(&number.to_string()) && is_secret() => {
            vec![name.to_owned()]
        }
        Json::Object(fields) => secret_fields(fields),
        Json::Array(values) => {
            let each = values.iter().flat_map(|value| match value {
                Json::Object(fields) if is_secret() => {
                    fields.values().flat_map(|value| secrets_in(name, value)).collect()
                }
                value => secrets_in(name, value),
            });
            each.collect()
        }
        _ => Vec::new(),
    }
}

/// The message about a parameter or field whose name suggests a secret.
pub(crate) fn secret_told(name: &str) -> String {
    format!(
        "`{name}` looks like a secret, and would be stored in results; send it as a header \
            instead: use the key `header` or `api_key_env`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Value {
        Value::Text(value.to_owned())
    }

    #[test]
    fn numbers_of_tokens_are_plain_or_multiples_of_1024() {
        for (written, number) in [("512", Some(512)), ("8k", Some(8192)), ("1K", Some(1024))] {
            assert_eq!(tokens(written).ok(), number, "{written}");
        }
        for wrong in ["", "k", "1.5k", "-1", "8m", "4194304k"] {
            assert!(tokens(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn durations_are_parsed_with_their_units() {
        for (written, ms) in [("500ms", 500), ("10s", 10_000), ("1.5", 1_500), ("2m", 120_000)] {
            assert_eq!(span(&text(written)), Ok(Duration::from_millis(ms)), "{written}");
        }
        for wrong in ["", "ten", "5 parsecs", "-3s", "0", "NaN", "inf"] {
            assert!(span(&text(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn shares_are_parsed_as_percentages_or_fractions() {
        assert_eq!(share(&text("1%")), Ok(0.01));
        assert_eq!(share(&Value::Number(0.25)), Ok(0.25));
        assert!(share(&text("101%")).is_err());
        assert!(share(&text("a few")).is_err());
    }

    #[test]
    fn a_query_parameter_that_looks_like_a_secret_is_found() {
        assert_eq!(secret_parameter("/v1/x?api-version=2024&key=secret"), Some("key"));
        assert_eq!(secret_parameter("/v1/x?api-version=2024&key="), None);
    }
}
