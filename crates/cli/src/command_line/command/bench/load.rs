//! Translates the load flags of `vllm bench serve` into keys of a plan.

use inferometer_model::load::Level;
use serde_json::{Map, Value, json};

use super::reader::Reader;

/// The requested arrivals of requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrivals {
    /// Requests per second. If infinite, all requests arrive at the start.
    pub rate: f64,
    /// The shape parameter of the gamma distribution of the gaps between requests; 1 gives Poisson arrivals.
    pub burstiness: f64,
    /// The maximum number of requests in flight.
    pub most_in_flight: Option<u32>,
    /// A rate that changes during the pass; `rate` is then ignored.
    pub ramp: Option<Ramp>,
}

/// A rate that changes from request to request.
#[derive(Clone, Debug, PartialEq)]
pub struct Ramp {
    /// `linear` or `exponential`.
    pub strategy: String,
    /// The rate at the first request, in requests per second.
    pub from: f64,
    /// The rate at the last request, in requests per second.
    pub to: f64,
}

/// Reads the flags for arrivals.
pub fn arrivals(reader: &mut Reader<'_>) -> Arrivals {
    let is_rate = "a rate; give requests per second, or `inf` to send all at the start";
    let rate = reader.number("--request-rate", is_rate, |rate: &f64| *rate > 0.0);
    let is_shape = "a burstiness; give a number above 0, or `inf` for equal gaps";
    let shape = reader.number("--burstiness", is_shape, |shape: &f64| *shape > 0.0);
    let most_in_flight = reader.count("--max-concurrency");
    let ramp = ramp(reader);
    if ramp.is_some() && rate.is_some_and(f64::is_finite) {
        reader.mistake("--request-rate", "leave it out: --ramp-up-strategy defines the rate");
    }
    let rate = rate.unwrap_or(f64::INFINITY);
    if shape.is_some() && rate.is_infinite() && ramp.is_none() {
        reader.note("--burstiness", "has no effect: all requests arrive at the start, as in vLLM");
    }
    Arrivals { rate, burstiness: shape.unwrap_or(1.0), most_in_flight, ramp }
}

fn ramp(reader: &mut Reader<'_>) -> Option<Ramp> {
    let is_rate = "a whole number of at least 1, in requests per second";
    let mut level = |flag| reader.number(flag, is_rate, |rate: &u32| *rate > 0);
    let (from, to) = (level("--ramp-up-start-rps"), level("--ramp-up-end-rps"));
    let Some(strategy) = reader.text("--ramp-up-strategy") else {
        for flag in ["--ramp-up-start-rps", "--ramp-up-end-rps"] {
            if reader.has(flag) {
                reader.mistake(flag, "needs --ramp-up-strategy linear or exponential");
            }
        }
        return None;
    };
    if !["linear", "exponential"].contains(&strategy) {
        let problem = format!("`{strategy}` is neither linear nor exponential");
        reader.mistake("--ramp-up-strategy", problem);
    }
    for flag in ["--ramp-up-start-rps", "--ramp-up-end-rps"] {
        if !reader.has(flag) {
            reader.mistake("--ramp-up-strategy", format!("needs {flag} too"));
        }
    }
    let (from, to) = (f64::from(from?), f64::from(to?));
    if from > to {
        reader.mistake("--ramp-up-start-rps", "is above --ramp-up-end-rps");
    }
    Some(Ramp { strategy: strategy.to_owned(), from, to })
}

/// Adds the keys of a plan for the load. `requests` is the number of requests in the pass.
pub fn keys(arrivals: &Arrivals, requests: u32, keys: &mut Map<String, Value>) {
    let mut put = |key: &str, value: Value| drop(keys.insert(key.to_owned(), value));
    match (&arrivals.ramp, arrivals.most_in_flight) {
        (None, Some(most)) if arrivals.rate.is_infinite() => {
            return put("concurrency", json!([most.to_string()]));
        }
        (Some(ramp), _) => {
            put("rate", json!([stages(ramp, requests)]));
            // vLLM does not scale the random gaps of a ramp to the expected total duration.
            put("scale", false.into());
        }
        (None, _) => put("rate", json!([arrivals.rate.to_string()])),
    }
    if let Some(most) = arrivals.most_in_flight {
        put("max_in_flight", most.into());
    }
    let is_drawn = arrivals.ramp.is_some() || arrivals.rate.is_finite();
    if is_drawn && arrivals.burstiness != 1.0 {
        put("burstiness", arrivals.burstiness.to_string().into());
    }
}

/// The key of a plan for warm-up requests. vLLM sends them all at once, up to its limit of requests in flight.
pub fn warmup(requests: u32, most_in_flight: Option<u32>) -> String {
    match (requests, most_in_flight) {
        (0, _) => "0".to_owned(),
        (_, Some(most)) => format!("{requests}@concurrency={most}"),
        (_, None) => format!("{requests}@rate=inf"),
    }
}

/// Converts vLLM's ramp to stages over time.
fn stages(ramp: &Ramp, requests: u32) -> String {
    let is_exponential = ramp.strategy == "exponential";
    Level::of_request_ramp(is_exponential, ramp.from, ramp.to, requests).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of requests in all stages before the last one, and the total duration of these stages in seconds.
    fn area(text: &str) -> (f64, f64) {
        let stages: Vec<&str> = text.split('+').collect();
        let of = |stage: &&str| -> (f64, f64) {
            let (seconds, level) = stage.split_once("s@").expect("a stage");
            let seconds: f64 = seconds.parse().expect("seconds");
            let (range, is_exponential) = match level.strip_suffix(":exp") {
                Some(range) => (range, true),
                None => (level, false),
            };
            let (from, to) = range.split_once("..").unwrap_or((range, range));
            let (from, to): (f64, f64) = (from.parse().unwrap(), to.parse().unwrap());
            let mean = match is_exponential {
                true => (to - from) / (to / from).ln(),
                false => (from + to) / 2.0,
            };
            (mean * seconds, seconds)
        };
        let all = stages[..stages.len() - 1].iter().map(of);
        all.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    /// The mean duration of vLLM's own schedule in seconds: a gap of 1 / rate for each request.
    fn of_vllm(ramp: &Ramp, requests: u32) -> f64 {
        let last = f64::from(requests - 1);
        let rate = |index: u32| {
            let progress = f64::from(index) / last;
            match ramp.strategy.as_str() {
                "linear" => ramp.from + (ramp.to - ramp.from) * progress,
                _ => ramp.from * (ramp.to / ramp.from).powf(progress),
            }
        };
        (0..requests).map(|index| 1.0 / rate(index)).sum()
    }

    #[test]
    fn a_ramp_has_the_request_count_and_within_1_percent_the_duration_of_vllm() {
        for strategy in ["linear", "exponential"] {
            for (from, to, requests) in [(1.0, 20.0, 1_000), (2.0, 8.0, 400), (5.0, 6.0, 5_000)] {
                let ramp = Ramp { strategy: strategy.to_owned(), from, to };
                let (brought, seconds) = area(&stages(&ramp, requests));
                assert!((brought - f64::from(requests)).abs() < 1e-6, "{brought} of {requests}");
                let theirs = of_vllm(&ramp, requests);
                assert!((seconds / theirs - 1.0).abs() < 0.01, "{seconds} s, theirs {theirs} s");
            }
        }
        let level = Ramp { strategy: "linear".to_owned(), from: 4.0, to: 4.0 };
        assert_eq!(stages(&level, 30), "100s@4");
    }
}
