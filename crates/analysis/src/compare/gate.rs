//! Conditions on the differences of a comparison, such as `output_tokens_per_s>-3%`, for programs that use the result.

use serde::{Deserialize, Serialize};

use super::answers::{AnswerFigure, AnswerRow};
use super::{Comparison, FALSE_ALARMS, Row, RowVerdict, series::is_compared};
use crate::verdict::Met;
use inferometer_model::metrics::slo::{Comparison as Sign, split};
use inferometer_model::{did_you_mean, digits};

/// One condition: the difference of a figure must stay on one side of a limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// The condition as the user wrote it.
    pub text: String,
    /// The name of the figure.
    pub figure: String,
    /// The side of the limit on which the difference must be.
    sign: Sign,
    /// The limit of the difference, in percent.
    limit_pct: f64,
}

/// Why conditions cannot be parsed or judged.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the text says what the fields are")]
pub enum GateError {
    /// The text cannot be parsed.
    #[error(
        "`{0}` is not a condition; write conditions like `output_tokens_per_s>-3%,ttft_p99<+5%`"
    )]
    Unreadable(String),
    /// No figure has this name. `suggestion`: A text that suggests a similar figure; empty if there is none.
    #[error(
        "`{text}`: no compared metric is named {figure}{suggestion}; the compared metrics are \
            {compared}"
    )]
    NoSuchFigure { text: String, figure: String, suggestion: String, compared: String },
    /// The comparison has no row at all.
    #[error("`{text}`: {figure} is not compared: {why}")]
    NothingCompared { text: String, figure: String, why: String },
    /// The figure exists, but not on both sides of the comparison.
    #[error("`{text}`: {figure} is not compared: {why}; the compared metrics are {compared}")]
    NotCompared { text: String, figure: String, why: String, compared: String },
}

/// The result of a condition on one row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateResult {
    /// The condition as the user wrote it.
    pub condition: String,
    /// The figure of the row.
    #[serde(skip)]
    pub figure: String,
    /// The cell and the load of the row.
    pub place: String,
    /// The difference of the row, in percent; absent if the answers of the row have no ratio.
    pub difference_pct: Option<f64>,
    /// The confidence interval of `difference_pct`; absent if the row has none. An end is absent if it is unknown.
    pub interval_pct: Option<[Option<f64>; 2]>,
    /// Why the answers of the row are incomplete; absent if they are complete, and for rows without answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Whether the two runs were measured in turn, or both are predictions. If not, a drift over time may be the reason
    /// for an unmet condition.
    pub measured_in_turn: bool,
    /// Whether the condition is met.
    pub met: Met,
}

/// Parses conditions, which are separated by commas.
///
/// # Errors
/// One error for each condition that cannot be parsed.
pub fn parse(text: &str) -> Result<Vec<Condition>, Vec<GateError>> {
    let parts = text.split(',').map(|part| {
        let part = part.trim();
        condition(part).ok_or_else(|| GateError::Unreadable(part.to_owned()))
    });
    let (read, failed): (Vec<_>, Vec<_>) = parts.partition(Result::is_ok);
    let errors: Vec<GateError> = failed.into_iter().filter_map(Result::err).collect();
    if errors.is_empty() { Ok(read.into_iter().flatten().collect()) } else { Err(errors) }
}

fn condition(text: &str) -> Option<Condition> {
    let (figure, sign, limit) = split(text)?;
    let limit: f64 = limit.strip_suffix('%')?.trim().parse().ok()?;
    (limit.is_finite() && !figure.is_empty()).then(|| Condition {
        text: text.to_owned(),
        figure: figure.to_owned(),
        sign,
        limit_pct: limit,
    })
}

