//! Compares the answers of searches and sweeps: the highest loads that meet the objectives, the throughput at saturation
//! and the knees. The trials behind the answers are not compared, because each search chooses its own loads.

use inferometer_model::cell::CellPlan;
use inferometer_plan::search::Over;
use serde::{Deserialize, Serialize};

use crate::load_ranking::{Answered, SustainedLoad};
use crate::search::{SearchAnswer, SearchEnding};
use crate::summary::Summary;
use crate::sweep::{FigureInterval, SweepAnswer, SweepEnding};

/// A figure of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerFigure {
    /// The highest load that meets the objectives of a search.
    HighestLoad,
    /// Completed requests per second at saturation.
    SaturatedRequestsPerS,
    /// Output tokens per second at saturation.
    SaturatedOutputTokensPerS,
    /// The lowest load with almost the throughput at saturation.
    Knee,
}

inferometer_model::names!(AnswerFigure {
    HighestLoad => "highest_load",
    SaturatedRequestsPerS => "saturated_requests_per_s",
    SaturatedOutputTokensPerS => "saturated_output_tokens_per_s",
    Knee => "knee",
});

/// One figure of an answer of one run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) figure: AnswerFigure,
    pub(super) answered: Answered,
    is_undecided: bool,
}

/// One figure of an answer, compared between both runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerRow {
    /// The cell.
    pub cell: CellPlan,
    /// The objectives of a search, with the name of their tier; absent for a sweep.
    pub objectives: Option<String>,
    /// The figure.
    pub figure: AnswerFigure,
    /// The load that was varied, which determines the unit of a highest load and of a knee.
    pub over: Over,
    /// The confidence level of the intervals, 0 to 1.
    pub confidence: f64,
    /// The figure of the baseline.
    pub baseline: AnswerSide,
    /// The figure of the contender.
    pub contender: AnswerSide,
    /// The figure of the contender divided by that of the baseline; absent unless both are known.
    pub ratio: Option<SustainedLoad>,
    /// The verdict on the ratio.
    pub verdict: AnswerVerdict,
}

/// A figure of one side of the comparison, over all its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerSide {
    /// The figure with its interval; absent if no run knows it.
    pub known: Option<SustainedLoad>,
    /// Whether a search or a sweep ended before the answer was as precise as requested.
    pub is_undecided: bool,
    /// The number of runs.
    pub runs: usize,
    /// The number of runs that do not know the figure.
    pub unanswered: usize,
}

/// The verdict on the ratio of two answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerVerdict {
    /// The whole interval of the ratio is above 1.
    Higher,
    /// The whole interval of the ratio is below 1.
    Lower,
    /// The interval of the ratio contains 1, and lies within the margin.
    NoDifference,
    /// None of the above.
    Unknown,
}

impl AnswerVerdict {
    fn of(ratio: Option<SustainedLoad>, margin: f64) -> Self {
        let (low, high) = ratio.map_or((None, None), |ratio| (ratio.low, ratio.high));
        match (low, high) {
            (Some(low), _) if low > 1.0 => Self::Higher,
            (_, Some(high)) if high < 1.0 => Self::Lower,
            (Some(low), Some(high)) if low > 1.0 - margin && high < 1.0 + margin => {
                Self::NoDifference
            }
            _ => Self::Unknown,
        }
    }
}

impl AnswerRow {
    /// The unit of the figure.
    pub fn unit(&self) -> &'static str {
        match self.figure {
            AnswerFigure::HighestLoad | AnswerFigure::Knee => self.over.unit(),
            AnswerFigure::SaturatedRequestsPerS => Over::Rate.unit(),
            AnswerFigure::SaturatedOutputTokensPerS => "output tokens/s",
        }
    }

    /// The cell, and the objectives of a search, as text.
    pub fn place(&self) -> String {
        match &self.objectives {
            Some(objectives) => format!("{}, with {objectives}", self.cell),
            None => format!("{}, at saturation", self.cell),
        }
    }
}

impl Answer {
    fn is_same_figure(&self, other: &Self) -> bool {
        let has_unit = matches!(self.figure, AnswerFigure::HighestLoad | AnswerFigure::Knee);
        // A throughput at saturation is the same figure, whichever load was varied.
        let over = |one: &Self| has_unit.then_some(one.answered.over);
        let key = |one: &Self| (one.figure, one.answered.cell, over(one));
        key(self) == key(other) && self.answered.objectives == other.answered.objectives
    }

    /// Whether one of these is the same figure.
    pub(super) fn is_among(&self, others: &[Self]) -> bool {
        others.iter().any(|other| other.is_same_figure(self))
    }
}

/// The answers of a run.
pub(super) fn of_run(summary: &Summary) -> Vec<Answer> {
    let sweeps = summary.sweeps.iter().flat_map(of_sweep);
    summary.searches.iter().map(of_search).chain(sweeps).collect()
}

fn of_search(answer: &SearchAnswer) -> Answer {
    let is_undecided = match answer.outcome {
        SearchEnding::Found | SearchEnding::MetAtHighest | SearchEnding::NotMetAtLowest => false,
        SearchEnding::Unfinished
        | SearchEnding::RequestsSpent
        | SearchEnding::TrialsSpent
        | SearchEnding::TimeSpent
        | SearchEnding::NotMeasurable => true,
    };
    let answered = Answered::of_search(answer);
    Answer { figure: AnswerFigure::HighestLoad, answered, is_undecided }
}

