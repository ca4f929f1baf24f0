//! The uncertainty of predictions, computed from the errors in a profile's provenance. Nothing is predicted here.

mod coverage;
mod left_out;
mod measured_on;

pub use left_out::NINE_OF_TEN;
pub use measured_on::{MeasuredOn, card_in_words};

use inferometer_model::CellPlan;

use crate::profile::{ColumnErrors, Provenance, profiles};
use crate::{Profile, ResolvedConfig};
use coverage::{beyond_window, doublings_beyond, not_covered, only_model, other_cached_share};
use left_out::Spread;

/// The half-width of an uncalibrated range, as a factor. A prediction without measured rows can be wrong by this
/// factor.
const UNCALIBRATED_FACTOR: f64 = 2.0;
/// The factor on the errors of the rows that a profile was fitted to. These errors are used if there are no errors of
/// left-out rows.
const IN_SAMPLE_FACTOR: f64 = 1.5;
/// The additional half-width, as a logarithm, for each doubling outside of the range of the measured rows.
const BEYOND_LOGARITHM: f64 = 0.03;
/// The spread of the front end's time ([`Confidence::front_spread`]): the root mean square of the logarithms of its time
/// in each set of rows, relative to the time in fits without the set. Clients and hosts differ.
const FRONT_SPREAD: f64 = 0.36;
/// A fit to fewer rows than this is nearly exact, so its errors say nothing about other rows.
const FEWEST_ROWS: u32 = 8;

/// The columns for which profiles state errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorColumn {
    /// Requests and output tokens per second.
    Throughput,
    /// Latency per token and per output token.
    Latency,
    /// Time per output token after the first.
    Tpot,
    /// The median TTFT.
    TtftP50,
    /// The 99th percentile of the TTFT.
    TtftP99,
    /// The median TTFT if the client limits the requests in flight.
    TtftP50Limited,
    /// The 99th percentile of the TTFT if the client limits the requests in flight.
    TtftP99Limited,
}

inferometer_model::names!(ErrorColumn {
    Throughput => "output_tokens_per_s", Latency => "latency_per_output_token_ms",
    Tpot => "tpot_ms", TtftP50 => "ttft_p50_ms", TtftP99 => "ttft_p99_ms",
    TtftP50Limited => "ttft_p50_limited_ms", TtftP99Limited => "ttft_p99_limited_ms",
});

/// A range around a prediction, on a logarithmic scale. Its ends are the prediction times exp(`shift` - `half`) and
/// times exp(`shift` + `half`). If the range does not contain the prediction, it is extended to the prediction.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LogRange {
    shift: f64,
    half: f64,
}

/// The expected error of the predictions of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Confidence {
    /// The range that is expected to contain 90 % of measurements, for each column. `None` if no measured row has the
    /// column.
    ranges: [Option<LogRange>; 7],
    /// A range whose `half` is at least this value is a guess.
    widest: f64,
    /// The standard deviation of the logarithm of the front end's time in measurements with another client; 0 if the
    /// ranges of TTFT contain this difference already.
    pub(crate) front_spread: f64,
    /// The errors from which the ranges were computed, in words; `None` if the ranges are guesses.
    pub of: Option<String>,
    /// Why the ranges are guesses; `None` if they come from errors of measured rows.
    pub uncalibrated: Option<String>,
}

impl Confidence {
    /// The range around a prediction that is expected to contain 90 % of measurements; a guess ([`Self::guess`]) if the
    /// column is not calibrated.
    pub fn interval(&self, column: ErrorColumn, predicted: f64) -> [f64; 2] {
        match self.range(column) {
            Some(LogRange { shift, half }) => around(predicted, half - shift, half + shift),
            None => self.guess(column, predicted),
        }
    }

    /// The range around a predicted rate, from the errors of a latency. The rate is inversely proportional to the
    /// latency, so the range is shifted in the opposite direction.
    pub fn interval_of_rate(&self, column: ErrorColumn, predicted: f64) -> [f64; 2] {
        match self.range(column) {
            Some(LogRange { shift, half }) => around(predicted, half + shift, half - shift),
            None => self.guess(column, predicted),
        }
    }

    fn range(&self, column: ErrorColumn) -> Option<LogRange> {
        self.ranges[column as usize].filter(|_| self.is_calibrated(column))
    }