/// Judges each condition on every row with its figure, including the mean over all cells and the answers of searches
/// and sweeps.
///
/// # Errors
/// When no row has the figure of a condition.
pub fn judge(
    conditions: &[Condition],
    comparison: &Comparison,
) -> Result<Vec<GateResult>, GateError> {
    let mut results = Vec::new();
    for condition in conditions {
        let rows = comparison.rows.iter().filter(|row| row.figure == condition.figure);
        let is_its = |row: &&AnswerRow| row.figure.name() == condition.figure;
        let answers = comparison.answers.iter().filter(is_its);
        let judged: Vec<GateResult> = rows
            .map(|row| condition.judge(row, comparison.are_predictions))
            .chain(answers.map(|row| condition.judge_answer(row, comparison.are_predictions)))
            .collect();
        if judged.is_empty() {
            return Err(condition.without_rows(comparison));
        }
        results.extend(judged);
    }
    Ok(results)
}

impl Condition {
    /// Whether an interval of the difference leaves the condition undecided. `ends` are the ends of the interval, in
    /// percent.
    pub(crate) fn is_open(&self, ends: [f64; 2]) -> bool {
        let [low, high] = ends.map(|end| self.sign.holds(end, self.limit_pct));
        low != high
    }

    /// The error if no row has the figure of the condition.
    fn without_rows(&self, comparison: &Comparison) -> GateError {
        if let Some(why) = comparison.nothing_compared.clone() {
            let (text, figure) = (self.text.clone(), self.figure.clone());
            return GateError::NothingCompared { text, figure, why };
        }
        let mut names: Vec<&str> = Vec::new();
        let answers = comparison.answers.iter().map(|row| row.figure.name());
        for name in comparison.rows.iter().map(|row| row.figure.as_str()).chain(answers) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let (text, figure) = (self.text.clone(), self.figure.clone());
        let compared = names.join(", ");
        // An imported run may state a figure that this program never computes.
        let mut only = comparison.unmatched.iter().filter(|group| group.figures.contains(&figure));
        let why = match only.next() {
            Some(group) => format!("only {} has it", group.only_in),
            None if AnswerFigure::ALL.iter().any(|it| it.name() == figure) => {
                "it is an answer of two searches or two sweeps".to_owned()
            }
            None if is_compared(&figure) => "neither side has it".to_owned(),
            None => {
                let suggestion = did_you_mean(&figure, names);
                return GateError::NoSuchFigure { text, figure, suggestion, compared };
            }
        };
        GateError::NotCompared { text, figure, why, compared }
    }

    /// Judges the condition on an answer by the interval of the ratio. An open end of the interval may be anywhere. If
    /// the baseline has an answer but the contender serves no load at all, the condition is missed. If the answers are
    /// incomplete for another reason, the condition is undecided.
    fn judge_answer(&self, row: &AnswerRow, are_predictions: bool) -> GateResult {
        let percent = |ratio: f64| 100.0 * (ratio - 1.0);
        let [low, high] =
            row.ratio.map_or([None; 2], |it| [it.low, it.high].map(|it| it.map(percent)));
        let ends = [low.unwrap_or(-100.0), high.unwrap_or(f64::INFINITY)];
        let why = row.why_incomplete();
        let met = match ends.map(|end| self.sign.holds(end, self.limit_pct)) {
            _ if row.is_lost() => Met::No,
            _ if why.is_some() => Met::Undecided,
            [true, true] => Met::Yes,
            [false, false] => Met::No,
            _ => Met::Undecided,
        };
        GateResult {
            condition: self.text.clone(),
            figure: row.figure.name().to_owned(),
            place: row.place(),
            difference_pct: row.ratio.map(|ratio| percent(ratio.value)),
            interval_pct: low.or(high).map(|_| [low, high]),
            why,
            measured_in_turn: are_predictions,
            met,
        }
    }

