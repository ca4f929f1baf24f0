//! Parses measured runs and their details (send times and lengths of the requests).

use csv::{DeserializeErrorKind, StringRecord};
use inferometer_model::json::{form, one_of};
use inferometer_model::load::arrival::Arrivals;
use inferometer_model::load::{Recording, ReplayPlan};
use inferometer_model::{Bound, Nanos, OpenPlan, OverLimit, PassPlan, did_you_mean};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{MeasuredRun, RunFigures};
use crate::model::model;
use crate::profile::default_profile;
use crate::{EngineConfig, EngineError, Weights, choose, output_lengths};

/// A row of the CSV file. `docs/engine-model.md` describes the columns.
#[derive(Deserialize)]
struct CsvRow {
    #[serde(default)]
    set: String,
    engine: Option<String>,
    card: Option<String>,
    model: Option<String>,
    weights: Option<String>,
    tensor_parallel_size: Option<u32>,
    max_num_seqs: Option<u32>,
    max_num_batched_tokens: Option<u32>,
    prefix_tokens: Option<u32>,
    max_in_flight: Option<u32>,
    rate: Option<f64>,
    arrival: Option<String>,
    requests: u32,
    input_length: u32,
    output_length: u32,
    spread: Option<String>,
    details: Option<String>,
    requests_per_s: Option<f64>,
    tpot_p50_ms: Option<f64>,
    ttft_p50_ms: Option<f64>,
    ttft_p99_ms: Option<f64>,
    e2e_p50_ms: Option<f64>,
}

/// The columns that a file may have.
const COLUMNS: [&str; 25] = [
    "set",
    // The source of the row. These three columns are only for readers of the file.
    "source", "commit", "note", "engine", "card", "model", "weights", "tensor_parallel_size",
    "max_num_seqs", "max_num_batched_tokens", "prefix_tokens", "max_in_flight", "rate", "arrival",
    "requests", "input_length", "output_length", "spread", "details", "requests_per_s",
    "tpot_p50_ms", "ttft_p50_ms", "ttft_p99_ms", "e2e_p50_ms",
];
/// The maximum number of requests of a row, because each request is simulated several times.
const MOST_REQUESTS: u32 = 1_000_000;

/// The send time in seconds and the lengths of each request of a run.
#[derive(Clone, Debug, Deserialize)]
pub struct Details {
    #[serde(alias = "arrival_s")]
    send_s: Vec<f64>,
    input_lens: Vec<u32>,
    output_lens: Outputs,
}

#[derive(Clone, Debug)]
enum Outputs {
    Same(u32),
    Each(Vec<u32>),
}

impl<'de> Deserialize<'de> for Outputs {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        one_of(
            from,
            "output_lens: a whole number or a list of whole numbers",
            |value| match value {
                Value::Array(_) => form(value).map(Self::Each),
                value => form(value).map(Self::Same),
            },
        )
    }
}

/// Parses the details of a run from JSON. `path` is only used in messages.
///
/// # Errors
/// If the text is not valid, the lists are empty or of different lengths, a time is negative, or a length is 0.
pub fn details(text: &str, path: &str) -> Result<Details, EngineError> {
    let malformed = |reason: String| EngineError::Malformed { path: path.to_owned(), reason };
    let found: Details =
        serde_json::from_str(text).map_err(|error| malformed(error.to_string()))?;
    let outputs = match &found.output_lens {
        Outputs::Same(_) => found.send_s.len(),
        Outputs::Each(each) => each.len(),
    };
    if found.send_s.is_empty() || [found.input_lens.len(), outputs] != [found.send_s.len(); 2] {
        return Err(malformed(
            "send_s, input_lens and output_lens must have the same length, at least 1".to_owned(),
        ));
    }
    if !found.send_s.iter().all(|at| *at >= 0.0 && at.is_finite()) {
        return Err(malformed("send_s: every time must be 0 or more".to_owned()));
    }
    for ((input, output), request) in found.lengths().into_iter().zip(1..) {
        if input == 0 || output == 0 {
            return Err(malformed(format!(
                "request {request} has {input} in input_lens and {output} in output_lens; every \
                    length must be 1 or more"
            )));
        }
    }
    Ok(found)
}

