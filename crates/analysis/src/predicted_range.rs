//! Finds the range that a prediction states for the figure of an objective, and decides whether the range leaves the
//! objective open.

use inferometer_model::Statistic;
use inferometer_model::metrics::slo::{JudgedMetric, Objective};
use inferometer_model::metrics::{e2e, failures, throughput, tpot, ttft};

use crate::prediction::{FigurePrediction, Intervals, PassPrediction};
use crate::{Cell, PassSummary};

/// The range of a predicted figure.
pub(crate) struct PredictedRange {
    /// The range in which nine of ten measurements are expected, in the metric's unit; `None` if the prediction states
    /// none.
    pub ends: Option<[f64; 2]>,
    /// Why `ends` cannot decide an objective; `None` if `ends` was computed from measured errors.
    pub doubt: Option<String>,
}

/// The range of a statistic of a metric, whose predicted value is `value`. `None` if the cell was measured, or if the
/// figure has no error of prediction: the share of failed requests follows from the limits of the engine, not from its
/// speed.
pub(crate) fn predicted_range(
    (metric, statistic): (JudgedMetric, Option<Statistic>),
    cell: &Cell,
    pass: &PassSummary,
    value: f64,
) -> Option<PredictedRange> {
    let of_cell = cell.prediction.interval?;
    if *metric.definition() == failures::DEFINITION {
        return None;
    }
    // Goodput and the figures of the steady state have other errors than requests per second of the pass.
    let rates = [
        &throughput::REQUESTS,
        &throughput::INPUT_TOKENS,
        &throughput::OUTPUT_TOKENS,
        &throughput::TOTAL_TOKENS,
    ];
    let is_rate = rates.contains(&metric.definition());
    let at = cell.passes.iter().position(|one| std::ptr::eq(one, pass));
    let of_pass = at.and_then(|at| cell.prediction.passes.get(at));
    let of_pass = of_pass.filter(|_| is_rate || metric.is_distribution());
    let of_pass = of_pass.and_then(|figures| figure(metric, statistic, figures));
    // Profiles without a step model state only the ranges of the table columns.
    let is_of_cell = cell.throughput_pass().is_some_and(|one| std::ptr::eq(one, pass));
    let of_column = match metric.definition() {
        it if *it == throughput::REQUESTS => of_cell.requests_per_s,
        it if *it == throughput::OUTPUT_TOKENS => of_cell.output_tokens_per_s,
        _ => None,
    };
    let of_column = of_column.filter(|_| is_of_cell);
    let is_calibrated =
        of_pass.map_or(cell.prediction.uncalibrated.is_none(), |figure| figure.calibrated);
    let ends = match of_pass {
        Some(figure) if is_rate && figure.predicted > 0.0 => Some(figure.around(value)),
        Some(figure) => Some(figure.interval),
        None => of_column,
    };
    let doubt = match (ends, is_calibrated) {
        (None, _) => {
            let of = statistic.map_or_else(String::new, |it| format!("_{}", it.name()));
            let name = format!("{}{of}", metric.name());
            let stated = stated(cell, at, of_cell);
            let only = match stated.is_empty() {
                true => String::new(),
                false => format!("; it states ranges for {}", stated.join(", ")),
            };
            Some(format!("this prediction states no range for {name}{only}"))
        }
        (Some(_), true) => None,
        (Some(_), false) => {
            let unknown = "the errors of this figure are unknown, so its range is only a guess";
            let why = cell.prediction.uncalibrated.as_deref().unwrap_or(unknown);
            Some(format!("the prediction is uncalibrated: {why}"))
        }
    };
    Some(PredictedRange { ends, doubt })
}

impl PredictedRange {
    /// The reason, as a sentence, why the range does not decide the objective.
    pub(crate) fn leaves_open(&self, objective: &Objective) -> Option<String> {
        let Some([low, high]) = self.ends.filter(|_| self.doubt.is_none()) else {
            return self.doubt.clone();
        };
        let holds = |end| objective.comparison.holds(end, objective.limit);
        (holds(low) != holds(high)).then(|| {
            "the limit is in the range that is expected to contain 90 % of measurements".to_owned()
        })
    }
}

/// The figures, as objectives name them, for which the prediction of the pass `at` states ranges. Without a prediction
/// of this pass: the rates for which the prediction of the cell states ranges.
fn stated(cell: &Cell, at: Option<usize>, of_cell: Intervals) -> Vec<&'static str> {
    let names = PassPrediction::NAMES.map(|name| name.trim_end_matches("_ms"));
    match at.and_then(|at| cell.prediction.passes.get(at)) {
        Some(pass) => {
            let of_figures = names.into_iter().zip(pass.figures());
            of_figures.filter_map(|(name, figure)| figure.map(|_| name)).collect()
        }
        None => [
            (throughput::REQUESTS.name, of_cell.requests_per_s),
            (throughput::OUTPUT_TOKENS.name, of_cell.output_tokens_per_s),
        ]
        .into_iter()
        .filter_map(|(name, range)| range.map(|_| name))
        .collect(),
    }
}

