//! The answer of a search as stored in results. It depends only on the plan and the trials.

use serde::{Deserialize, Serialize};

use super::evidence::{Claim, CriterionEstimate};
use super::known::Load;
use super::overwhelmed::Overwhelmed;
use super::plan::settings;
use super::procedure::Search;
use super::settings::SearchEnding;
use super::trial::{Saturation, Trial};
use inferometer_model::cell::CellPlan;
use inferometer_plan::search::{Over, SearchPlan};

/// The answer of a search for one cell, and for one tier of objectives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchAnswer {
    /// Input length of the cell in tokens.
    pub input_length: u32,
    /// Output length of the cell in tokens.
    pub output_length: u32,
    /// The load that was varied: requests in flight, or requests per second.
    pub over: Over,
    /// The name of the tier of objectives; absent if the search has no tiers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    /// The answer in one sentence; empty in results of earlier versions.
    #[serde(default)]
    pub answer: String,
    /// The objectives that must be met.
    pub objectives: Vec<SearchObjective>,
    /// The probability that the interval covers the edge: the highest load that meets the objectives. 0 to 1.
    pub confidence: f64,
    /// The search ends when the width of the interval is at most this share of the lower end of the interval.
    pub precision: f64,
    /// How the search ended.
    pub outcome: SearchEnding,
    /// The best estimate of the highest load that meets the objectives. If no tried load misses them, it is the highest
    /// tried load that meets them. Absent if no load meets them.
    #[serde(default)]
    pub estimate: Option<f64>,
    /// Whether no tried load missed the objectives, so that the true value may be higher than the estimate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_one_sided: bool,
    /// The lower end of the interval of the estimate; absent if no trial bounds it.
    pub low: Option<f64>,
    /// The upper end of the interval of the estimate; absent if no trial bounds it.
    pub high: Option<f64>,
    /// A copy of `estimate`, under the name that earlier versions used.
    pub guess: Option<f64>,
    /// The objective that is missed first as the load grows; empty if no objective is missed.
    pub limited_by: Vec<String>,
    /// Whether the queue kept growing at the lowest load that misses the objectives.
    pub saturated: bool,
    /// Whether a load met the objectives although a lower one missed them, both by their own intervals.
    pub contradicts: bool,
    /// The number of requests of all trials.
    pub requests: u64,
    /// The number of trials.
    pub trials: u32,
    /// The duration of all trials together, in seconds.
    #[serde(default)]
    pub time_s: f64,
    /// The figures at each load, in ascending order.
    pub loads: Vec<LoadAnswer>,
}

/// An objective that must be met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchObjective {
    /// The objective as the user wrote it.
    pub text: String,
    /// The share of requests that must meet it; absent for an objective on a mean.
    pub share: Option<f64>,
    /// The limit of a mean in milliseconds; absent for other objectives.
    pub mean_limit_ms: Option<f64>,
}

/// The figures at one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadAnswer {
    /// The load: requests per second, or requests in flight.
    pub load: f64,
    /// The number of trials at this load.
    pub trials: u32,
    /// The number of requests of these trials.
    pub requests: u64,
    /// The number of requests that count. Requests of start-up and drain do not count.
    pub counted: u64,
    /// Whether the trials at this load show that the objectives are met or missed.
    pub claim: Claim,
    /// The growth of the queue in the last trial; absent if requests ended as fast as they arrived, or if the
    /// trial was too short to show a growth.
    pub saturation: Option<Saturation>,
    /// Present if so many requests missed an objective that the load cannot meet it. A trial may be cut off for this
    /// reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overwhelmed: Option<Overwhelmed>,
    /// Whether no trial at this load was long enough to reach a steady state.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_too_short: bool,
    /// Whether streams of a trial arrived in bundles, so that objectives on times between tokens cannot be judged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lacks_gaps: bool,
    /// The measured value of each objective, in the order of the objectives.
    pub objectives: Vec<CriterionEstimate>,
}

impl SearchAnswer {
    /// Computes the answers from the trials of a cell, in the order of the trials: one answer for each tier.
    pub fn of(plan: &SearchPlan, cell: CellPlan, trials: &[Trial]) -> Vec<Self> {
        let mut search = Search::new(settings(plan));
        trials.iter().for_each(|trial| search.tell(trial.clone()));
        Self::of_search(plan, cell, &search)
    }

    /// The answers of a search so far, one for each tier.
    pub fn of_search(plan: &SearchPlan, cell: CellPlan, search: &Search) -> Vec<Self> {
        let loads = search.loads();
        let tiers = plan.tiers().into_iter().enumerate();
        tiers
            .map(|(at, (name, criteria))| {
                let mut answer = Self::of_tier(plan, cell, search, &loads, (at, name, &criteria));
                answer.answer = sentence(&answer);
                answer
            })
            .collect()
    }