impl Details {
    /// The lengths of the requests: (input, output).
    fn lengths(&self) -> Vec<(u32, u32)> {
        let inputs = self.input_lens.iter().copied();
        match &self.output_lens {
            Outputs::Same(output) => inputs.map(|input| (input, *output)).collect(),
            Outputs::Each(each) => inputs.zip(each.iter().copied()).collect(),
        }
    }
}

/// Parses runs from CSV; lines that begin with `#` are ignored. A model, engine, card or engine argument that
/// a row does not name comes from `start`. Without `start`, each row must name its model, and the engine's defaults
/// replace the rest. `details_of` returns the details with the name in the column `details`. `path` is only used in
/// messages.
///
/// # Errors
/// If a column is unknown, if there is no row, or if a row is not valid. The message names the line of the
/// first such row.
pub fn parse_runs(
    text: &str,
    path: &str,
    start: Option<&EngineConfig>,
    details_of: &dyn Fn(&str) -> Result<Details, EngineError>,
) -> Result<Vec<MeasuredRun>, EngineError> {
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
    let mut runs = Vec::new();
    let headers = reader.headers().cloned();
    let malformed = |reason: String| EngineError::Malformed { path: path.to_owned(), reason };
    let headers = headers.map_err(|error| malformed(error.to_string()))?;
    if let Some(unknown) = headers.iter().find(|name| !COLUMNS.contains(name)) {
        let meant = did_you_mean(unknown, COLUMNS);
        let known = COLUMNS.join(", ");
        return Err(malformed(format!(
            "no column is called `{unknown}`{meant}; the columns are {known}"
        )));
    }
    for record in reader.records() {
        let record = record.map_err(|error| malformed(error.to_string()))?;
        let place = record.position().map_or(0, csv::Position::line);
        let at = |why: &dyn std::fmt::Display| malformed(format!("line {place}: {why}"));
        let line: CsvRow = record
            .deserialize(Some(&headers))
            .map_err(|error| at(&wrong_value(&error, &headers, &record)))?;
        runs.push(line.run(start, details_of).map_err(|why| at(&why))?);
    }
    if runs.is_empty() {
        return Err(malformed("has no row".to_owned()));
    }
    Ok(runs)
}

/// The mistake in a row, with its column and its value: "column rate: `25 rps` is not a number".
fn wrong_value(error: &csv::Error, headers: &StringRecord, record: &StringRecord) -> String {
    let csv::ErrorKind::Deserialize { err, .. } = error.kind() else { return error.to_string() };
    let Some(at) = err.field().and_then(|at| usize::try_from(at).ok()) else {
        return err.kind().to_string();
    };
    let (column, value) = (headers.get(at).unwrap_or("?"), record.get(at).unwrap_or(""));
    let why = match err.kind() {
        DeserializeErrorKind::ParseInt(_) => {
            "is not a whole number; write it without a unit".into()
        }
        DeserializeErrorKind::ParseFloat(_) => "is not a number; write it without a unit".into(),
        other => format!("is not valid: {other}"),
    };
    format!("column {column}: `{value}` {why}")
}

