//! Derives the range of predictions for a new table (the measured rows of a model) from the errors of a few tables that
//! were left out of fits. Also derives the range for a table with few rows from its own errors and the errors of all
//! tables (`of_few_rows`).
//!
//! The errors of a table have two parts: a bias that all its rows share, and a scatter around the bias. The half-width
//! is the root of the sum of two squares: Student's t times the root mean square of the biases, and Student's t times
//! the scatter within tables. There are only a few tables, so the bias has few degrees of freedom and a large t.
//! Satterthwaite's method would first combine the two variances. This method is not used: if two biases happen to be
//! small, its range is too narrow.

use super::{ErrorColumn, LogRange, p90};
use crate::profile::{Provenance, SignedError, SignedErrors};
use crate::{Profile, ResolvedConfig, Weights};

/// 90 % of the values of a normal distribution are within this many standard deviations of the mean.
pub const NINE_OF_TEN: f64 = 1.645;

/// The errors of tables that were left out of fits, in percent: 100 x ln(prediction / measurement).
pub(super) struct Spread {
    /// Degrees of freedom of the biases.
    degrees: f64,
    /// The root mean square of the biases.
    bias: f64,
    /// Degrees of freedom of the scatter.
    rows: f64,
    /// The pooled standard deviation within tables.
    scatter: f64,
    /// The number of left-out tables.
    count: usize,
}

impl Spread {
    /// The spread for a model without measured rows; `None` if no errors of left-out rows are known.
    pub fn of(model: &str, tables: &[&Provenance], column: ErrorColumn) -> Option<Self> {
        let others = tables.iter().filter(|provenance| provenance.table != model);
        let errors: Vec<SignedError> =
            others.filter_map(|table| signed(&table.without_table, column)).collect();
        (!errors.is_empty()).then(|| Self::pooled(&errors))
    }

    /// Pools the errors of tables. The tables were predicted from each other, so there is one degree of freedom less
    /// than there are tables.
    fn pooled(all: &[SignedError]) -> Self {
        let degrees = all.len().saturating_sub(1);
        let rows: f64 = all.iter().map(|error| f64::from(error.rows.saturating_sub(1))).sum();
        let squares = |of: &dyn Fn(&SignedError) -> f64| all.iter().map(of).sum::<f64>();
        let inside =
            squares(&|error| f64::from(error.rows.saturating_sub(1)) * error.scatter.powi(2));
        Self {
            degrees: degrees.max(1) as f64,
            bias: (squares(&|error| error.bias.powi(2)) / all.len() as f64).sqrt(),
            rows,
            scatter: (inside / rows.max(1.0)).sqrt(),
            count: all.len(),
        }
    }

    /// The half-width, as a logarithm, of the range that is expected to contain 90 % of the measurements of a new
    /// table.
    pub fn logarithm(&self) -> f64 {
        let between = student_95(self.degrees) * self.bias;
        let inside = student_95(self.rows.max(1.0)) * self.scatter;
        between.hypot(inside) / 100.0
    }

    /// The source of the spread for a model with these weights, in words.
    pub fn words(&self, weights: Weights) -> String {
        match self.count {
            1 => format!("one other model of {weights} weights that was left out of the fit"),
            count => format!("{count} models of {weights} weights, each left out of the fit"),
        }
    }
}

/// The weight of the errors of all tables, in the unit of rows: they count as this many additional rows of a table.
/// Used with the cost model for vLLM 0.8 and later.
const OTHERS_AS_ROWS: f64 = 4.0;
/// Nine of ten errors of left-out rows differ from the mean of their table by at most this many scatters. The number is
/// lower than for a normal distribution, because most errors are small and a few are large.
const SCATTERS: f64 = 1.35;
/// Like [`SCATTERS`], for the median TTFT of a limited load: a small error of the speed changes which requests start
/// together, so more of its errors are large.
const LIMITED_SCATTERS: f64 = 1.7;
/// The scatter of repeated runs of the same engine, in percent. No range is based on a smaller scatter.
const REPLICATES_PERCENT: f64 = 1.8;

