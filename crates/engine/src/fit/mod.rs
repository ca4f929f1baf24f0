//! Calibration: constants of a profile from measured rows of tables. It searches; what the
//! constants mean stands in [`crate::cost`].

mod blocks;
mod parameter;
mod rows;
mod scale;
mod serving;
mod solve;
mod validate;

pub use blocks::{
    MeasuredBlock, block_error_percent, block_errors, fit_blocks, leave_blocks_out, parse_blocks,
};
pub use parameter::{PARAMETERS, Parameter, parameter};
pub use rows::{MeasuredRow, Outputs, parse_rows};
pub use scale::{SCALES, fit_scaled, fit_scales};
pub use serving::{PUBLISHED, ServingFigures, serving_run};
pub use validate::{leave_lengths_out, leave_table_out, seen};

use crate::config::EngineConfig;
use crate::error::EngineError;
use crate::model::Weights;
use crate::profile::{ColumnErrors, ErrorPercent, Profile};
use crate::virtual_time;
use inferometer_stats::percentile;
use solve::least_squares;

/// Requests of the one by one pass where outputs end by themselves.
const ENDING_ONE_BY_ONE: u32 = 10;

/// How firmly the search of a profile's constants is held to where it starts (a ridge; the residual
/// of one unit on its axis). Rows scatter by about one percent, so a sixth of a unit weighs as much as
/// one row: a fortieth of a bandwidth, a third of a time. Without it the fit follows the scatter of
/// few rows, and rows that are left out are missed by up to twice as much.
const TETHER: f64 = 0.06;
/// The same for the blocks of a log, whose few constants its many rows tell apart.
const BLOCKS_TETHER: f64 = 0.003;

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

impl MeasuredTable {
    /// The table with only those rows that `keep` says.
    #[must_use]
    pub fn only(&self, keep: impl Fn(&MeasuredRow) -> bool) -> Self {
        let rows = self.rows.iter().copied().filter(keep).collect();
        Self { config: self.config.clone(), rows, requests: self.requests }
    }
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
    let mut config = table.config.clone();
    config.profile = profile.clone();
    let error = |row: &MeasuredRow| {
        config.max_model_len = Some(row.max_model_len);
        // Requests that do not end by themselves are all alike.
        let one_by_one = if row.mean_output.is_some() { ENDING_ONE_BY_ONE } else { 1 };
        let found = virtual_time::table_ending(
            &config,
            row.cell,
            row.mean_output,
            one_by_one,
            table.requests,
        )?;
        // A row without output is as wrong as can be.
        let latency_ms = found.latency_per_output_token_ms.unwrap_or(f64::MAX);
        Ok(RowError {
            output_tokens_per_s: found.output_tokens_per_s / row.output_tokens_per_s - 1.0,
            latency_per_output_token_ms: latency_ms / row.latency_per_output_token_ms - 1.0,
        })
    };
    table.rows.iter().map(error).collect()
}

/// Fits the named constants of a profile to the rows of some tables, all others kept.
///
/// The sum of squared logarithmic errors of throughput and latency is made small, every constant
/// within its bounds.
///
/// # Errors
/// When a row's configuration is one that the engine would refuse to start with, or a name is none
/// of [`PARAMETERS`].
pub fn fit(
    start: &Profile,
    tables: &[MeasuredTable],
    names: &[&str],
) -> Result<Profile, EngineError> {
    for table in tables {
        errors(start, table)?;
    }
    search(start, names, TETHER, |profile, held| residuals(profile, tables, held))
}

/// Searches the named constants, all others kept, for which the squares of residuals are least.
/// `residuals` adds to those that hold the search to its start by `tether`, and gives nothing where
/// a profile cannot run.
fn search(
    start: &Profile,
    names: &[&str],
    tether: f64,
    residuals: impl Fn(&Profile, Vec<f64>) -> Option<Vec<f64>>,
) -> Result<Profile, EngineError> {
    let parameters = names.iter().map(|name| parameter(name)).collect::<Result<Vec<_>, _>>()?;
    let with = |point: &[f64]| {
        let mut profile = start.clone();
        for (parameter, x) in parameters.iter().zip(point) {
            (parameter.set)(&mut profile, parameter.value(*x));
        }
        profile
    };
    let origin: Vec<f64> =
        parameters.iter().map(|parameter| parameter.place((parameter.get)(start))).collect();
    let point = least_squares(&origin, |point| {
        let held = point.iter().zip(&origin).map(|(x, o)| tether * (x - o)).collect();
        residuals(&with(point), held)
    });
    Ok(with(&point))
}

/// Logarithmic errors of every row, after those that are there already; nothing where the profile
/// cannot run a row.
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

/// A profile from which the search for the named constants begins: round numbers, so that a
/// constant on which the rows that are left in say little is not taken from those that are left out.
/// Constants without one begin where the profile that is built upon has them.
#[must_use]
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

/// The constants that rows of these weights tell apart.
#[must_use]
pub fn constants_of(weights: Weights) -> &'static [&'static str] {
    match weights {
        Weights::Fp16 | Weights::Fp32 => &SHARED,
        Weights::Gptq | Weights::SqueezeLlm => &GPTQ,
        Weights::Awq => &AWQ,
    }
}

/// What differs in TGI from vLLM on the same card: its host, and its kernels' speed on the same
/// weights.
pub const TGI_CONSTANTS: [&str; 4] =
    ["step_us", "sequence_layer_head_ns", "awq.bandwidth_efficiency", "awq.dense_efficiency"];
/// What four V100 take beside the constants of the A100: workers in processes of their own and a
/// slow link.
pub const V100_CONSTANTS: [&str; 2] = ["batch_root_us", "link_efficiency"];

/// The constants of sixteen-bit models.
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
/// Where the search begins: near what both tables say of sixteen bits, rounded to one or two digits.
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
/// Where it begins elsewhere under TGI: its step is hardly the host's.
const ROUND_TGI: [(&str, f64); 2] = [("step_us", 100.0), ("awq.bandwidth_efficiency", 0.15)];
/// GPTQ's own.
const GPTQ: [&str; 3] =
    ["gptq.bandwidth_efficiency", "gptq.dense_efficiency", "gptq.dequantise_efficiency"];
/// AWQ's own, and what differs between vLLM 0.2.5, under which its table was made, and 0.2.7: the
/// sampler's share of the host's time, and attention outside of captured graphs.
const AWQ: [&str; 4] = [
    "awq.bandwidth_efficiency",
    "awq.dense_efficiency",
    "sequence_layer_head_ns",
    "kv_reread_efficiency",
];

/// The distribution of absolute errors per column, in percent; there must be an error.
#[must_use]
pub fn error_percent(errors: &[RowError]) -> ColumnErrors {
    let column = |share: fn(&RowError) -> f64| spread_of_errors(errors.iter().map(share));
    ColumnErrors::from([
        ("output_tokens_per_s".to_owned(), column(|error| error.output_tokens_per_s)),
        ("latency_per_output_token_ms".to_owned(), column(|e| e.latency_per_output_token_ms)),
    ])
}

/// The distribution of absolute errors in percent, with two decimals, as they are quoted.
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
