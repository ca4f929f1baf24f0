//! Calibration: constants of a profile from measured rows of tables. It searches; what the
//! constants mean stands in [`crate::cost`].

mod parameter;
mod rows;
mod simplex;
mod trace;

pub use parameter::{PARAMETERS, Parameter, parameter};
pub use rows::{MeasuredRow, parse_rows};

use std::collections::BTreeMap;

use crate::config::EngineConfig;
use crate::error::EngineError;
use crate::profile::{ErrorPercent, Profile};
use simplex::minimise;
use trace::Traces;

/// Measured rows of one model, and how they were made.
#[derive(Clone, Debug)]
pub struct MeasuredTable {
    /// The model and the engine's arguments; its profile is replaced by the one that is fitted.
    pub config: EngineConfig,
    /// The rows.
    pub rows: Vec<MeasuredRow>,
    /// Requests of the saturated pass.
    pub requests: u32,
}

/// Signed relative errors of one row: prediction / measurement - 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowError {
    /// Of the output tokens per second.
    pub output_tokens_per_s: f64,
    /// Of the latency per output token.
    pub latency_per_output_token_ms: f64,
}

/// Holds a profile against measured rows.
///
/// # Errors
/// When a row's configuration is one that the engine would refuse to start with.
pub fn errors(profile: &Profile, table: &MeasuredTable) -> Result<Vec<RowError>, EngineError> {
    Traces::new(table).errors(profile)
}

/// Fits the named constants of a profile to the rows of some tables, all others kept.
///
/// The sum of squared logarithmic errors of throughput and latency is made small by a bounded
/// downhill simplex, begun again from its own result `restarts` times.
///
/// # Errors
/// When a row's configuration is one that the engine would refuse to start with, or a name is none
/// of [`PARAMETERS`].
pub fn fit(
    start: &Profile,
    tables: &[MeasuredTable],
    names: &[&str],
    restarts: u32,
) -> Result<Profile, EngineError> {
    let parameters = names.iter().map(|name| parameter(name)).collect::<Result<Vec<_>, _>>()?;
    let mut traces: Vec<_> = tables.iter().map(Traces::new).collect();
    let with = |point: &[f64]| {
        let mut profile = start.clone();
        for (parameter, x) in parameters.iter().zip(point) {
            (parameter.set)(&mut profile, parameter.value(*x));
        }
        profile
    };
    let mut point: Vec<f64> =
        parameters.iter().map(|parameter| parameter.place((parameter.get)(start))).collect();
    for _ in 0..=restarts {
        point = minimise(&point, |candidate| {
            let profile = with(candidate);
            traces.iter_mut().map(|traces| traces.loss(&profile)).sum()
        });
    }
    let fitted = with(&point);
    for traces in &mut traces {
        traces.errors(&fitted)?;
    }
    Ok(fitted)
}

/// The distribution of absolute errors per column, in percent.
#[must_use]
pub fn error_percent(errors: &[RowError]) -> BTreeMap<String, ErrorPercent> {
    let column = |share: fn(&RowError) -> f64| {
        let mut values: Vec<f64> = errors.iter().map(|error| 100.0 * share(error).abs()).collect();
        values.sort_by(f64::total_cmp);
        ErrorPercent {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            median: quantile(&values, 0.5),
            p90: quantile(&values, 0.9),
            max: quantile(&values, 1.0),
        }
    };
    BTreeMap::from([
        ("output_tokens_per_s".to_owned(), column(|error| error.output_tokens_per_s)),
        ("latency_per_output_token_ms".to_owned(), column(|e| e.latency_per_output_token_ms)),
    ])
}

/// Linear interpolation over sorted values.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let place = q * (sorted.len() - 1) as f64;
    let (low, share) = (place.floor() as usize, place.fract());
    let high = (low + 1).min(sorted.len() - 1);
    sorted[low] + share * (sorted[high] - sorted[low])
}