    /// Judges the condition on a row.
    ///
    /// - With an interval: the condition is met if the whole interval lies on the required side of the limit. It is
    ///   missed if the whole interval lies on the other side. If a difference of zero would meet the condition, and the
    ///   significance over all rows was tested, it is missed only if the difference is also significant. Otherwise the
    ///   condition is undecided.
    /// - Without an interval: the condition is missed if the difference lies on the other side. If the difference lies
    ///   on the required side, the condition is undecided if more repeats could give an interval, and met if not.
    ///
    /// These rules also apply to runs that were not measured in turn, because a stored baseline is always older. A
    /// drift may then be the cause of a missed condition.
    fn judge(&self, row: &Row, are_predictions: bool) -> GateResult {
        let holds = |difference: f64| self.sign.holds(difference, self.limit_pct);
        let met = match row.interval_pct.map(|ends| ends.map(holds)) {
            Some([true, true]) => Met::Yes,
            // If a difference of zero meets the condition, `No` requires a significant difference. The reason: the
            // interval is for one row, and among many rows, some intervals exceed a limit by chance.
            Some([false, false]) if !holds(0.0) || row.p.is_none_or(|p| p <= FALSE_ALARMS) => {
                Met::No
            }
            Some(_) => Met::Undecided,
            None if !holds(row.difference_pct) => Met::No,
            None if matches!(row.verdict, RowVerdict::NotEnoughData { .. }) => Met::Undecided,
            None => Met::Yes,
        };
        GateResult {
            condition: self.text.clone(),
            figure: row.figure.clone(),
            place: row.place(),
            difference_pct: Some(row.difference_pct),
            interval_pct: row.interval_pct.map(|ends| ends.map(Some)),
            why: None,
            measured_in_turn: row.design.is_alternated() || are_predictions,
            met,
        }
    }
}

impl Row {
    /// The cell and the load of the row, as text.
    pub fn place(&self) -> String {
        let cell = self.cell.map_or_else(|| "all cells".to_owned(), |cell| cell.to_string());
        format!("{cell}, {}", digits::of_load(&self.load))
    }
}

#[cfg(test)]
mod tests {
    use super::super::answers::tests::{answered, compared, missed, unknown};
    use super::*;

    #[test]
    fn a_gate_is_not_met_if_an_answer_is_missing() {
        let known = || answered(10.0);
        for (baseline, contender, met, why) in [
            (
                vec![known()],
                vec![missed()],
                Met::No,
                "no load meets the objectives on the contender",
            ),
            (vec![known()], vec![missed(), missed()], Met::No, "no load meets"),
            (vec![known()], vec![unknown()], Met::Undecided, "no load is known to meet"),
            (vec![missed()], vec![known()], Met::Undecided, "on the baseline"),
            (vec![missed()], vec![missed()], Met::Undecided, "on the contender; no load meets"),
            (
                vec![known()],
                vec![known(), missed()],
                Met::Undecided,
                "1 of 2 runs of the contender",
            ),
            (
                vec![known(), unknown()],
                vec![known()],
                Met::Undecided,
                "1 of 2 runs of the baseline",
            ),
        ] {
            let comparison =
                Comparison { answers: compared(&baseline, &contender), ..Comparison::default() };
            let conditions = parse("highest_load>-95%").expect("a condition");
            let [result] = judge(&conditions, &comparison)
                .expect("the figure is compared")
                .try_into()
                .expect("one row");
            assert_eq!(result.met, met, "{result:?}");
            assert!(result.why.as_ref().is_some_and(|it| it.contains(why)), "{result:?}");
        }
    }

    #[test]
    fn a_drift_is_a_possible_reason_for_missed_answers_of_measured_runs_but_not_of_predictions() {
        let conditions = parse("highest_load>-3%").expect("a condition");
        for are_predictions in [false, true] {
            let answers = compared(&[answered(10.0)], &[answered(5.0)]);
            let comparison = Comparison { answers, are_predictions, ..Comparison::default() };
            let results = judge(&conditions, &comparison).expect("the figure is compared");
            assert_eq!((results[0].met, results[0].measured_in_turn), (Met::No, are_predictions));
        }
    }

    #[test]
    fn a_gate_without_any_compared_figure_states_why() {
        let why = Some("one run is a search and the other one is a sweep".to_owned());
        let comparison = Comparison { nothing_compared: why, ..Comparison::default() };
        let conditions = parse("highest_load>-3%").expect("a condition");
        let told = judge(&conditions, &comparison).expect_err("nothing is compared").to_string();
        assert_eq!(
            told,
            "`highest_load>-3%`: highest_load is not compared: one run is a search and the other one is a sweep"
        );
    }
}
