//! Derives the range of predictions for a new table (the measured rows of a model) from the errors of a few tables that
//! were left out of fits.
//!
//! The errors of a table have two parts: a bias that all its rows share, and a scatter around the bias. The half-width
//! is the root of the sum of two squares: Student's t times the root mean square of the biases, and Student's t times
//! the scatter within tables. There are only a few tables, so the bias has few degrees of freedom and a large t.
//! Satterthwaite's method would first combine the two variances. It is not used: if two biases happen to be small, its
//! range is too narrow.

use super::{ErrorColumn, FEWEST_ROWS, fitted, p90};
use crate::config::ResolvedConfig;
use crate::profile::{Profile, Provenance, SignedError, SignedErrors, profiles};

/// 90 % of the values of a normal distribution are within this many standard deviations of the mean.
const NINE_OF_TEN: f64 = 1.645;

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
    /// Whether the left-out tables have the same weights as the model.
    has_same_weights: bool,
    /// The weights of the model, for messages.
    weights: String,
}

impl Spread {
    /// The spread for a model without measured rows; `None` if no table was left out of a fit.
    pub fn of(
        config: &ResolvedConfig,
        tables: &[&Provenance],
        column: ErrorColumn,
    ) -> Option<Self> {
        let others = |provenance: &&Provenance| provenance.table != config.model.name;
        let of_kind: Vec<SignedError> = tables
            .iter()
            .copied()
            .filter(others)
            .filter_map(|table| signed(&table.without_table, column))
            .collect();
        let weights = config.weights.to_string();
        if !of_kind.is_empty() {
            return Some(Self::pooled(&[of_kind], 0.0, true, weights));
        }
        // There is only one table with these weights, so the error for another model is unknown. It is assumed to be as
        // large as with other weights.
        let own = tables.iter().filter_map(|table| scatter_of(table, column));
        let own = own.reduce(f64::max)?;
        let all = alike(config).flat_map(|profile| &profile.provenance);
        let all: Vec<&Provenance> = all.filter(others).collect();
        let set = |errors: &dyn Fn(&Provenance) -> Option<SignedError>| -> Vec<SignedError> {
            all.iter().filter_map(|table| errors(table)).collect()
        };
        let sets = [
            set(&|table| signed(&table.without_table, column)),
            set(&|table| signed(&table.without_weights, column)),
        ];
        let some = sets.iter().any(|set| !set.is_empty());
        some.then(|| Self::pooled(&sets, own, false, weights))
    }

    /// Pools the errors of sets of tables. The tables of a set were predicted from each other or from the same other
    /// tables. So each set has one degree of freedom less than it has tables. `least_scatter` is a lower bound of the
    /// scatter, in percent.
    fn pooled(
        sets: &[Vec<SignedError>],
        least_scatter: f64,
        has_same_weights: bool,
        weights: String,
    ) -> Self {
        let degrees: usize = sets.iter().map(|set| set.len().saturating_sub(1)).sum();
        let all: Vec<&SignedError> = sets.iter().flatten().collect();
        let rows: f64 = all.iter().map(|error| f64::from(error.rows.saturating_sub(1))).sum();
        let squares =
            |of: &dyn Fn(&SignedError) -> f64| all.iter().map(|error| of(error)).sum::<f64>();
        let inside =
            squares(&|error| f64::from(error.rows.saturating_sub(1)) * error.scatter.powi(2));
        Self {
            degrees: degrees.max(1) as f64,
            bias: (squares(&|error| error.bias.powi(2)) / all.len() as f64).sqrt(),
            rows,
            scatter: (inside / rows.max(1.0)).sqrt().max(least_scatter),
            count: all.len(),
            has_same_weights,
            weights,
        }
    }

    /// The half-width, as a logarithm, of the range that is expected to contain 90 % of the measurements of a new
    /// table.
    pub fn logarithm(&self) -> f64 {
        let between = student_95(self.degrees) * self.bias;
        let inside = student_95(self.rows.max(1.0)) * self.scatter;
        between.hypot(inside) / 100.0
    }

    /// The source of the spread, in words.
    pub fn words(&self) -> String {
        let Self { count, weights, .. } = self;
        match (self.has_same_weights, count) {
            (true, 1) => {
                format!("one other model of {weights} weights that was left out of the fit")
            }
            (true, _) => format!("{count} models of {weights} weights, each left out of the fit"),
            (false, _) => format!(
                "{count} left-out tables of all weights, because only one model with {weights} weights \
                 was measured"
            ),
        }
    }
}

/// The weight of the errors of all tables, as a number of additional rows of a table. Used with the cost model since
/// vLLM 0.8.
const OTHERS_AS_ROWS: f64 = 6.0;
/// The scatter of repeated runs of the same engine, in percent. No prediction is assumed to be more accurate than this.
const REPLICATES_PERCENT: f64 = 1.8;

