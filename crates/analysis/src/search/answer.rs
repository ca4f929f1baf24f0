//! The answer of a search as a document: a pure function of its plan and its trials.

use serde::{Deserialize, Serialize};

use super::evidence::{Claim, Measured};
use super::overwhelmed::Overwhelmed;
use super::plan::settings;
use super::procedure::Search;
use super::settings::Outcome;
use super::trial::{Saturation, Trial};
use inferometer_model::cell::CellPlan;
use inferometer_plan::search::{Over, SearchPlan};

/// What a search found out for one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchAnswer {
    /// Input length of the cell.
    pub input_length: u32,
    /// Output length of the cell.
    pub output_length: u32,
    /// What was made higher and higher.
    pub over: Over,
    /// What had to hold.
    pub objectives: Vec<SearchObjective>,
    /// The probability that the interval holds the edge, at least.
    pub confidence: f64,
    /// How close together its ends were to lie, as a share of the lower one.
    pub precision: f64,
    /// How the search ended.
    pub outcome: Outcome,
    /// The highest load that can be claimed to meet the objectives, if there is one.
    pub low: Option<f64>,
    /// The lowest load above it that can be claimed not to, if there is one.
    pub high: Option<f64>,
    /// The best guess of the edge between them, without a confidence.
    pub guess: Option<f64>,
    /// The objectives that do not hold at the upper end.
    pub limited_by: Vec<String>,
    /// Whether the server got ever more behind at the upper end.
    pub saturated: bool,
    /// Whether a load was claimed to meet the objectives though a lower one does not.
    pub contradicts: bool,
    /// Requests of all trials.
    pub requests: u64,
    /// Trials.
    pub trials: u32,
    /// What is known of each load, in ascending order.
    pub loads: Vec<LoadAnswer>,
}

/// What had to hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchObjective {
    /// As it was written.
    pub text: String,
    /// The share of requests that must meet it; absent for a mean.
    pub share: Option<f64>,
    /// The limit of a mean in milliseconds; absent for a share.
    pub mean_limit_ms: Option<f64>,
}

/// What is known of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadAnswer {
    /// Requests per second, or in flight.
    pub load: f64,
    /// How often it was tried.
    pub trials: u32,
    /// Requests of all its trials.
    pub requests: u64,
    /// Those that count: neither start-up nor drain.
    pub counted: u64,
    /// What is claimed of it.
    pub claim: Claim,
    /// What its last trial says of saturation; absent where requests left as fast as they came.
    pub saturation: Option<Saturation>,
    /// Set where so many requests of a trial missed an objective that no steady state explains it;
    /// the trial was cut off then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overwhelmed: Option<Overwhelmed>,
    /// Set where streams of a trial came in bundles, so that an objective on times between tokens cannot be
    /// judged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lacks_gaps: bool,
    /// What was measured of each objective, in their order.
    pub objectives: Vec<Measured>,
}

impl SearchAnswer {
    /// The answer of the trials of a cell, in the order in which they were made.
    pub fn of(plan: &SearchPlan, cell: CellPlan, trials: &[Trial]) -> Self {
        let mut search = Search::new(settings(plan));
        trials.iter().for_each(|trial| search.tell(trial.clone()));
        Self::of_search(plan, cell, &search)
    }

    /// The answer as far as a search came.
    pub fn of_search(plan: &SearchPlan, cell: CellPlan, search: &Search) -> Self {
        let (low, high) = search.interval();
        let upper = search.loads().iter().find(|load| Some(load.load) == high);
        let failing = upper.map_or_else(Vec::new, |load| {
            let measured = plan.criteria.iter().zip(&load.evidence.measured);
            let overwhelmed = load.overwhelmed.map(|by| by.criterion);
            let failing = measured.enumerate().filter(|(index, (_, measured))| {
                measured.claim == Claim::NotMet || overwhelmed == Some(*index)
            });
            failing.map(|(_, (criterion, _))| criterion.text.clone()).collect()
        });
        Self {
            input_length: cell.input_length,
            output_length: cell.output_length,
            over: plan.over,
            objectives: plan
                .criteria
                .iter()
                .map(|criterion| SearchObjective {
                    text: criterion.text.clone(),
                    share: criterion.needed(),
                    mean_limit_ms: criterion.mean_limit_ms(),
                })
                .collect(),
            confidence: plan.confidence,
            precision: plan.precision,
            outcome: search.outcome(),
            low,
            high,
            guess: search.guess(),
            limited_by: failing,
            saturated: upper.is_some_and(|load| load.saturation.is_some()),
            contradicts: search.contradicts(),
            requests: search.requests(),
            trials: search.trials(),
            loads: search
                .loads()
                .iter()
                .map(|load| LoadAnswer {
                    load: load.load,
                    trials: load.trials,
                    requests: load.requests,
                    counted: load.counted(),
                    claim: load.claim(),
                    saturation: load.saturation,
                    overwhelmed: load.overwhelmed,
                    lacks_gaps: load.lacks_gaps,
                    objectives: load.evidence.measured.clone(),
                })
                .collect(),
        }
    }

    /// The cell.
    pub fn cell(&self) -> CellPlan {
        CellPlan { input_length: self.input_length, output_length: self.output_length }
    }
}
