//! Tests the ranges of predictions: counts the measured rows of a model that lie inside the ranges of a profile. The
//! profile must have been fitted without rows of this model.

use super::{MeasuredTable, errors};
use crate::confidence::{Confidence, ErrorColumn, MeasuredOn, confidence};
use crate::{EngineConfig, EngineError, Profile};

/// The number of rows of a table whose measured values lie inside the predicted ranges.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    /// The name of the model.
    pub table: String,
    /// The number of rows.
    pub rows: usize,
    /// The number of rows with uncalibrated ranges. The counts `throughput` and `latency` do not include these rows.
    pub uncalibrated: usize,
    /// The number of calibrated rows whose measured output tokens per second are in the range.
    pub throughput: usize,
    /// The number of calibrated rows whose measured latency per output token is in the range.
    pub latency: usize,
    /// How far the ranges of throughput and latency of the last calibrated row extend above the prediction, in percent
    /// of the prediction. `None` if no row is calibrated.
    pub range_pct: Option<[f64; 2]>,
    /// For the last row: a text that names the errors from which its ranges were computed, or why its ranges are
    /// uncalibrated.
    pub words: String,
}

/// Returns the profile without the measured rows and errors of a model. Only these are removed, so the caller must
/// give a profile that was fitted without this model.
pub fn without_model(profile: &Profile, model: &str) -> Profile {
    let mut without = profile.clone();
    without.provenance.retain(|table| table.table != model);
    without
}

/// Counts the rows of a table whose measured values lie inside the ranges of a profile. The profile must state no
/// errors on rows of the table's model ([`without_model`]), because the ranges would then come from these rows.
///
/// # Errors
/// If the engine cannot start with the configuration of a row.
pub fn score(profile: &Profile, table: &MeasuredTable) -> Result<Score, EngineError> {
    let mut config = EngineConfig { profile: profile.clone(), ..table.config.clone() };
    let mut score =
        Score { table: config.model.name.clone(), rows: table.rows.len(), ..Score::default() };
    for (row, error) in table.rows.iter().zip(errors(profile, table)?) {
        config.max_model_len = Some(row.max_model_len);
        let resolved = config.resolve()?;
        let sequences = resolved.limits.max_num_seqs.min(table.requests);
        let found = confidence(&resolved, row.cell, sequences, &MeasuredOn::default());
        if let Some(why) = found.uncalibrated {
            score.uncalibrated += 1;
            score.words = why;
            continue;
        }
        // In units of the measured value, the prediction is 1 + error, and the measurement is 1.
        let is_inside = |column: ErrorColumn, error: f64| {
            let [low, high] = found.interval(column, 1.0 + error);
            (low..=high).contains(&1.0)
        };
        let is_throughput = is_inside(ErrorColumn::Throughput, error.output_tokens_per_s);
        let is_latency = is_inside(ErrorColumn::Latency, error.latency_per_output_token_ms);
        score.throughput += usize::from(is_throughput);
        score.latency += usize::from(is_latency);
        score.range_pct = Some(range_pct(&found));
        score.words = found.of.unwrap_or_default();
    }
    Ok(score)
}

fn range_pct(found: &Confidence) -> [f64; 2] {
    [ErrorColumn::Throughput, ErrorColumn::Latency]
        .map(|column| 100.0 * (found.interval(column, 1.0)[1] - 1.0))
}
