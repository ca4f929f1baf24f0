//! How far a prediction may be off, computed from the errors in a profile's provenance. It predicts
//! nothing.

use inferometer_model::cell::CellPlan;

use crate::config::ResolvedConfig;
use crate::profile::{ColumnErrors, Coverage, Provenance};

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
    /// Nine of ten figures are expected within this many percent.
    throughput_pct: Option<f64>,
    latency_pct: Option<f64>,
    /// Why it is a guess; absent where errors of measured rows stand behind it.
    pub uncalibrated: Option<String>,
}

impl Confidence {
    /// The range around a prediction in which nine of ten measurements are expected.
    pub fn interval(&self, column: ErrorColumn, predicted: f64) -> [f64; 2] {
        let percent = match column {
            ErrorColumn::Throughput => self.throughput_pct,
            ErrorColumn::Latency => self.latency_pct,
        };
        // A column that no measured row has is a guess as well.
        let Some(percent) = percent.filter(|_| self.uncalibrated.is_none()) else {
            return [predicted / UNCALIBRATED_FACTOR, predicted * UNCALIBRATED_FACTOR];
        };
        // Errors are of the prediction, in percent of what was measured.
        [predicted / (1.0 + percent / 100.0), predicted / (1.0 - percent / 100.0).max(0.01)]
    }
}