impl CsvRow {
    fn run(
        self,
        start: Option<&EngineConfig>,
        details_of: &dyn Fn(&str) -> Result<Details, EngineError>,
    ) -> Result<MeasuredRun, EngineError> {
        let spec = match (&self.model, start) {
            (Some(name), _) => model(name)?,
            (None, Some(start)) => start.model.clone(),
            (None, None) => return Err(EngineError::invalid("model", "is absent", "name a model")),
        };
        let mut config = match start {
            Some(start) => EngineConfig { model: spec, ..start.clone() },
            None => EngineConfig::new(spec.clone(), default_profile(&spec)?),
        };
        if let Some(name) = &self.weights {
            let unknown = "unknown weights; use fp16, fp32, fp8, gptq, awq or squeezellm";
            let weights = Weights::named(name)
                .ok_or_else(|| EngineError::invalid("weights", name, unknown))?;
            config.weights = Some(weights);
        }
        let stored_as = config.weights.unwrap_or(config.model.weights);
        let of = (config.model.name.as_str(), stored_as);
        config.profile = choose(&config.profile, self.engine.as_deref(), self.card.as_deref(), of)?;
        let engine = format!("{} {}", config.profile.engine, config.profile.engine_version);
        config.tensor_parallel_size = self.tensor_parallel_size.or(config.tensor_parallel_size);
        config.max_num_seqs = self.max_num_seqs.or(config.max_num_seqs);
        config.max_num_batched_tokens =
            self.max_num_batched_tokens.or(config.max_num_batched_tokens);
        let without = self.prefix_tokens.is_none().then_some(false);
        config.prefix_caching = config.prefix_caching.or(without);
        let details = self.details.as_deref().map(details_of).transpose()?;
        self.check()?;
        let lengths = self.lengths(details.as_ref());
        check_lengths(&lengths, config.resolve()?.limits.max_model_len)?;
        let measured = RunFigures {
            requests_per_s: self.requests_per_s,
            tpot_p50_ms: self.tpot_p50_ms,
            ttft_p50_ms: self.ttft_p50_ms,
            ttft_p99_ms: self.ttft_p99_ms,
            e2e_p50_ms: self.e2e_p50_ms,
        };
        Ok(MeasuredRun {
            pass: self.pass(details.as_ref())?,
            lengths,
            rate: self.rate,
            prefix_tokens: self.prefix_tokens.unwrap_or(0),
            set: self.set,
            engine,
            config,
            measured,
        })
    }

    fn check(&self) -> Result<(), EngineError> {
        for (key, count) in [
            ("requests", self.requests),
            ("input_length", self.input_length),
            ("output_length", self.output_length),
            ("max_in_flight", self.max_in_flight.unwrap_or(1)),
        ] {
            if count == 0 {
                return Err(EngineError::invalid(key, count, "must be 1 or more"));
            }
        }
        if self.requests > MOST_REQUESTS {
            let expected = format!("must be {MOST_REQUESTS} or less: each request is simulated");
            return Err(EngineError::invalid("requests", self.requests, expected));
        }
        self.check_load()?;
        let figures = [
            ("rate", self.rate),
            ("requests_per_s", self.requests_per_s),
            ("tpot_p50_ms", self.tpot_p50_ms),
            ("ttft_p50_ms", self.ttft_p50_ms),
            ("ttft_p99_ms", self.ttft_p99_ms),
            ("e2e_p50_ms", self.e2e_p50_ms),
        ];
        for (key, figure) in figures {
            if figure.is_some_and(|figure| !(figure > 0.0 && figure.is_finite())) {
                return Err(EngineError::invalid(key, figure.unwrap_or(0.0), "must be above 0"));
            }
        }
        if figures[1..].iter().all(|figure| figure.1.is_none()) {
            let expected = "a row needs a figure: requests_per_s, tpot_p50_ms or another";
            return Err(EngineError::invalid("requests_per_s", "is absent", expected));
        }
        Ok(())
    }

