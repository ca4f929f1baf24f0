//! Calibration: fits the constants of a profile to measured rows. [`crate::cost`] defines the meaning of the
//! constants.

mod blocks;
mod csv;
mod parameter;
mod rows;
pub mod runs;
mod scale;
mod score;
mod serving;
mod solve;
mod validate;

pub use blocks::{
    MeasuredBlock, block_error_percent, block_errors, fit_blocks, leave_blocks_out, parse_blocks,
};
pub use parameter::{PARAMETERS, Parameter, parameter};
pub use rows::{MeasuredRow, Outputs, parse_rows};
pub use scale::{SCALES, fit_scaled, fit_scales};
pub use score::{Score, score, without_model};
pub use serving::{PUBLISHED, ServingFigures, serving_run};
pub use validate::{coverage, leave_lengths_out, leave_table_out, signed};

use crate::profile::{ColumnErrors, ErrorPercent};
use crate::{EngineConfig, EngineError, Profile, Weights, table_with_mean_output};
use inferometer_model::stats::percentile;
use solve::least_squares;

/// The number of requests in the one-by-one pass if the model ends the outputs.
const ENDING_ONE_BY_ONE: u32 = 10;

/// The weight of the ridge term that keeps the fitted constants near their start: the residual of one unit on a
/// parameter's axis. Rows scatter by about 1 %, so a change of one sixth of a unit has the same residual as the scatter
/// of one row. One sixth of a unit changes a bandwidth by about 1/40, and a time by up to 1/3. Without the ridge, the
/// fit follows the scatter of few rows, and errors of left-out rows are up to twice as large.
const RIDGE_WEIGHT: f64 = 0.06;
/// The weight of the ridge term in [`fit_blocks`], which fits to the measured closed loops (blocks) of a log. It is
/// smaller than `RIDGE_WEIGHT`, because many blocks determine few constants.
const BLOCKS_TETHER: f64 = 0.003;

/// The measured rows of one model, and how they were measured.
#[derive(Clone, Debug)]
pub struct MeasuredTable {
    /// The model and the engine's arguments. The profile in this configuration is ignored; the profile of the fit is
    /// used.
    pub config: EngineConfig,
    /// The rows.
    pub rows: Vec<MeasuredRow>,
    /// The number of requests in the saturated pass.
    pub requests: u32,
}

impl MeasuredTable {
    /// Returns the table with only the rows that `keep` accepts.
    pub fn only(&self, keep: impl Fn(&MeasuredRow) -> bool) -> Self {
        let rows = self.rows.iter().copied().filter(keep).collect();
        Self { config: self.config.clone(), rows, requests: self.requests }
    }
}

/// The signed relative errors of one row: prediction / measurement - 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowError {
    /// The error of the output tokens per second.
    pub output_tokens_per_s: f64,
    /// The error of the latency per output token.
    pub latency_per_output_token_ms: f64,
}

/// Returns the errors of a profile's predictions, one for each row of the table.
///
/// # Errors
/// If the engine cannot start with the configuration of a row.
pub fn errors(profile: &Profile, table: &MeasuredTable) -> Result<Vec<RowError>, EngineError> {
    let mut config = table.config.clone();
    config.profile = profile.clone();
    let error = |row: &MeasuredRow| {
        config.max_model_len = Some(row.max_model_len);
        // If outputs have the requested length, all requests are identical, so one request is enough.
        let one_by_one = if row.mean_output.is_some() { ENDING_ONE_BY_ONE } else { 1 };
        let found =
            table_with_mean_output(&config, row.cell, row.mean_output, one_by_one, table.requests)?;
        // If the prediction has no output, the row gets the largest possible error.
        let latency_ms = found.latency_per_output_token_ms.unwrap_or(f64::MAX);
        Ok(RowError {
            output_tokens_per_s: found.output_tokens_per_s / row.output_tokens_per_s - 1.0,
            latency_per_output_token_ms: latency_ms / row.latency_per_output_token_ms - 1.0,
        })
    };
    table.rows.iter().map(error).collect()
}

/// Fits the named constants of a profile to the rows of tables. All other constants remain unchanged.
///
/// Minimises the sum of squared logarithmic errors of throughput and latency, with every constant within its
/// bounds. A ridge term keeps the constants near `start`.
///
/// # Errors
/// If the engine cannot start with the configuration of a row, or if a name is not in [`PARAMETERS`].
pub fn fit(
    start: &Profile,
    tables: &[MeasuredTable],
    names: &[&str],
) -> Result<Profile, EngineError> {
    for table in tables {
        errors(start, table)?;
    }
    search(start, names, RIDGE_WEIGHT, |profile, ridge| residuals(profile, tables, ridge))
}

/// Searches for the values of the named constants with the smallest sum of squared residuals. All other constants
/// remain unchanged. `ridge_weight` is the weight of the ridge term. `residuals` is a function of a profile and the
/// residuals of the ridge. This function appends the residuals of the rows and returns all residuals; `None` if they
/// cannot be computed with the profile.
fn search(
    start: &Profile,
    names: &[&str],
    ridge_weight: f64,
    residuals: impl Fn(&Profile, Vec<f64>) -> Option<Vec<f64>>,
) -> Result<Profile, EngineError> {
    let parameters = names.iter().map(|name| parameter(name)).collect::<Result<Vec<_>, _>>()?;
    let with = |point: &[f64]| {
        let mut profile = start.clone();
        for (parameter, x) in parameters.iter().zip(point) {
            (parameter.set)(&mut profile, parameter.value_at(*x));
        }
        profile
    };
    let origin: Vec<f64> =
        parameters.iter().map(|parameter| parameter.axis_of((parameter.get)(start))).collect();
    let point = least_squares(&origin, |point| {
        let ridge = point.iter().zip(&origin).map(|(x, o)| ridge_weight * (x - o)).collect();
        residuals(&with(point), ridge)
    });
    Ok(with(&point))
}