fn of_sweep(answer: &SweepAnswer) -> [Answer; 3] {
    let saturation = answer.saturation.as_ref();
    let interval =
        |found: FigureInterval| SustainedLoad::of(found.value, Some(found.low), Some(found.high));
    let tokens = saturation.and_then(|saturation| interval(saturation.output_tokens_per_s?));
    let knee = answer.knee.as_ref();
    let knee = knee.and_then(|knee| SustainedLoad::of(knee.load, knee.low, Some(knee.high)));
    let is_undecided = !matches!(answer.outcome, SweepEnding::Found | SweepEnding::NotSaturated);
    let requests = Answered { over: answer.by, ..Answered::of_sweep(answer) };
    let of = |figure: AnswerFigure, load: Option<SustainedLoad>| Answer {
        figure,
        answered: Answered { load, ..requests.clone() },
        is_undecided,
    };
    [
        of(AnswerFigure::SaturatedRequestsPerS, requests.load),
        of(AnswerFigure::SaturatedOutputTokensPerS, tokens),
        of(AnswerFigure::Knee, knee),
    ]
}

/// One row for each figure that the answers of both runs have.
pub(super) fn rows(baseline: &[Answer], contender: &[Answer], margin: f64) -> Vec<AnswerRow> {
    let mut firsts: Vec<&Answer> = Vec::new();
    for answer in baseline.iter().filter(|answer| answer.is_among(contender)) {
        if !firsts.iter().any(|first| first.is_same_figure(answer)) {
            firsts.push(answer);
        }
    }
    let row = |first: &&Answer| {
        let of = |all: &[Answer]| -> Vec<Answer> {
            all.iter().filter(|answer| answer.is_same_figure(first)).cloned().collect()
        };
        let (ours, theirs) = (of(baseline), of(contender));
        // If the levels differ, the lower one is stated, because the wider interval covers it too.
        let levels = ours.iter().chain(&theirs).map(|answer| answer.answered.confidence);
        let confidence = levels.fold(1.0, f64::min);
        let [baseline, contender] = [ours, theirs].map(|answers| side(&answers, confidence));
        let ratio = contender.known.zip(baseline.known);
        let ratio = ratio.map(|(contender, baseline)| contender.relative_to(&baseline));
        let Answered { cell, objectives, over, .. } = first.answered.clone();
        let verdict = AnswerVerdict::of(ratio, margin);
        let figure = first.figure;
        AnswerRow {
            cell,
            objectives,
            figure,
            over,
            confidence,
            baseline,
            contender,
            ratio,
            verdict,
        }
    };
    firsts.iter().map(row).collect()
}

fn side(answers: &[Answer], confidence: f64) -> AnswerSide {
    let known: Vec<SustainedLoad> =
        answers.iter().filter_map(|answer| answer.answered.load).collect();
    AnswerSide {
        unanswered: answers.len() - known.len(),
        // The mean of no round is not a load.
        known: Some(known)
            .filter(|known| !known.is_empty())
            .and_then(|known| SustainedLoad::over_rounds(&known, confidence)),
        is_undecided: answers.iter().any(|answer| answer.is_undecided),
        runs: answers.len(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn search(estimate: f64, ends: [Option<f64>; 2], outcome: &str, slo: &str) -> Answer {
        let answer: SearchAnswer = serde_json::from_value(json!({
            "input_length": 512, "output_length": 128, "over": "rate", "confidence": 0.95,
            "objectives": [{ "text": slo, "share": 0.99, "mean_limit_ms": null }],
            "precision": 0.05, "outcome": outcome, "estimate": estimate, "low": ends[0],
            "high": ends[1], "guess": estimate, "limited_by": [], "saturated": false,
            "contradicts": false, "requests": 1, "trials": 1, "loads": [],
        }))
        .expect("an answer");
        of_search(&answer)
    }

    #[test]
    fn the_highest_loads_are_compared_by_the_intervals_of_both_answers() {
        let slo = "ttft_p99<500ms";
        let fixed = search(10.0, [Some(9.0), Some(11.0)], "found", slo);
        for (estimate, ends, outcome, verdict) in [
            (20.0, [Some(18.0), Some(22.0)], "found", AnswerVerdict::Higher),
            (5.0, [Some(4.5), Some(5.5)], "found", AnswerVerdict::Lower),
            (10.5, [Some(9.5), Some(11.5)], "requests_spent", AnswerVerdict::Unknown),
            // An open end does not hide a difference on the other side.
            (20.0, [Some(18.0), None], "met_at_highest", AnswerVerdict::Higher),
            (5.0, [Some(4.5), None], "met_at_highest", AnswerVerdict::Unknown),
        ] {
            let other = search(estimate, ends, outcome, slo);
            let [row] =
                rows(std::slice::from_ref(&fixed), &[other], 0.05).try_into().expect("one row");
            assert_eq!(row.verdict, verdict, "{row:?}");
            assert_eq!(row.contender.is_undecided, outcome == "requests_spent");
            let ratio = row.ratio.expect("both are known");
            assert!((ratio.value - estimate / 10.0).abs() < 1e-9, "{ratio:?}");
            assert_eq!(ratio.high.is_some(), ends[1].is_some(), "{ratio:?}");
        }
    }

    #[test]
    fn answers_within_the_margin_show_no_difference_and_other_objectives_have_no_row() {
        let of = |slo: &str| search(10.0, [Some(9.9), Some(10.1)], "found", slo);
        let (one, other) = (of("ttft_p99<500ms"), of("ttft_p99<1s"));
        let [row] = rows(std::slice::from_ref(&one), std::slice::from_ref(&one), 0.05)
            .try_into()
            .expect("one row");
        assert_eq!(row.verdict, AnswerVerdict::NoDifference);
        assert!(rows(&[one], &[other], 0.05).is_empty());
    }
}