    /// Rejects columns of the load that contradict each other or are incomplete, and an unknown `spread`.
    fn check_load(&self) -> Result<(), EngineError> {
        let arrival = self.arrival.as_deref().unwrap_or_default();
        let beside =
            [("rate", self.rate.is_some()), ("max_in_flight", self.max_in_flight.is_some())];
        if arrival == "at_once"
            && let Some((key, _)) = beside.into_iter().find(|(_, is_given)| *is_given)
        {
            let expected = format!("sends all requests at once: leave `{key}` empty");
            return Err(EngineError::invalid("arrival", arrival, expected));
        }
        let needs_rate = ["constant", "vllm", "vllm_unscaled"].contains(&arrival);
        if needs_rate && self.rate.is_none() && self.details.is_none() {
            return Err(EngineError::invalid("arrival", arrival, "needs a `rate` or `details`"));
        }
        match self.spread.as_deref() {
            None | Some("" | "exact" | "exponential") => Ok(()),
            Some(other) => {
                Err(EngineError::invalid("spread", other, "must be exact or exponential"))
            }
        }
    }

    /// Returns the load: a replay of recorded send times, a rate with an optional limit of requests in flight, a closed
    /// loop, or all requests at once.
    fn pass(&self, details: Option<&Details>) -> Result<PassPlan, EngineError> {
        let bound = Bound::requests(self.requests);
        let (arrivals, scaled) = match self.arrival.as_deref() {
            None | Some("" | "poisson") => (Arrivals::Poisson, false),
            Some("vllm") => (Arrivals::of_vllm(1.0), true),
            Some("vllm_unscaled") => (Arrivals::of_vllm(1.0), false),
            Some("constant") => (Arrivals::Constant, false),
            Some("at_once") => return Ok(PassPlan::saturated(self.requests)),
            Some(other) => {
                let expected = "must be poisson, vllm, vllm_unscaled, constant or at_once";
                return Err(EngineError::invalid("arrival", other, expected));
            }
        };
        let (max_in_flight, over_limit) = (self.max_in_flight, OverLimit::Queue);
        if let Some(details) = details {
            let mut recording = Recording::of_file("details");
            let first = details.send_s[0];
            let offset = |at: &f64| Nanos(((at - first).max(0.0) * 1e9).round() as u64);
            recording.write(details.send_s.iter().map(offset));
            return Ok(PassPlan::Replay(ReplayPlan {
                recording,
                speed: 1.0,
                bound,
                max_in_flight,
                over_limit,
            }));
        }
        match (self.rate, max_in_flight) {
            (Some(rate), _) => Ok(PassPlan::Open(OpenPlan {
                rate: rate.into(),
                arrivals,
                scaled,
                bound,
                max_in_flight,
                over_limit,
            })),
            (None, Some(in_flight)) => Ok(PassPlan::closed(in_flight, bound)),
            (None, None) => Ok(PassPlan::saturated(self.requests)),
        }
    }

    fn lengths(&self, details: Option<&Details>) -> Vec<(u32, u32)> {
        if let Some(details) = details {
            return details.lengths();
        }
        match self.spread.as_deref() {
            Some("exponential") => {
                let of = |mean: u32| {
                    output_lengths(f64::from(mean), mean.saturating_mul(8), self.requests)
                };
                let inputs: Vec<u32> = of(self.input_length);
                // Inputs are in reverse order, so that requests with long inputs do not always have long outputs.
                inputs.into_iter().rev().zip(of(self.output_length)).collect()
            }
            _ => vec![(self.input_length, self.output_length)],
        }
    }
}

/// Rejects a request whose input and output length together exceed the engine's limit.
fn check_lengths(lengths: &[(u32, u32)], max_model_len: u32) -> Result<(), EngineError> {
    let total = |&(input, output): &(u32, u32)| u64::from(input) + u64::from(output);
    let longest = lengths.iter().map(total).zip(1..).max_by_key(|(tokens, _)| *tokens);
    let Some((tokens, request)) = longest.filter(|it| it.0 > u64::from(max_model_len)) else {
        return Ok(());
    };
    let which = if lengths.len() > 1 { format!(" of request {request}") } else { String::new() };
    let expected = format!(
        "prompt and output{which} together exceed the engine's limit of {max_model_len} tokens; \
         set --max-model-len to the measured server's value"
    );
    Err(EngineError::invalid("input_length, output_length", tokens, expected))
}

#[cfg(test)]
mod tests;
