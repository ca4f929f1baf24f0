//! How well stated ranges hold: the rows of a model inside of the ranges that a profile gives which has
//! seen no row of it.

use super::{MeasuredTable, errors};
use crate::confidence::{Confidence, ErrorColumn, MeasuredOn, confidence};
use crate::config::EngineConfig;
use crate::error::EngineError;
use crate::profile::{Profile, SignedErrors};

/// The rows of a table inside of their ranges.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// The model.
    pub table: String,
    /// Its rows.
    pub rows: usize,
    /// Rows that are called uncalibrated; the counts below are of the others.
    pub uncalibrated: usize,
    /// Rows whose measured throughput is in its range.
    pub throughput: usize,
    /// Rows whose measured latency per output token is in its range.
    pub latency: usize,
    /// How far the ranges of the last row that is calibrated go, in percent of the prediction.
    pub range_pct: Option<[f64; 2]>,
    /// What they are of, or why there are none.
    pub words: String,
}

/// A profile that knows of no row of a model. Its constants are those of `profile`, which must not have
/// been fitted on one.
pub fn without_model(profile: &Profile, model: &str) -> Profile {
    let mut without = profile.clone();
    without.provenance.retain(|table| table.table != model);
    without
}

/// A profile that knows of one table of some weights, and of no other model of them that was left out.
pub fn knowing_one_table(profile: &Profile, of: &str) -> Profile {
    let mut without = profile.clone();
    without.provenance.retain(|table| table.table == of);
    for table in &mut without.provenance {
        table.without_table = SignedErrors::new();
    }
    without
}

/// Scores a profile that has not seen the model of a table.
///
/// # Errors
/// When a row's configuration is one that the engine would refuse to start with.
pub fn score(profile: &Profile, table: &MeasuredTable) -> Result<Score, EngineError> {
    let mut config = EngineConfig { profile: profile.clone(), ..table.config.clone() };
    let mut score = Score {
        table: config.model.name.clone(),
        rows: table.rows.len(),
        uncalibrated: 0,
        throughput: 0,
        latency: 0,
        range_pct: None,
        words: String::new(),
    };
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
        // Both as multiples of what was measured.
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
