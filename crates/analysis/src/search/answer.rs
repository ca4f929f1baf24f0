//! Computes the answer of a search. The answer depends only on the plan and the trials.

use super::document::{LoadAnswer, SearchAnswer, SearchObjective};
use super::evidence::Claim;
use super::known::Load;
use super::overwhelmed::Overwhelmed;
use super::procedure::Search;
use super::sentence::sentence;
use crate::ModelRange;
use inferometer_model::CellPlan;

impl SearchAnswer {
    /// Sets the reason why the server refused every request. `None` changes nothing. A search with such a reason shows
    /// nothing about loads.
    pub fn set_refusal(&mut self, refusal: Option<String>) {
        if refusal.is_some() {
            self.refusal = refusal;
            self.answer = sentence(self);
        }
    }

    /// Sets the range of a prediction.
    pub fn set_model(&mut self, model: Option<ModelRange>) {
        self.model = model;
        self.answer = sentence(self);
    }

    /// The answers of a search so far, one for each tier.
    pub fn of_search(cell: CellPlan, search: &Search) -> Vec<Self> {
        let loads = search.loads();
        let tiers = search.plan().tiers().into_iter().enumerate();
        tiers
            .map(|(at, (name, criteria))| {
                let mut answer = Self::of_tier(cell, search, &loads, (at, name, &criteria));
                answer.answer = sentence(&answer);
                answer
            })
            .collect()
    }

    fn of_tier(
        cell: CellPlan,
        search: &Search,
        loads: &[Load],
        (at, name, tier): (usize, Option<String>, &[usize]),
    ) -> Self {
        let plan = search.plan();
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
            is_missed_alone: search.is_missed_alone(at),
            is_limited_by_client: false,
            model: None,
            refusal: None,
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
                    counted: load.counted,
                    claim,
                    saturation: load.saturation,
                    overwhelmed: load.overwhelmed.get(at).map(|by| Overwhelmed {
                        criterion: tier.iter().position(|it| *it == by.criterion).unwrap_or(0),
                        ..*by
                    }),
                    is_too_short: !load.is_settled && load.overwhelmed.is_empty(),
                    lacks_gaps: load.lacks_gaps,
                    starts_together: load.starts_together,
                    objectives: tier.iter().map(|&index| load.measured[index]).collect(),
                })
                .collect(),
        }
    }
}
