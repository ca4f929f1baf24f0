//! How far a prediction may be off, computed from the errors in a profile's provenance. It predicts
//! nothing.

mod left_out;
mod measured_on;

pub use measured_on::MeasuredOn;

use inferometer_model::cell::CellPlan;

use crate::config::ResolvedConfig;
use crate::profile::{ColumnErrors, Coverage, Provenance};
use left_out::Spread;

/// Half-width of an uncalibrated interval as a factor: a data sheet alone is off by as much.
const UNCALIBRATED_FACTOR: f64 = 2.0;
/// Errors of fitted rows are multiplied by this where no errors of left-out rows are stated.
const IN_SAMPLE_FACTOR: f64 = 1.5;
/// A fit meets fewer rows than this nearly exactly, so their errors say nothing of other rows.
const FEWEST_ROWS: u32 = 8;

/// The columns for which profiles state errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorColumn {
    /// Requests and output tokens per second.
    Throughput,
    /// Latency per token and per output token.
    Latency,
}

impl ErrorColumn {
    fn name(self) -> &'static str {
        match self {
            Self::Throughput => "output_tokens_per_s",
            Self::Latency => "latency_per_output_token_ms",
        }
    }
}

/// The expected error of the predictions of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Confidence {
    /// Nine of ten measurements are expected within this logarithm of the prediction.
    throughput: Option<f64>,
    latency: Option<f64>,
    /// What errors the intervals are made of, in words; absent where they are guesses.
    pub of: Option<String>,
    /// Why it is a guess; absent where errors of measured rows stand behind it.
    pub uncalibrated: Option<String>,
}

impl Confidence {
    /// The range around a prediction in which nine of ten measurements are expected.
    pub fn interval(&self, column: ErrorColumn, predicted: f64) -> [f64; 2] {
        let logarithm = match column {
            ErrorColumn::Throughput => self.throughput,
            ErrorColumn::Latency => self.latency,
        };
        // A column that no measured row has is a guess as well.
        let factor = match logarithm.filter(|_| self.uncalibrated.is_none()) {
            Some(logarithm) => logarithm.exp(),
            None => UNCALIBRATED_FACTOR,
        };
        [predicted / factor, predicted * factor]
    }
}

/// The expected error of a profile for a cell in which at most `sequences` run at once, of
/// measurements that were made on `measured`.
///
/// A model that the profile was held against has the errors of its own rows with their lengths left
/// out of the fit. Any other has those of models whose whole table was left out: of its kind of
/// weights where there are any, else of all kinds, which are wider.
pub fn confidence(
    config: &ResolvedConfig,
    cell: CellPlan,
    sequences: u32,
    measured: &MeasuredOn,
) -> Confidence {
    let all = config.profile.provenance.iter();
    let tables: Vec<&Provenance> =
        all.filter(|provenance| provenance.weights == config.weights).collect();
    let uncalibrated = match tables.as_slice() {
        [] => Some(format!("no row of {} weights was fitted", config.weights)),
        tables => config
            .uncalibrated_form()
            .or_else(|| not_covered(config, tables, cell, sequences))
            .or_else(|| measured.is_unlike(config)),
    };
    let is_other_version = measured.is_other_version(config);
    let widened = |column: ErrorColumn, logarithm: f64| match is_other_version {
        true => logarithm.hypot(left_out::other_version(config, column)),
        false => logarithm,
    };
    let (of, [throughput, latency]) = match tables.iter().find(|it| it.table == config.model.name) {
        Some(own) => {
            let of = format!("rows of {}, each predicted without those of its length", own.table);
            (of, COLUMNS.map(|column| of_own(own, column)))
        }
        None => {
            let spread = COLUMNS.map(|column| Spread::of(config, &tables, column));
            let of = spread.iter().flatten().next().map_or_else(String::new, Spread::words);
            (of, spread.map(|spread| spread.map(|spread| spread.logarithm())))
        }
    };
    let of = match is_other_version {
        true => format!(
            "{of}; wider, since {} was measured and the profile's rows are of {} {}",
            measured.engine_in_words(),
            config.profile.engine,
            config.profile.engine_version
        ),
        false => of,
    };
    Confidence {
        throughput: throughput.map(|it| widened(ErrorColumn::Throughput, it)),
        latency: latency.map(|it| widened(ErrorColumn::Latency, it)),
        of: Some(of).filter(|_| uncalibrated.is_none()),
        uncalibrated,
    }
}

const COLUMNS: [ErrorColumn; 2] = [ErrorColumn::Throughput, ErrorColumn::Latency];

/// Nine of ten rows of the model's own table lie within this.
fn of_own(own: &Provenance, column: ErrorColumn) -> Option<f64> {
    let of_own = p90(&own.left_out_lengths, column).or_else(|| fitted(own, column));
    let of_start = p90(&own.left_out_of_start, column);
    let percent = [of_own, of_start].into_iter().flatten().reduce(f64::max)?;
    Some((percent / 100.0).ln_1p())
}

fn p90(errors: &ColumnErrors, column: ErrorColumn) -> Option<f64> {
    errors.get(column.name()).map(|error| error.p90)
}

/// The errors of the rows that were fitted on, in percent, where they are enough to say anything.
fn fitted(table: &Provenance, column: ErrorColumn) -> Option<f64> {
    let is_enough = table.rows >= FEWEST_ROWS;
    p90(&table.errors, column).filter(|_| is_enough).map(|p90| p90 * IN_SAMPLE_FACTOR)
}

/// The first property of a cell that lies outside of what the tables cover together.
fn not_covered(
    config: &ResolvedConfig,
    tables: &[&Provenance],
    cell: CellPlan,
    sequences: u32,
) -> Option<String> {
    let cards = config.tensor_parallel_size;
    if !tables.iter().any(|table| table.seen.cards == cards) {
        return Some(format!("no row on {cards} cards was fitted"));
    }
    let covered = |range: fn(&Coverage) -> (u32, u32)| {
        let ranges = || tables.iter().map(|table| range(&table.seen));
        (ranges().map(|r| r.0).min().unwrap_or(0), ranges().map(|r| r.1).max().unwrap_or(0))
    };
    let checks = [
        ("input tokens", cell.input_length, covered(|seen| seen.input_tokens)),
        ("output tokens", cell.output_length, covered(|seen| seen.output_tokens)),
        ("sequences at once", sequences, covered(|seen| seen.sequences)),
    ];
    checks.into_iter().find_map(|(what, value, (low, high))| {
        let inside = (low..=high).contains(&value);
        (!inside).then(|| format!("{value} {what}: the fitted rows have {low} to {high}"))
    })
}

#[cfg(test)]
mod tests;