/// The expected error of a profile for a cell in which at most `sequences` run at once.
///
/// A model that the profile was held against has the errors of its own rows with their lengths left
/// out of the fit; any other has the mean of those of whole tables left out.
pub fn confidence(config: &ResolvedConfig, cell: CellPlan, sequences: u32) -> Confidence {
    let all = config.profile.provenance.iter();
    let tables: Vec<&Provenance> =
        all.filter(|provenance| provenance.weights == config.weights).collect();
    let uncalibrated = match tables.as_slice() {
        [] => Some(format!("no row of {} weights was fitted", config.weights)),
        tables => {
            config.uncalibrated_form().or_else(|| not_covered(config, tables, cell, sequences))
        }
    };
    let own = tables.iter().find(|provenance| provenance.table == config.model.name);
    let p90 = |column: ErrorColumn| {
        let of = |errors: &ColumnErrors| errors.get(column.name()).map(|error| error.p90);
        let fitted = |table: &Provenance| {
            of(&table.errors)
                .filter(|_| table.rows >= FEWEST_ROWS)
                .map(|p90| p90 * IN_SAMPLE_FACTOR)
        };
        if let Some(own) = own {
            let of_own = of(&own.left_out_lengths).or_else(|| fitted(own));
            return [of_own, of(&own.left_out_of_start)].into_iter().flatten().reduce(f64::max);
        }
        let stated = |table: &&Provenance| {
            of(&table.left_out_table)
                .or_else(|| of(&table.left_out_lengths))
                .or_else(|| fitted(table))
        };
        let stated: Vec<f64> = tables.iter().filter_map(stated).collect();
        (!stated.is_empty()).then(|| stated.iter().sum::<f64>() / stated.len() as f64)
    };
    Confidence {
        throughput_pct: p90(ErrorColumn::Throughput),
        latency_pct: p90(ErrorColumn::Latency),
        uncalibrated,
    }
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
mod tests {
    use super::*;
    use crate::config::EngineConfig;

    fn of(model: &str, input_length: u32, output_length: u32, sequences: u32) -> Confidence {
        let config = EngineConfig::of_model(model).unwrap().resolve().unwrap();
        confidence(&config, CellPlan { input_length, output_length }, sequences)
    }

    #[test]
    fn multipliers_from_a_few_rows_are_no_surer_than_what_they_were_laid_over() {
        let mut config = EngineConfig::of_model("chatglm3-6b").unwrap();
        let own = config.profile.provenance.iter_mut();
        let own = own.into_iter().find(|own| own.table == "chatglm3-6b").unwrap();
        own.rows = 2;
        let of_start = std::mem::take(&mut own.left_out_lengths);
        let width = |config: &EngineConfig| {
            let cell = CellPlan { input_length: 512, output_length: 512 };
            let [low, high] = confidence(&config.clone().resolve().unwrap(), cell, 256)
                .interval(ErrorColumn::Throughput, 100.0);
            high - low
        };
        // Two rows alone say nothing of others: a factor of two.
        let alone = width(&config);
        let own = config.profile.provenance.iter_mut();
        let own = own.into_iter().find(|own| own.table == "chatglm3-6b").unwrap();
        own.left_out_of_start = of_start;
        assert!(alone > 100.0 && (1.0..20.0).contains(&width(&config)), "{alone}");
    }

    #[test]
    fn a_cell_that_was_seen_has_a_narrow_interval() {
        let seen = of("chatglm3-6b", 512, 512, 256);
        assert_eq!(seen.uncalibrated, None);
        for column in [ErrorColumn::Throughput, ErrorColumn::Latency] {
            let [low, high] = seen.interval(column, 100.0);
            assert!(90.0 < low && low < 99.9 && 100.1 < high && high < 110.0, "{low} {high}");
        }
    }

    #[test]
    fn a_model_that_was_not_seen_is_less_sure_than_one_that_was() {
        let mut config = EngineConfig::of_model("qwen-14b").unwrap();
        let cell = CellPlan { input_length: 512, output_length: 512 };
        let seen = confidence(&config.resolve().unwrap(), cell, 30);
        config.model.name = "another".to_owned();
        let unseen = confidence(&config.resolve().unwrap(), cell, 30);
        let width = |confidence: &Confidence| {
            let [low, high] = confidence.interval(ErrorColumn::Throughput, 100.0);
            high - low
        };
        assert!(width(&unseen) > width(&seen));
        assert_eq!(unseen.uncalibrated, None);
    }

    #[test]
    fn a_column_of_which_no_row_speaks_has_a_wide_interval_and_the_other_has_not() {
        let log = of("sus-chat-34b", 1400, 600, 16);
        assert_eq!(log.uncalibrated, None);
        assert_eq!(log.interval(ErrorColumn::Latency, 10.0), [5.0, 20.0]);
        assert!(log.interval(ErrorColumn::Throughput, 10.0)[0] > 8.0);
    }

    #[test]
    fn forms_that_no_row_has_are_called_uncalibrated() {
        type Change = fn(&mut EngineConfig);
        let cases: [(&str, Change); 4] = [
            ("fp32", |c| c.dtype = Some(crate::config::Dtype::Float32)),
            ("squeezellm", |c| c.weights = Some(crate::weights::Weights::SqueezeLlm)),
            ("2 pipeline stages", |c| c.pipeline_parallel_size = Some(2)),
            ("mixture of experts", |c| {
                c.model = crate::model::model("mixtral-8x7b").unwrap();
                c.tensor_parallel_size = Some(4);
            }),
        ];
        for (why, change) in cases {
            let mut config = EngineConfig::of_model("chatglm3-6b").unwrap();
            change(&mut config);
            let resolved = config.resolve().unwrap();
            let cell = CellPlan { input_length: 512, output_length: 512 };
            let found = confidence(&resolved, cell, 100);
            assert!(found.uncalibrated.clone().unwrap().contains(why), "{found:?}");
            assert_eq!(found.interval(ErrorColumn::Throughput, 10.0), [5.0, 20.0]);
            assert!(resolved.caveats().iter().any(|caveat| caveat.contains(why)), "{why}");
        }
    }

    #[test]
    fn what_was_never_seen_is_called_so_and_has_a_wide_interval() {
        for (input, output, sequences, why) in [
            (4096, 512, 10, "4096 input tokens"),
            (512, 8, 10, "8 output tokens"),
            (512, 512, 2000, "2000 sequences"),
        ] {
            let found = of("chatglm3-6b", input, output, sequences);
            let reason = found.uncalibrated.clone().unwrap();
            assert!(reason.contains(why) && reason.contains("fitted rows"), "{reason}");
            assert_eq!(found.interval(ErrorColumn::Latency, 10.0), [5.0, 20.0]);
        }
    }
}