/// The prediction of a figure. Tokens per second have the relative error of requests per second.
fn figure(
    metric: JudgedMetric,
    statistic: Option<Statistic>,
    of: &PassPrediction,
) -> Option<FigurePrediction> {
    let metric = metric.definition();
    match statistic {
        None => of.requests_per_s,
        Some(Statistic::P50) if *metric == tpot::DEFINITION => of.tpot_p50_ms,
        Some(Statistic::P50) if *metric == ttft::FROM_SENT => of.ttft_p50_ms,
        Some(Statistic::P99) if *metric == ttft::FROM_SENT => of.ttft_p99_ms,
        Some(Statistic::P50) if *metric == e2e::FROM_SENT => of.e2e_p50_ms,
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use inferometer_model::fixture::steady;
    use inferometer_model::load::PassPlan;
    use inferometer_model::metrics::Timeline;
    use inferometer_model::metrics::slo::parse;

    use crate::cell::{self, Cell};
    use crate::fold::PassFold;
    use crate::judge::judge;
    use crate::prediction::{FigurePrediction, Intervals, PassPrediction};
    use crate::verdict::{Met, SloResult};

    /// A predicted cell with a saturated pass: the TTFT of all requests is 400 ms, and the range of its p50 is 300 to
    /// 500 ms. Requests per second are stated with a range of 20 % to each side.
    fn predicted(calibrated: bool, uncalibrated: Option<&str>) -> Vec<Cell> {
        let mut fold = PassFold::new(&PassPlan::saturated(200));
        (0..200).for_each(|_| fold.add(&Timeline::new(&steady(0.0, 400.0, 10.0, 4))));
        let pass = fold.finish();
        let rate = pass.requests_per_s.expect("a rate");
        let range = |predicted: f64, interval: [f64; 2]| {
            Some(FigurePrediction {
                predicted,
                interval,
                calibrated,
                measured: None,
                error_pct: None,
            })
        };
        let figures = PassPrediction {
            requests_per_s: range(rate, [0.8 * rate, 1.2 * rate]),
            ttft_p50_ms: range(400.0, [300.0, 500.0]),
            ..PassPrediction::default()
        };
        let mut cell = cell::cell(128, 4, vec![pass]);
        cell.prediction.interval = Some(Intervals::default());
        cell.prediction.uncalibrated = uncalibrated.map(str::to_owned);
        cell.prediction.passes = vec![figures];
        vec![cell]
    }

    fn judged(text: &str, cells: &[Cell]) -> SloResult {
        let [result] = judge(&parse(text).expect("valid"), cells).try_into().expect("one result");
        result
    }

    #[test]
    fn an_objective_on_a_prediction_is_decided_only_if_the_whole_range_is_on_one_side_of_the_limit()
    {
        let rate = 200.0 / 0.43;
        for (text, outcome) in [
            ("ttft_p50<501ms".to_owned(), Met::Yes),
            // The prediction of 400 ms meets the limit, but the range of 300 to 500 ms contains it.
            ("ttft_p50<450ms".to_owned(), Met::Undecided),
            ("ttft_p50<350ms".to_owned(), Met::Undecided),
            ("ttft_p50<0.3s".to_owned(), Met::No),
            (format!("requests_per_s>{:.1}", 0.7 * rate), Met::Yes),
            (format!("requests_per_s>{:.1}", 0.9 * rate), Met::Undecided),
            (format!("requests_per_s>{:.1}", 1.3 * rate), Met::No),
            // Tokens per second have the relative range of requests per second.
            (format!("output_tokens_per_s>{:.1}", 4.0 * 0.9 * rate), Met::Undecided),
            (format!("output_tokens_per_s>{:.1}", 4.0 * 0.7 * rate), Met::Yes),
            // The limits of the engine decide whether requests fail, not its speed.
            ("failures<1%".to_owned(), Met::Yes),
        ] {
            let result = judged(&text, &predicted(true, None));
            assert_eq!(result.outcome(), outcome, "{text}: {result:?}");
        }
        let result = judged("ttft_p50<0.45s", &predicted(true, None));
        assert_eq!((result.measured, result.interval), (Some(0.4), Some([0.3, 0.5])));
    }

    #[test]
    fn an_objective_is_undecided_without_a_calibrated_range_and_the_reason_is_stated() {
        for (text, cells, why) in [
            (
                "ttft_p95<9s",
                predicted(true, None),
                "this prediction states no range for ttft_p95; it states ranges for requests_per_s, ttft_p50",
            ),
            (
                "ttft_p50<9s",
                predicted(false, Some("no row has these weights")),
                "the prediction is uncalibrated: no row has these weights",
            ),
            ("ttft_p50<9s", predicted(false, None), "its range is only a guess"),
        ] {
            let result = judged(text, &cells);
            assert_eq!(result.outcome(), Met::Undecided, "{result:?}");
            assert!(result.undecided.as_ref().is_some_and(|told| told.contains(why)), "{result:?}");
        }
    }

    #[test]
    fn a_profile_without_predicted_passes_states_the_range_of_the_columns() {
        let mut cells = predicted(true, None);
        let rate = cells[0].requests_per_s.expect("a rate");
        cells[0].prediction.passes.clear();
        let requests_per_s = Some([0.9 * rate, 1.1 * rate]);
        cells[0].prediction.interval = Some(Intervals { requests_per_s, ..Intervals::default() });
        for (share, outcome) in [(0.8, Met::Yes), (0.95, Met::Undecided), (1.2, Met::No)] {
            let text = format!("requests_per_s>{:.1}", share * rate);
            assert_eq!(judged(&text, &cells).outcome(), outcome, "{text}");
        }
        let why =
            "this prediction states no range for ttft_p99; it states ranges for requests_per_s";
        assert_eq!(judged("ttft_p99<9s", &cells).undecided.as_deref(), Some(why));
    }
}
