//! Compares the answers of searches and sweeps: the highest loads that meet the objectives, the throughput at saturation
//! and the knees. The trials behind the answers are not compared, because each search chooses its own loads.

use inferometer_model::CellPlan;
use inferometer_plan::search::Over;
use serde::{Deserialize, Serialize};

use crate::load_ranking::{Answered, SustainedLoad};
use crate::sweep::{FigureInterval, SweepEnding};
use crate::{SearchAnswer, Summary, SweepAnswer, search::SearchEnding};

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
    HighestLoad => "highest_load", SaturatedRequestsPerS => "saturated_requests_per_s",
    SaturatedOutputTokensPerS => "saturated_output_tokens_per_s", Knee => "knee",
});

/// One figure of an answer of one run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) figure: AnswerFigure,
    pub(super) answered: Answered,
    is_undecided: bool,
    is_lower_bound: bool,
    /// Why the figure is unknown; used only if the figure is unknown.
    missing: NoAnswer,
}

/// Why a figure is unknown on one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoAnswer {
    /// A search: even the lowest load misses the objectives.
    NoLoadMeets,
    /// No request completed.
    NothingCompleted,
    /// Another reason, such as a limit on requests or a sweep that ended without saturation, or different reasons in
    /// several runs.
    Unknown,
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
    /// The figure of the contender divided by that of the baseline. Absent if one of the two is unknown, or if both are
    /// only lower bounds.
    pub ratio: Option<SustainedLoad>,
    /// The verdict on the ratio.
    pub verdict: AnswerVerdict,
}

/// A figure of one side of the comparison, over all its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerSide {
    /// The figure with its interval; absent if no run of this side has an answer.
    pub known: Option<SustainedLoad>,
    /// Whether a search or a sweep ended before the answer was as precise as requested, or without an answer.
    pub is_undecided: bool,
    /// Whether the figure is only a lower bound, because no tried load missed the objectives.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_lower_bound: bool,
    /// Why no run of this side has an answer; absent if a run has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<NoAnswer>,
    /// The number of runs.
    pub runs: usize,
    /// The number of runs without an answer.
    pub unanswered: usize,
}

/// The verdict on the ratio of two answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerVerdict {
    /// The whole interval of the ratio is above 1, or the baseline serves no load at all but all runs of the contender
    /// have an answer.
    Higher,
    /// The whole interval of the ratio is below 1, or the contender serves no load at all but the baseline has an
    /// answer.
    Lower,
    /// The interval of the ratio contains 1, and lies within the margin.
    NoDifference,
    /// None of the above, or only some runs of a side have an answer.
    Unknown,
}

impl AnswerVerdict {
    fn of(
        [baseline, contender]: [&AnswerSide; 2],
        ratio: Option<SustainedLoad>,
        margin: f64,
    ) -> Self {
        match (baseline.known, contender.known) {
            (Some(_), None) if contender.serves_nothing() => return Self::Lower,
            (None, Some(_)) if baseline.serves_nothing() && contender.unanswered == 0 => {
                return Self::Higher;
            }
            // The runs without an answer may be the worst ones, so the other runs do not show a difference.
            _ if baseline.unanswered + contender.unanswered > 0 => return Self::Unknown,
            _ => {}
        }
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

impl AnswerSide {
    /// Whether no load at all is served as required.
    fn serves_nothing(&self) -> bool {
        matches!(self.missing, Some(NoAnswer::NoLoadMeets | NoAnswer::NothingCompleted))
    }
}

impl AnswerRow {
    /// Why a side has no answer, as a part of a sentence; `None` if it has one.
    pub fn lack(&self, side: &AnswerSide) -> Option<&'static str> {
        Some(match (side.missing?, self.figure) {
            (NoAnswer::NoLoadMeets, _) => "no load meets the objectives",
            (NoAnswer::NothingCompleted, _) => "no request completed",
            (NoAnswer::Unknown, AnswerFigure::HighestLoad) => {
                "no load is known to meet the objectives"
            }
            (NoAnswer::Unknown, AnswerFigure::Knee) => "no knee was found",
            (NoAnswer::Unknown, _) => "no saturation was found",
        })
    }

    /// Whether the baseline has an answer, but the contender serves no load at all.
    pub(super) fn is_lost(&self) -> bool {
        let missing = self.contender.missing;
        self.baseline.known.is_some() && missing.is_some_and(|why| why != NoAnswer::Unknown)
    }

    /// Whether both answers are only lower bounds, so that nothing is known about their ratio.
    pub fn has_two_bounds(&self) -> bool {
        self.baseline.is_lower_bound && self.contender.is_lower_bound
    }

    /// Why the answers are incomplete: a side or some of its runs have no answer, or both answers are lower bounds.
    /// `None` if they are complete.
    pub fn why_incomplete(&self) -> Option<String> {
        let sides = [("contender", &self.contender), ("baseline", &self.baseline)];
        let of_side = |(name, side): (&str, &AnswerSide)| match self.lack(side) {
            Some(lack) => Some(format!("{lack} on the {name}")),
            None if side.unanswered > 0 => Some(format!(
                "{} of {} runs of the {name} have no answer",
                side.unanswered, side.runs
            )),
            None => None,
        };
        let mut why: Vec<String> = sides.into_iter().filter_map(of_side).collect();
        if self.has_two_bounds() {
            why.push("both answers are only lower bounds".to_owned());
        }
        (!why.is_empty()).then(|| why.join("; "))
    }

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
        key(self) == key(other) && self.answered.by_value == other.answered.by_value
    }