/// The half-width, as a logarithm, that contains 90 % of the rows of a table. Tables of the cost model since vLLM 0.8
/// have few rows each. So the left-out errors of all tables are added to the table's own, with the weight of
/// [`OTHERS_AS_ROWS`] rows.
pub(super) fn of_few_rows(
    config: &ResolvedConfig,
    own: &Provenance,
    column: ErrorColumn,
) -> Option<f64> {
    let square = |table: &Provenance| {
        let scatter = p90(&table.left_out_lengths, column)? / NINE_OF_TEN;
        Some((f64::from(table.rows), scatter.powi(2)))
    };
    let pooled = |tables: &mut dyn Iterator<Item = &Provenance>| {
        let (rows, sum) = tables
            .filter_map(square)
            .fold((0.0, 0.0), |(rows, sum), (more, square)| (rows + more, sum + more * square));
        (rows > 0.0).then(|| sum / rows)
    };
    let all = pooled(&mut alike(config).flat_map(|profile| &profile.provenance));
    let (rows, of_own) = square(own)?;
    let scatter = match all {
        Some(all) => (rows * of_own + OTHERS_AS_ROWS * all) / (rows + OTHERS_AS_ROWS),
        None => of_own,
    };
    let scatter = scatter.sqrt().max(REPLICATES_PERCENT);
    Some((student_95(rows + OTHERS_AS_ROWS) * scatter / 100.0).ln_1p())
}

/// The profiles with the same cost model as the profile of `config`.
fn alike(config: &ResolvedConfig) -> impl Iterator<Item = &'static Profile> {
    let is_today = config.profile.steps.is_some();
    profiles().iter().filter(move |profile| profile.steps.is_some() == is_today)
}

/// The tables whose errors apply to a model that is in none of `tables`. With the cost model since vLLM 0.8, the
/// constants of several profiles were fitted together. So the tables of all these profiles apply, if they have the same
/// weights.
pub(super) fn pool<'a>(config: &ResolvedConfig, tables: &[&'a Provenance]) -> Vec<&'a Provenance> {
    if config.profile.steps.is_none() {
        return tables.to_vec();
    }
    let all = alike(config).flat_map(|profile| &profile.provenance);
    let of_kind: Vec<&'a Provenance> =
        all.filter(|table| table.weights == config.weights).collect();
    if of_kind.is_empty() { tables.to_vec() } else { of_kind }
}

fn signed(errors: &SignedErrors, column: ErrorColumn) -> Option<SignedError> {
    errors.get(column.name()).copied()
}

/// The scatter within a table in percent, from the errors of its rows.
fn scatter_of(table: &Provenance, column: ErrorColumn) -> Option<f64> {
    let left_out = p90(&table.left_out_lengths, column).or_else(|| fitted(table, column));
    let of_few = p90(&table.left_out_of_start, column).filter(|_| table.rows < FEWEST_ROWS);
    Some(left_out.into_iter().chain(of_few).reduce(f64::max)? / NINE_OF_TEN)
}

/// The additional half-width, as a logarithm, for measurements of another version than the profile's. It is computed
/// from the errors of tables that were predicted with the constants of another version.
pub(super) fn other_version(config: &ResolvedConfig, column: ErrorColumn) -> f64 {
    let of_engine = alike(config).filter(|profile| profile.engine == config.profile.engine);
    let tables = of_engine.flat_map(|profile| &profile.provenance);
    let set: Vec<SignedError> =
        tables.filter_map(|table| signed(&table.other_version, column)).collect();
    if set.is_empty() {
        // There are no such errors, so this is a guess.
        return super::UNCALIBRATED_FACTOR.ln();
    }
    let spread = Spread::pooled(&[set], 0.0, true, String::new());
    student_95(spread.degrees) * spread.bias / 100.0
}

/// The 95 % quantile of Student's t, which is the half-width of a 90 % interval. Between the tabulated degrees of
/// freedom, the quantile is interpolated linearly in 1 / degrees. The result is slightly too large.
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
    fn students_quantile_is_that_of_tables() {
        for (degrees, expected) in [(1.0, 6.314), (2.0, 2.92), (12.0, 1.782), (1e9, 1.645)] {
            let found = student_95(degrees);
            assert!((found - expected).abs() < 0.002, "{degrees}: {found}");
        }
        assert_eq!(student_95(0.5), student_95(1.0));
    }

    #[test]
    fn the_range_is_the_root_of_both_squares_computed_by_hand() {
        let set = vec![error(3.0, 2.0, 16), error(-4.0, 2.0, 16)];
        let spread = Spread::pooled(&[set], 0.0, true, "fp16".to_owned());
        // The bias is sqrt((9 + 16) / 2) with 1 degree of freedom. The scatter is 2 with 30 degrees of freedom.
        let expected = (6.314_f64 * 12.5_f64.sqrt()).hypot(1.697 * 2.0) / 100.0;
        assert!((spread.logarithm() - expected).abs() < 1e-9, "{}", spread.logarithm());
    }

    #[test]
    fn more_tables_of_the_same_biases_make_it_narrower_and_larger_biases_wider() {
        let width = |biases: &[f64]| {
            let set = biases.iter().map(|bias| error(*bias, 1.0, 16)).collect();
            Spread::pooled(&[set], 0.0, true, String::new()).logarithm()
        };
        assert!(width(&[2.0, -2.0, 2.0, -2.0]) < 0.5 * width(&[2.0, -2.0]));
        assert!(width(&[4.0, -4.0]) > 1.8 * width(&[2.0, -2.0]));
    }
}