    /// The range around a prediction that no measured row supports: a factor of two, or more if the errors of measured
    /// rows are larger.
    pub fn guess(&self, column: ErrorColumn, predicted: f64) -> [f64; 2] {
        let of_rows = self.ranges[column as usize].filter(|_| self.uncalibrated.is_none());
        let factor = of_rows.map_or(1.0, |range| range.half.exp()).max(UNCALIBRATED_FACTOR);
        [predicted / factor, predicted * factor]
    }

    /// Whether the range of this column comes from errors of measured rows. If not, the range is a guess.
    pub fn is_calibrated(&self, column: ErrorColumn) -> bool {
        self.uncalibrated.is_none()
            && self.ranges[column as usize].is_some_and(|range| range.half < self.widest)
    }
}

/// Returns the uncertainty of predictions for a cell, compared with measurements on `measured`. In the cell, at most
/// `sequences` sequences run at the same time.
///
/// If the profile has rows of the model, the errors of these rows are used, from fits without rows of the same length
/// or without half of all rows. With the cost model for vLLM 0.8 and later, only rows on the same number of cards
/// count. If the profile has no such rows, the errors of other models are used, whose whole tables were left out of
/// fits. The range is then a guess if fewer than two models with these weights were measured.
pub fn confidence(
    config: &ResolvedConfig,
    cell: CellPlan,
    sequences: u32,
    measured: &MeasuredOn,
) -> Confidence {
    confidence_from(profiles(), config, cell, (sequences, None), measured)
}

/// Like [`confidence`], but with the errors of the profiles `known` in place of the built-in ones. `load` has the
/// number of sequences, and the share of prompt tokens that are in the prefix cache, if it is known.
pub fn confidence_from(
    known: &[Profile],
    config: &ResolvedConfig,
    cell: CellPlan,
    (sequences, cached_share): (u32, Option<f64>),
    measured: &MeasuredOn,
) -> Confidence {
    let all = config.profile.provenance.iter();
    let tables: Vec<&Provenance> =
        all.filter(|provenance| provenance.weights == config.weights).collect();
    // Prefer measured rows of the model itself on the same number of cards.
    let own = || tables.iter().filter(|it| it.table == config.model.name);
    let is_of_today = config.profile.steps.is_some();
    let own = own()
        .find(|it| it.seen.cards == config.tensor_parallel_size)
        .or(own().next().filter(|_| !is_of_today));
    let uncalibrated = match tables.as_slice() {
        [] => config.uncalibrated_profile().or_else(|| {
            Some(format!(
                "the profile was not fitted to measured rows with {} weights",
                config.weights
            ))
        }),
        tables => config
            .uncalibrated_form()
            .or_else(|| beyond_window(config, cell))
            .or_else(|| not_covered(config, tables, cell, sequences))
            .or_else(|| other_cached_share(tables, cached_share?))
            .or_else(|| own.is_none().then(|| only_model(known, config))?)
            .or_else(|| measured.is_unlike(config)),
    };
    let is_other_version = measured.is_other_version(config);
    let beyond = doublings_beyond(config, &tables, cell, sequences) * BEYOND_LOGARITHM;
    let widened = |column: ErrorColumn, logarithm: f64| match is_other_version {
        true => logarithm.hypot(left_out::other_version(known, config, column)).hypot(beyond),
        false => logarithm.hypot(beyond),
    };
    let is_built_in = known.iter().any(|known| known.name == config.profile.name);
    let (of, mut ranges) = match own {
        Some(own) => {
            let of = own_in_words(config, own);
            (of, ErrorColumn::ALL.map(|column| of_own(known, config, own, column)))
        }
        None if is_of_today => {
            let sets =
                ErrorColumn::ALL.map(|column| left_out::of_other_sets(known, config, column));
            let count = sets.iter().flatten().map(|set| set.1).max().unwrap_or(0);
            let of = format!("{count} sets of rows of other models, each left out of the fit");
            let fits = if is_built_in { &[] } else { tables.as_slice() };
            let ranges = sets.into_iter().zip(ErrorColumn::ALL).map(|(set, column)| {
                set.map(|(range, _)| not_narrower(range, known, config, (fits, column)))
            });
            let of = match is_built_in {
                true => of,
                false => {
                    format!(
                        "{of}; not narrower than the errors on the measured rows of the profile"
                    )
                }
            };
            let mut ranges = ranges.collect::<Vec<_>>().into_iter();
            (of, ErrorColumn::ALL.map(|_| ranges.next().flatten()))
        }
        None => {
            let model = &config.model.name;
            let spread = ErrorColumn::ALL.map(|column| Spread::of(model, &tables, column));
            let first = spread.iter().flatten().next();
            let of = first.map_or_else(String::new, |spread| spread.words(config.weights));
            let range = |spread: Spread| LogRange { shift: 0.0, half: spread.logarithm() };
            (of, spread.map(|spread| spread.map(range)))
        }
    };
    let of = match is_other_version {
        true => format!(
            "{of}; wider, because {} was measured, but the profile was measured with {} {}",
            measured.engine_in_words(),
            config.profile.engine,
            config.profile.engine_version
        ),
        false => of,
    };
    for (range, column) in ranges.iter_mut().zip(ErrorColumn::ALL) {
        *range = range.map(|it| LogRange { half: widened(column, it.half), ..it });
    }
    // A wider range contains no more information than a guess.
    let widest = if is_of_today { UNCALIBRATED_FACTOR.ln() } else { f64::INFINITY };
    let has_other_client = is_of_today && is_built_in && own.is_some();
    let front_spread = if has_other_client { FRONT_SPREAD } else { 0.0 };
    let of = Some(of).filter(|_| uncalibrated.is_none());
    Confidence { ranges, widest, front_spread, of, uncalibrated }
}