    fn of_tier(
        plan: &SearchPlan,
        cell: CellPlan,
        search: &Search,
        loads: &[Load],
        (at, name, tier): (usize, Option<String>, &[usize]),
    ) -> Self {
        let edge = &search.tiers()[at];
        let (low, high) = search.interval(at);
        let criterion = |index: &usize| &plan.criteria[*index];
        let estimate = search.estimate(at);
        let is_bad = |load: &&Load| Some(load.load) == edge.bad;
        let claims: Vec<Claim> = loads.iter().map(|load| load.claim(tier)).collect();
        let first_bad = claims.iter().position(|claim| *claim == Claim::NotMet);
        let last_good = claims.iter().rposition(|claim| *claim == Claim::Met);
        Self {
            input_length: cell.input_length,
            output_length: cell.output_length,
            over: plan.over,
            tier: name,
            answer: String::new(),
            objectives: tier
                .iter()
                .map(criterion)
                .map(|criterion| SearchObjective {
                    text: criterion.text.clone(),
                    share: criterion.needed(),
                    mean_limit_ms: criterion.mean_limit_ms(),
                })
                .collect(),
            confidence: plan.confidence,
            precision: plan.precision,
            outcome: search.outcome_of(at),
            estimate,
            is_one_sided: edge.bad.is_none(),
            low,
            high,
            guess: estimate,
            limited_by: edge.first.iter().map(|first| criterion(first).text.clone()).collect(),
            saturated: loads.iter().find(is_bad).is_some_and(|load| load.saturation.is_some()),
            contradicts: first_bad.zip(last_good).is_some_and(|(bad, good)| good > bad),
            requests: search.requests(),
            trials: search.trials(),
            time_s: search.time_s(),
            loads: loads
                .iter()
                .zip(claims)
                .map(|(load, claim)| LoadAnswer {
                    load: load.load,
                    trials: load.trials,
                    requests: load.requests,
                    counted: load.counted(),
                    claim,
                    saturation: load.saturation,
                    overwhelmed: load.overwhelmed.get(at).map(|by| Overwhelmed {
                        criterion: tier.iter().position(|it| *it == by.criterion).unwrap_or(0),
                        ..*by
                    }),
                    is_too_short: !load.is_settled && load.overwhelmed.is_empty(),
                    lacks_gaps: load.lacks_gaps,
                    objectives: tier.iter().map(|&index| load.measured[index]).collect(),
                })
                .collect(),
        }
    }

    /// The requested lengths of the cell.
    pub fn cell(&self) -> CellPlan {
        CellPlan { input_length: self.input_length, output_length: self.output_length }
    }

    /// The best estimate. Earlier versions stored it as `guess` alone.
    pub fn best(&self) -> Option<f64> {
        self.estimate.or(self.guess)
    }

    /// Whether the trials show that no load meets the objectives, down to the lowest tried load.
    pub fn is_missed(&self) -> bool {
        let is_missed = |lowest: &LoadAnswer| {
            lowest.claim == Claim::NotMet || self.high.is_some_and(|high| high <= lowest.load)
        };
        self.outcome == SearchEnding::NotMetAtLowest
            || self.best().is_none() && self.loads.first().is_some_and(is_missed)
    }

    /// The tried load whose figures illustrate the answer. It is the highest load up to the estimate, without loads
    /// that miss the objectives for certain. Loads whose trials were all too short are only used if there is no other.
    pub fn tried_below(&self) -> Option<f64> {
        let estimate = self.best()?;
        let below = |load: &&LoadAnswer| load.load <= estimate && load.claim != Claim::NotMet;
        let all = || self.loads.iter().filter(below);
        let long = all().rfind(|load| !load.is_too_short);
        long.or_else(|| all().max_by_key(|load| load.counted)).map(|load| load.load)
    }
}