    /// Whether one of `others` is the same figure.
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
    let missing = match answer.outcome {
        SearchEnding::NotMetAtLowest => NoAnswer::NoLoadMeets,
        _ if answer.refusal.is_some() => NoAnswer::NothingCompleted,
        _ => NoAnswer::Unknown,
    };
    Answer {
        figure: AnswerFigure::HighestLoad,
        answered: Answered::of_search(answer),
        is_undecided,
        is_lower_bound: answer.is_one_sided || answer.outcome == SearchEnding::MetAtHighest,
        missing,
    }
}

fn of_sweep(answer: &SweepAnswer) -> [Answer; 3] {
    let saturation = answer.saturation.as_ref();
    let interval =
        |found: FigureInterval| SustainedLoad::of(found.value, Some(found.low), Some(found.high));
    let tokens = saturation.and_then(|saturation| interval(saturation.output_tokens_per_s?));
    let knee = answer.knee.as_ref();
    let knee = knee.and_then(|knee| SustainedLoad::of(knee.load, knee.low, Some(knee.high)));
    let is_undecided = !matches!(answer.outcome, SweepEnding::Found | SweepEnding::NotSaturated);
    let missing = match answer.outcome {
        SweepEnding::NothingCompleted => NoAnswer::NothingCompleted,
        _ => NoAnswer::Unknown,
    };
    let requests = Answered { over: answer.by, ..Answered::of_sweep(answer) };
    let of = |figure: AnswerFigure, load: Option<SustainedLoad>| Answer {
        figure,
        answered: Answered { load, ..requests.clone() },
        is_undecided,
        is_lower_bound: false,
        missing,
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
        // If the confidence levels differ, the lower level is stated. An interval for a higher level is wider, so it
        // also holds at the lower level.
        let levels = ours.iter().chain(&theirs).map(|answer| answer.answered.confidence);
        let confidence = levels.fold(1.0, f64::min);
        let [baseline, contender] = [ours, theirs].map(|answers| side(&answers, confidence));
        let has_two_bounds = baseline.is_lower_bound && contender.is_lower_bound;
        let ratio = contender.known.zip(baseline.known).filter(|_| !has_two_bounds);
        let ratio = ratio.map(|(contender, baseline)| contender.relative_to(&baseline));
        let Answered { cell, objectives, over, .. } = first.answered.clone();
        let verdict = AnswerVerdict::of([&baseline, &contender], ratio, margin);
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
    let has_load = |answer: &&Answer| answer.answered.load.is_some();
    let loads: Vec<SustainedLoad> =
        answers.iter().filter_map(|answer| answer.answered.load).collect();
    // Without any load, there is no mean.
    let known = Some(&loads).filter(|loads| !loads.is_empty());
    let known = known.and_then(|loads| SustainedLoad::over_rounds(loads, confidence));
    let is_lower_bound = answers.iter().filter(has_load).any(|answer| answer.is_lower_bound);
    let mut missing = answers.iter().map(|answer| answer.missing);
    let first = missing.next().unwrap_or(NoAnswer::Unknown);
    let missing = if missing.all(|other| other == first) { first } else { NoAnswer::Unknown };
    AnswerSide {
        unanswered: answers.len() - loads.len(),
        // A lower bound has no upper end.
        known: known
            .map(|load| SustainedLoad { high: load.high.filter(|_| !is_lower_bound), ..load }),
        is_undecided: answers.iter().any(|answer| answer.is_undecided),
        is_lower_bound,
        missing: known.is_none().then_some(missing),
        runs: answers.len(),
    }
}

/// Why two sides with answers have no figure in common.
pub(super) fn why_nothing(baseline: &[Answer], contender: &[Answer]) -> &'static str {
    let is_search = |answer: &Answer| answer.answered.objectives.is_some();
    let [ours, theirs] = [baseline, contender].map(|all| all.iter().any(is_search));
    match ours == theirs {
        true => "the two searches or sweeps have no lengths and objectives in common",
        false => {
            "one run is a search and the other one is a sweep: their answers cannot be compared"
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