/// The range that is expected to contain 90 % of the rows of a table. With the cost model for vLLM 0.8 and later, each
/// table has few rows. So the table's own errors are combined with the errors of all tables, which have the weight of
/// [`OTHERS_AS_ROWS`] rows.
///
/// The rows of a table were measured with the same client and the same server, so their mean error shifts the range.
/// The mean is computed as if the table had [`OTHERS_AS_ROWS`] further rows with error 0. So the mean of few rows
/// shifts the range only a little. The width follows from the errors around this mean. With a user's profile, it is at
/// least that of the table's own errors with Student's t.
pub(super) fn of_few_rows(
    known: &[Profile],
    config: &ResolvedConfig,
    own: &Provenance,
    column: ErrorColumn,
) -> Option<LogRange> {
    let all = alike(known, config).flat_map(|profile| &profile.provenance);
    let (rows, squares) = all
        .filter_map(|table| half_left_out(table, column))
        .map(|error| (f64::from(error.rows), squares_around_mean(&error)))
        .fold((0.0, 0.0), |(rows, sum), (more, squares)| (rows + more, sum + squares));
    let error = half_left_out(own, column)?;
    let own_rows = f64::from(error.rows);
    let of_others = if rows > 0.0 { squares / rows } else { 0.0 };
    let sum = squares_around_mean(&error) + OTHERS_AS_ROWS * of_others;
    let scatter = (sum / (own_rows + OTHERS_AS_ROWS)).sqrt().max(REPLICATES_PERCENT);
    // The few rows of a user say little about other rows of the same server: they may all be near the same load.
    let is_users = known.iter().all(|known| known.name != config.profile.name);
    let of_few =
        student_95(own_rows) / NINE_OF_TEN * (squares_around_mean(&error) / own_rows).sqrt();
    let scatter = if is_users { scatter.max(of_few) } else { scatter };
    let scatters = match column {
        ErrorColumn::TtftP50Limited => LIMITED_SCATTERS,
        _ => SCATTERS,
    };
    Some(LogRange { shift: -shrunk_mean(&error) / 100.0, half: scatters * scatter / 100.0 })
}

/// The mean error of a table in percent, computed as if it had [`OTHERS_AS_ROWS`] further rows with error 0.
fn shrunk_mean(error: &SignedError) -> f64 {
    let rows = f64::from(error.rows);
    error.bias * rows / (rows + OTHERS_AS_ROWS)
}

/// The sum of the squared errors of a table around [`shrunk_mean`].
fn squares_around_mean(error: &SignedError) -> f64 {
    let rows = f64::from(error.rows);
    rows * (error.bias - shrunk_mean(error)).powi(2) + (rows - 1.0).max(0.0) * error.scatter.powi(2)
}

/// The signed errors of a table in fits without half of all rows. If the table has only absolute errors, the mean of its
/// signed errors is assumed to be 0.
fn half_left_out(table: &Provenance, column: ErrorColumn) -> Option<SignedError> {
    signed(&table.without_half, column).or_else(|| {
        let scatter = p90(&table.left_out_lengths, column)? / NINE_OF_TEN;
        Some(SignedError { bias: 0.0, scatter, rows: table.rows })
    })
}

/// The profiles in `known` with the same cost model as the profile of `config`.
pub(super) fn alike<'a>(
    known: &'a [Profile],
    config: &ResolvedConfig,
) -> impl Iterator<Item = &'a Profile> + Clone {
    let is_today = config.profile.steps.is_some();
    known.iter().filter(move |profile| profile.steps.is_some() == is_today)
}

/// The range for a model without measured rows, with the cost model for vLLM 0.8 and later. The range is computed as in
/// [`Spread`], from the errors of all sets of rows of other models that were left out of the fit as a whole. The
/// constants of all profiles were fitted together, so the weights and the card of the sets do not matter. The biases
/// are squared without subtracting their mean, so there are as many degrees of freedom as sets. Also returns the number
/// of sets.
pub(super) fn of_other_sets(
    known: &[Profile],
    config: &ResolvedConfig,
    column: ErrorColumn,
) -> Option<(LogRange, usize)> {
    let tables = alike(known, config).flat_map(|profile| &profile.provenance);
    let errors: Vec<SignedError> = tables
        .filter(|table| table.table != config.model.name)
        .filter_map(|table| signed(&table.without_table, column))
        .collect();
    let spread = Spread::pooled(&errors);
    let spread = Spread { degrees: spread.count as f64, ..spread };
    let range = LogRange { shift: 0.0, half: spread.logarithm() };
    (spread.count > 0).then_some((range, spread.count))
}

fn signed(errors: &SignedErrors, column: ErrorColumn) -> Option<SignedError> {
    errors.get(column.name()).copied()
}