/// Appends the logarithmic errors of every row to `residuals`. Returns `None` if the engine cannot start with
/// the profile, or if a residual is not finite.
fn residuals(
    profile: &Profile,
    tables: &[MeasuredTable],
    mut residuals: Vec<f64>,
) -> Option<Vec<f64>> {
    for table in tables {
        for error in errors(profile, table).ok()? {
            residuals.push(error.output_tokens_per_s.ln_1p());
            residuals.push(error.latency_per_output_token_ms.ln_1p());
        }
    }
    residuals.iter().all(|residual| residual.is_finite()).then_some(residuals)
}

/// Returns the profile, without provenance, at which the search for the named constants starts. The named constants are
/// set to round numbers. If rows are left out to test a fit, its start then contains almost no information about the
/// rows that were left out. Constants without a round number, and constants that are not named, remain as in `profile`.
pub fn round_start(profile: &Profile, names: &[&str]) -> Profile {
    let mut start = profile.clone();
    start.provenance.clear();
    let tgi = if profile.engine == "tgi" { &ROUND_TGI[..] } else { &[] };
    for (name, value) in ROUND.iter().chain(tgi) {
        if let (true, Ok(parameter)) = (names.contains(name), parameter(name)) {
            (parameter.set)(&mut start, *value);
        }
    }
    start
}

/// Returns the names of the constants that rows of models with these weights determine.
pub fn constants_of(weights: Weights) -> &'static [&'static str] {
    match weights {
        Weights::Gptq | Weights::SqueezeLlm => &GPTQ,
        Weights::Awq => &AWQ,
        _ => &SHARED,
    }
}

/// The constants that differ between TGI and vLLM on the same card: the host's time, and the speed of the
/// kernels with the same weights.
pub const TGI_CONSTANTS: [&str; 4] =
    ["step_us", "sequence_layer_head_ns", "awq.bandwidth_efficiency", "awq.dense_efficiency"];
/// The only constants that are fitted for four V100 cards: the cost of separate worker processes, and the efficiency of
/// a slow link.
pub const V100_CONSTANTS: [&str; 2] = ["batch_root_us", "link_efficiency"];

/// The constants that rows of models with FP16, FP32 or FP8 weights determine.
const SHARED: [&str; 8] = [
    "step_us",
    "sequence_layer_head_ns",
    "output_token_ns",
    "bandwidth_efficiency",
    "dense_efficiency",
    "kv_reread_efficiency",
    "chain_token_ns",
    "activation_bytes_per_token_hidden",
];
/// The values at which the search starts: round numbers near fitted values. The values of `gptq.*` and `awq.*` are near
/// those of fits to tables with these weights, all other values near those of a fit to both FP16 tables.
const ROUND: [(&str, f64); 13] = [
    ("step_us", 4000.0),
    ("sequence_layer_head_ns", 150.0),
    ("output_token_ns", 50.0),
    ("bandwidth_efficiency", 0.8),
    ("dense_efficiency", 0.5),
    ("kv_reread_efficiency", 2.0),
    ("chain_token_ns", 50.0),
    ("activation_bytes_per_token_hidden", 50.0),
    ("gptq.bandwidth_efficiency", 0.7),
    ("gptq.dense_efficiency", 0.05),
    ("gptq.dequantise_efficiency", 0.8),
    ("awq.bandwidth_efficiency", 0.5),
    ("awq.dense_efficiency", 0.15),
];
/// The values at which the search starts for TGI, if they differ from those for vLLM. Steps of TGI need little host
/// time.
const ROUND_TGI: [(&str, f64); 2] = [("step_us", 100.0), ("awq.bandwidth_efficiency", 0.15)];
/// The constants that rows of models with GPTQ or SqueezeLLM weights determine.
const GPTQ: [&str; 3] =
    ["gptq.bandwidth_efficiency", "gptq.dense_efficiency", "gptq.dequantise_efficiency"];
/// The constants that rows of models with AWQ weights determine. The AWQ table was measured with vLLM 0.2.5. The last
/// two constants are not specific to AWQ, but they differ between 0.2.5 and 0.2.7: host time per sequence, layer and
/// head, and the speed of reading keys and values again outside of captured graphs.
const AWQ: [&str; 4] = [
    "awq.bandwidth_efficiency", "awq.dense_efficiency", "sequence_layer_head_ns",
    "kv_reread_efficiency",
];

/// Returns the distribution of absolute errors in percent, by column. `errors` must not be empty.
pub fn error_percent(errors: &[RowError]) -> ColumnErrors {
    let column = |share: fn(&RowError) -> f64| spread_of_errors(errors.iter().map(share));
    ColumnErrors::from([
        ("output_tokens_per_s".to_owned(), column(|error| error.output_tokens_per_s)),
        ("latency_per_output_token_ms".to_owned(), column(|e| e.latency_per_output_token_ms)),
    ])
}

/// Returns the distribution of absolute errors in percent, rounded to two decimals. `errors` must not be empty.
fn spread_of_errors(errors: impl Iterator<Item = f64>) -> ErrorPercent {
    let mut values: Vec<f64> = errors.map(|error| 100.0 * error.abs()).collect();
    values.sort_by(f64::total_cmp);
    let rounded = |value: f64| (value * 100.0).round() / 100.0;
    ErrorPercent {
        mean: rounded(values.iter().sum::<f64>() / values.len() as f64),
        median: rounded(percentile(&values, 0.5)),
        p90: rounded(percentile(&values, 0.9)),
        max: rounded(percentile(&values, 1.0)),
    }
}