/// The range from predicted / exp(`below`) to predicted x exp(`above`). A negative `below` or `above` counts as 0, so
/// the range contains the prediction.
fn around(predicted: f64, below: f64, above: f64) -> [f64; 2] {
    [predicted / below.max(0.0).exp(), predicted * above.max(0.0).exp()]
}

/// A range for another model under a profile that a user fitted to the rows of `fits`. The errors of this profile on
/// other models are assumed to be at least as large as its errors on its own rows.
fn not_narrower(
    range: LogRange,
    known: &[Profile],
    config: &ResolvedConfig,
    (fits, column): (&[&Provenance], ErrorColumn),
) -> LogRange {
    let of_fit = |own: &&Provenance| left_out::of_few_rows(known, config, own, column);
    let halves = fits.iter().filter_map(of_fit).map(|own| own.half + own.shift.abs());
    LogRange { half: halves.fold(range.half, f64::max), ..range }
}

/// Describes the errors of the model's own rows.
fn own_in_words(config: &ResolvedConfig, own: &Provenance) -> String {
    let table = &own.table;
    match config.profile.steps {
        Some(_) => format!("rows of {table}, each predicted by a fit without half of all rows"),
        None => format!("rows of {table}, each predicted by a fit without the rows of its length"),
    }
}

/// The range that is expected to contain 90 % of the rows of the model's own table.
fn of_own(
    known: &[Profile],
    config: &ResolvedConfig,
    own: &Provenance,
    column: ErrorColumn,
) -> Option<LogRange> {
    if config.profile.steps.is_some() {
        return left_out::of_few_rows(known, config, own, column);
    }
    let of_own = p90(&own.left_out_lengths, column).or_else(|| fitted(own, column));
    let of_start = p90(&own.left_out_of_start, column);
    let percent = [of_own, of_start].into_iter().flatten().reduce(f64::max)?;
    Some(LogRange { shift: 0.0, half: (percent / 100.0).ln_1p() })
}

fn p90(errors: &ColumnErrors, column: ErrorColumn) -> Option<f64> {
    errors.get(column.name()).map(|error| error.p90)
}

/// The 90th percentile of the errors of the fitted rows in percent, times [`IN_SAMPLE_FACTOR`]. `None` if there are
/// fewer than [`FEWEST_ROWS`] rows.
fn fitted(table: &Provenance, column: ErrorColumn) -> Option<f64> {
    let is_enough = table.rows >= FEWEST_ROWS;
    p90(&table.errors, column).filter(|_| is_enough).map(|p90| p90 * IN_SAMPLE_FACTOR)
}

#[cfg(test)]
mod tests;