/// The additional half-width, as a logarithm, if the measured version differs from the profile's version. It is
/// computed from the errors of tables that were predicted with the constants of another version.
pub(super) fn other_version(
    known: &[Profile],
    config: &ResolvedConfig,
    column: ErrorColumn,
) -> f64 {
    let of_engine = alike(known, config).filter(|profile| profile.engine == config.profile.engine);
    let tables = of_engine.flat_map(|profile| &profile.provenance);
    let set: Vec<SignedError> =
        tables.filter_map(|table| signed(&table.other_version, column)).collect();
    if set.is_empty() {
        // No table was predicted with the constants of another version, so this is a guess.
        return super::UNCALIBRATED_FACTOR.ln();
    }
    let spread = Spread::pooled(&set);
    student_95(spread.degrees) * spread.bias / 100.0
}

/// The 95 % quantile of Student's t, which is the half-width of a 90 % interval. Between the tabulated degrees of
/// freedom, the quantile is interpolated linearly in 1 / degrees. The interpolated values are slightly too large.
pub(super) fn student_95(degrees: f64) -> f64 {
    /// (degrees of freedom, quantile)
    const TABLE: [(f64, f64); 12] = [
        (1.0, 6.314),
        (2.0, 2.920),
        (3.0, 2.353),
        (4.0, 2.132),
        (5.0, 2.015),
        (6.0, 1.943),
        (7.0, 1.895),
        (8.0, 1.860),
        (10.0, 1.812),
        (15.0, 1.753),
        (30.0, 1.697),
        (f64::INFINITY, 1.645),
    ];
    let at =
        TABLE.iter().position(|(known, _)| *known >= degrees).unwrap_or(TABLE.len() - 1).max(1);
    let ((low, wide), (high, narrow)) = (TABLE[at - 1], TABLE[at]);
    let share = (1.0 / degrees.max(low) - 1.0 / high) / (1.0 / low - 1.0 / high);
    narrow + (wide - narrow) * share
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(bias: f64, scatter: f64, rows: u32) -> SignedError {
        SignedError { bias, scatter, rows }
    }

    #[test]
    fn the_95_percent_quantile_of_students_t_agrees_with_published_tables() {
        for (degrees, expected) in [(1.0, 6.314), (2.0, 2.92), (12.0, 1.782), (1e9, 1.645)] {
            let found = student_95(degrees);
            assert!((found - expected).abs() < 0.002, "{degrees}: {found}");
        }
        assert_eq!(student_95(0.5), student_95(1.0));
    }

    #[test]
    fn a_range_is_the_root_of_the_sum_of_squared_bias_and_scatter() {
        let set = vec![error(3.0, 2.0, 16), error(-4.0, 2.0, 16)];
        let spread = Spread::pooled(&set);
        // The bias is sqrt((9 + 16) / 2) with 1 degree of freedom. The scatter is 2 with 30 degrees of freedom.
        let expected = (6.314_f64 * 12.5_f64.sqrt()).hypot(1.697 * 2.0) / 100.0;
        assert!((spread.logarithm() - expected).abs() < 1e-9, "{}", spread.logarithm());
    }

    #[test]
    fn more_tables_make_a_range_narrower_and_larger_biases_make_it_wider() {
        let width = |biases: &[f64]| {
            let set: Vec<_> = biases.iter().map(|bias| error(*bias, 1.0, 16)).collect();
            Spread::pooled(&set).logarithm()
        };
        assert!(width(&[2.0, -2.0, 2.0, -2.0]) < 0.5 * width(&[2.0, -2.0]));
        assert!(width(&[4.0, -4.0]) > 1.8 * width(&[2.0, -2.0]));
    }

    #[test]
    fn the_mean_error_of_many_rows_shifts_a_range_and_that_of_few_rows_mostly_widens_it() {
        let shift_and_scatter = |rows: u32| {
            let error = error(-20.0, 2.0, rows);
            let rows = f64::from(rows);
            (shrunk_mean(&error), (squares_around_mean(&error) / rows).sqrt())
        };
        let (few, many) = (shift_and_scatter(2), shift_and_scatter(60));
        assert!((few.0 + 20.0 / 3.0).abs() < 1e-9 && few.1 > 13.0, "{few:?}");
        assert!(many.0 < -18.0 && many.1 < 3.0, "{many:?}");
    }
}