/// Writes the answer in one sentence, with its interval.
pub fn sentence(answer: &SearchAnswer) -> String {
    let unit = answer.over.unit();
    let texts: Vec<&str> = answer.objectives.iter().map(|it| it.text.as_str()).collect();
    let objectives = texts.join(" and ");
    let load = |load: f64| format!("{} {unit}", load_text(load));
    let sure = format!("{} % interval", trimmed(answer.confidence * 100.0));
    let tier = answer.tier.as_ref().map_or_else(String::new, |tier| format!("{tier}: "));
    let so_far = if answer.outcome == SearchEnding::Unfinished { "so far, " } else { "" };
    let ends = match (answer.low, answer.high) {
        (Some(low), Some(high)) => {
            format!("{sure}: {} to {}", load_text(low), load_text(high))
        }
        (Some(low), None) => format!("{sure}: {} or more", load_text(low)),
        (None, Some(high)) => format!("{sure}: {} or less", load_text(high)),
        (None, None) => "no confidence interval yet".to_owned(),
    };
    let lowest = answer.loads.first().map(|known| known.load);
    let text = match (answer.outcome, answer.best()) {
        (SearchEnding::NotMetAtLowest, _) => format!(
            "the server does not sustain even {} with {objectives}",
            load(lowest.or(answer.high).unwrap_or_default())
        ),
        (SearchEnding::MetAtHighest, Some(estimate)) => format!(
            "the server sustains {} with {objectives} ({ends}); this is the limit set by --to",
            load(estimate)
        ),
        (_, Some(estimate)) if answer.is_one_sided => format!(
            "the server sustains at least {} with {objectives} ({ends}): no trial of sufficient \
                length missed them",
            load(estimate)
        ),
        (_, Some(estimate)) => {
            format!(
                "the server sustains {} with {objectives} \
                ({ends}){}",
                load(estimate),
                limited(answer)
            )
        }
        (SearchEnding::NotMeasurable, None) => {
            format!("no load can be judged by {objectives}: tokens arrived in bundles")
        }
        (_, None) => match lowest {
            Some(lowest) if answer.is_missed() => format!(
                "no load meets {objectives}: not even {}, the lowest load tried ({ends})",
                load(lowest)
            ),
            Some(_) => format!("no tried load is shown to meet {objectives} ({ends})"),
            None => format!("no load could be measured for {objectives}"),
        },
    };
    let open = match answer.best() {
        Some(_) => why_open(answer),
        None => too_little(answer).map(|why| format!("undecided, because {why}")),
    };
    let open = open.map_or_else(String::new, |open| format!("; {open}"));
    let text = format!("{so_far}{text}{open}.");
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    tier + &first.into_iter().chain(letters).collect::<String>()
}

/// Why the answer is not as exact as requested, as a part of a sentence. `None` if it is as exact as requested, or if
/// the search is not finished.
fn why_open(answer: &SearchAnswer) -> Option<String> {
    let spent = match answer.outcome {
        SearchEnding::RequestsSpent => format!("{} requests were", answer.requests),
        SearchEnding::TrialsSpent => format!("{} trials were", answer.trials),
        SearchEnding::TimeSpent => "the time of --max-time was".to_owned(),
        SearchEnding::NotMeasurable => {
            return Some("undecided, because tokens arrived in bundles".to_owned());
        }
        SearchEnding::Unfinished
        | SearchEnding::Found
        | SearchEnding::NotMetAtLowest
        | SearchEnding::MetAtHighest => return None,
    };
    let precision = trimmed(answer.precision * 100.0);
    Some(format!("the interval is wider than {precision} % (--precision): {spent} not enough"))
}

/// Why no load is shown to meet the objectives, and what to do, as a part of a sentence. `None` if the objectives are
/// missed, or if the search ended for another reason.
fn too_little(answer: &SearchAnswer) -> Option<String> {
    if answer.is_missed() {
        return None;
    }
    match answer.outcome {
        SearchEnding::RequestsSpent => {
            Some(format!("{} requests are too few: raise --max-requests", answer.requests))
        }
        SearchEnding::TrialsSpent => {
            Some(format!("--max-trials {} is too low: raise it", answer.trials))
        }
        SearchEnding::TimeSpent => Some("--max-time is too short: raise it".to_owned()),
        SearchEnding::NotMeasurable
        | SearchEnding::Unfinished
        | SearchEnding::Found
        | SearchEnding::NotMetAtLowest
        | SearchEnding::MetAtHighest => None,
    }
}

/// The text on the objective that fails first; empty if there is only one objective.
fn limited(answer: &SearchAnswer) -> String {
    match (answer.limited_by.as_slice(), answer.objectives.len()) {
        ([], _) | (_, 1) => String::new(),
        (by, _) => format!("; {} fails first", by.join(" and ")),
    }
}

/// Formats a load with three significant digits. All digits before the decimal point are written.
pub fn load_text(load: f64) -> String {
    let before = if load > 0.0 { load.log10().floor() } else { 0.0 };
    let decimals = (2.0 - before).clamp(0.0, 9.0) as usize;
    let text = format!("{load:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

fn trimmed(percent: f64) -> String {
    let text = format!("{percent:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_shown_with_three_significant_digits_and_all_digits_before_the_point() {
        for (load, text) in [
            (1600.0, "1600"),
            (1131.37, "1131"),
            (27.94, "27.9"),
            (2.828, "2.83"),
            (0.001, "0.001"),
        ] {
            assert_eq!(load_text(load), text);
        }
    }
}
