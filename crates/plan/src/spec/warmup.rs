//! Reads the warm-up: a number of requests or a time, and its load.

use super::{Value, levels, limits::MAX_REQUESTS, values};
use crate::Warmup;
use inferometer_model::load::Level;
use inferometer_model::{ClosedPlan, PassPlan};

const PROBLEM: &str = "is not a warm-up; write a number of requests, or a time such as 10s, and a load after it if requests \
                       are not sent one by one: 10s@concurrency=8 or 200@rate=4";

/// Parses a warm-up: a number of requests, or a duration with its unit, and a load.
pub(crate) fn warmup(value: &Value) -> Result<Warmup, &'static str> {
    match value {
        Value::Text(text) if text.contains('@') => with_load(text),
        value => alone(value),
    }
}

/// Parses a number of requests or a time.
fn alone(value: &Value) -> Result<Warmup, &'static str> {
    if let Ok(count) = values::count(value) {
        return Ok(Warmup::Requests(count));
    }
    let duration = values::span(value).map_err(|_| PROBLEM)?;
    Ok(Warmup::Time { duration })
}

fn with_load(text: &str) -> Result<Warmup, &'static str> {
    let (length, load) = text.split_once('@').ok_or(PROBLEM)?;
    let length = alone(&Value::Text(length.to_owned()))?;
    let bound =
        length.pass().ok_or("sends no requests; leave out its load, or give 1 or more")?.bound();
    if bound.requests.is_some_and(|count| count > MAX_REQUESTS) {
        return Err("is too long; give at most 10000000 requests");
    }
    let (name, level) = load.split_once('=').ok_or(PROBLEM)?;
    let level = Value::Text(level.to_owned());
    let pass = match name.trim() {
        "concurrency" => match levels::concurrency(&level)? {
            concurrency @ Level::Constant(_) => PassPlan::Closed(ClosedPlan { concurrency, bound }),
            Level::Stages(_) => return Err(PROBLEM),
        },
        "rate" => match levels::rate(&level)? {
            Level::Constant(rate) if rate.is_infinite() && bound.requests.is_none() => {
                return Err("needs a number of requests with the rate inf, such as 100@rate=inf");
            }
            Level::Constant(rate) => PassPlan::open(rate, bound),
            _ => return Err(PROBLEM),
        },
        _ => return Err(PROBLEM),
    };
    Ok(Warmup::Load(Box::new(pass)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Warmup, &'static str> {
        warmup(&Value::Text(text.to_owned()))
    }

    #[test]
    fn a_warm_up_has_a_number_or_a_time_and_its_load() {
        for (text, requests, seconds, load) in [
            ("3", Some(3), None, "one by one"),
            ("10s", None, Some(10), "one by one"),
            ("10s@concurrency=8", None, Some(10), "closed loop, 8 in flight"),
            ("100@concurrency=8", Some(100), None, "closed loop, 8 in flight"),
            ("200@rate=4", Some(200), None, "open loop, 4 requests/s"),
            ("5m@rate=0.5", None, Some(300), "open loop, 0.5 requests/s"),
        ] {
            let warmup = read(text).expect(text);
            let pass = warmup.pass().expect("requests");
            let bound = pass.bound();
            assert_eq!(bound.requests, requests, "{text}");
            assert_eq!(bound.duration.map(|span| span.as_secs()), seconds, "{text}");
            assert_eq!(pass.to_string(), load, "{text}");
            let stored = serde_json::to_string(&warmup).expect("JSON");
            assert_eq!(serde_json::from_str::<Warmup>(&stored).expect("a warm-up"), warmup);
        }
        assert_eq!(read("0").expect("none").pass(), None);
        assert_eq!(
            read("9@rate=inf").expect("at once").pass().expect("a load").requests(),
            Some(9)
        );
    }

    #[test]
    fn a_warm_up_that_cannot_be_sent_is_refused() {
        for (text, expected) in [
            ("soon", "is not a warm-up"),
            ("10s@8", "is not a warm-up"),
            ("10s@stages=8", "is not a warm-up"),
            ("10s@rate=30s@2", "is not a warm-up"),
            ("10s@concurrency=5s@4", "is not a warm-up"),
            ("4000000000@rate=inf", "at most 10000000"),
            ("@rate=2", "is not a warm-up"),
            ("0@rate=2", "sends no requests"),
            ("10s@rate=inf", "needs a number of requests"),
            ("10s@concurrency=0", "give 1 or more"),
            ("10s@rate=0", "is not a rate"),
        ] {
            let told = read(text).expect_err(text);
            assert!(told.contains(expected), "{text}: {told}");
        }
    }
}
