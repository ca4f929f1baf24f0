//! Compares the loads that several servers sustain: the answers of their searches, or their throughput at saturation.

use inferometer_model::stats::{spread, student_975, student_above};
use inferometer_model::{CellPlan, metrics::slo::by_value};
use inferometer_plan::search::Over;
use serde::{Deserialize, Serialize};

use crate::{SearchAnswer, Summary, SweepAnswer};

/// The fewest rounds from which the variation between rounds is known well enough to be used for the interval.
const ROUNDS_FOR_VARIATION: usize = 3;

/// A figure above zero with its interval. An end is absent if it is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SustainedLoad {
    /// The best estimate.
    pub value: f64,
    /// The lower end of the interval.
    pub low: Option<f64>,
    /// The upper end of the interval.
    pub high: Option<f64>,
}

/// The loads that several servers sustain in one cell, with one tier of objectives if there are tiers.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadRanking {
    /// The cell.
    pub cell: CellPlan,
    /// The objectives of a search, with the name of their tier; absent for a sweep.
    pub objectives: Option<String>,
    /// The kind of the ranked loads: the load that the search varied. For a sweep, it is a rate: the throughput at
    /// saturation.
    pub over: Over,
    /// The confidence level of the intervals, from the first answer.
    pub confidence: f64,
    /// The servers whose load is known, with the highest load first.
    pub servers: Vec<RankedServer>,
    /// The servers whose load is unknown, because none of their rounds found one. For example, no tried load met the
    /// objectives (search), or no tried load saturated the server (sweep).
    pub unknown: Vec<String>,
}

/// A server whose load is known.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedServer {
    /// The name of the server.
    pub name: String,
    /// The load, from the rounds that found one.
    pub load: SustainedLoad,
    /// The number of rounds.
    pub rounds: usize,
    /// The number of rounds that found no load.
    pub unanswered: usize,
}

impl SustainedLoad {
    /// Builds a load. An end of the interval that is not above zero, or not finite, is left out. `None` if the load
    /// itself is not above zero, or not finite.
    pub(crate) fn of(value: f64, low: Option<f64>, high: Option<f64>) -> Option<Self> {
        let usable = |end: &f64| *end > 0.0 && end.is_finite();
        usable(&value).then(|| Self { value, low: low.filter(usable), high: high.filter(usable) })
    }

    /// The distances of both ends of the interval from the value, in logarithms.
    fn distances(&self) -> [Option<f64>; 2] {
        let distance = |end: f64| (end / self.value).ln().abs();
        [self.low.map(distance), self.high.map(distance)]
    }

    /// This load divided by another load, with the interval of the ratio. The interval follows from the intervals of
    /// both loads (Donner and Zou 2012), because the servers are measured independently.
    pub fn relative_to(&self, other: &Self) -> Self {
        let value = self.value / other.value;
        let ([down, up], [other_down, other_up]) = (self.distances(), other.distances());
        let end = |sign: f64, one: Option<f64>, two: Option<f64>| {
            Some(value * (sign * one?.hypot(two?)).exp())
        };
        Self { value, low: end(-1.0, down, other_up), high: end(1.0, up, other_down) }
    }

    /// The mean over the rounds of a server: the geometric mean of the values. The interval follows from the intervals
    /// of the rounds, or from the variation between three or more rounds (Student's t), whichever is wider. `None`
    /// without rounds.
    pub(crate) fn over_rounds(rounds: &[Self], confidence: f64) -> Option<Self> {
        let n = rounds.len() as f64;
        let logs: Vec<f64> = rounds.iter().map(|round| round.value.ln()).collect();
        let mean = logs.iter().sum::<f64>() / n;
        let variation = (rounds.len() >= ROUNDS_FOR_VARIATION)
            .then(|| {
                let degrees = rounds.len() - 1;
                let [low, high] = spread(&logs)?.ci?;
                let error = (high - low) / 2.0 / student_975(degrees);
                Some(error * student_above((1.0 - confidence) / 2.0, degrees as f64))
            })
            .flatten();
        let end = |at: usize, sign: f64| {
            let squares: Option<f64> =
                rounds.iter().map(|round| Some(round.distances()[at]?.powi(2))).sum();
            let distance = (squares?.sqrt() / n).max(variation.unwrap_or(0.0));
            Some((mean + sign * distance).exp())
        };
        Self::of(mean.exp(), end(0, -1.0), end(1, 1.0))
    }
}

/// The load that a search or a sweep has found on a server, if it is known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answered {
    pub(crate) cell: CellPlan,
    /// The objectives as the user wrote them, with the name of their tier; absent for a sweep.
    pub(crate) objectives: Option<String>,
    /// The same in a normal form: objectives with the same meaning have the same text.
    pub(crate) by_value: Option<String>,
    pub(crate) over: Over,
    pub(crate) confidence: f64,
    pub(crate) load: Option<SustainedLoad>,
}

impl Answered {
    pub(crate) fn of_search(answer: &SearchAnswer) -> Self {
        let texts: Vec<&str> = answer.objectives.iter().map(|it| it.text.as_str()).collect();
        let tier = answer.tier.as_ref().map_or_else(String::new, |tier| format!(" ({tier})"));
        let mut values: Vec<String> = texts.iter().map(|text| by_value(text)).collect();
        values.sort_unstable();
        Self {
            by_value: Some(values.join(" and ") + &tier),
            cell: answer.cell(),
            objectives: Some(texts.join(" and ") + &tier),
            over: answer.over,
            confidence: answer.confidence,
            load: answer
                .best()
                .filter(|_| !answer.is_missed())
                .and_then(|best| SustainedLoad::of(best, answer.low, answer.high)),
        }
    }

    pub(crate) fn of_sweep(answer: &SweepAnswer) -> Self {
        let load = answer.saturation.as_ref().and_then(|saturation| {
            let found = saturation.requests_per_s;
            SustainedLoad::of(found.value, Some(found.low), Some(found.high))
        });
        Self {
            cell: answer.cell(),
            objectives: None,
            by_value: None,
            over: Over::Rate,
            confidence: answer.confidence,
            load,
        }
    }

    fn is_like(&self, other: &Self) -> bool {
        (self.cell, &self.by_value, self.over) == (other.cell, &other.by_value, other.over)
    }
}

/// The rankings of the loads in each cell and tier. `runs` are the runs of all servers, each with the name of its
/// server. Runs with the same name are rounds of one server. Empty if the runs have no answers.
pub fn load_rankings(runs: &[(&str, &Summary)]) -> Vec<LoadRanking> {
    let mut names: Vec<&str> = Vec::new();
    let mut all: Vec<(&str, Answered)> = Vec::new();
    for (name, run) in runs {
        if !names.contains(name) {
            names.push(name);
        }
        let searches = run.searches.iter().map(Answered::of_search);
        let answers = searches.chain(run.sweeps.iter().map(Answered::of_sweep));
        all.extend(answers.map(|answer| (*name, answer)));
    }
    let mut rankings: Vec<LoadRanking> = Vec::new();
    for (at, (_, answer)) in all.iter().enumerate() {
        if all[..at].iter().any(|(_, earlier)| answer.is_like(earlier)) {
            continue;
        }
        let mut ranking = LoadRanking {
            cell: answer.cell,
            objectives: answer.objectives.clone(),
            over: answer.over,
            confidence: answer.confidence,
            servers: Vec::new(),
            unknown: Vec::new(),
        };
        for name in &names {
            let own = all.iter().filter(|(of, one)| of == name && one.is_like(answer));
            let known: Vec<SustainedLoad> = own.filter_map(|(_, one)| one.load).collect();
            let rounds = runs.iter().filter(|(of, _)| of == name).count();
            let name = (*name).to_owned();
            match SustainedLoad::over_rounds(&known, ranking.confidence) {
                Some(load) => ranking.servers.push(RankedServer {
                    name,
                    load,
                    rounds,
                    unanswered: rounds.saturating_sub(known.len()),
                }),
                None => ranking.unknown.push(name),
            }
        }
        ranking.servers.sort_by(|one, other| other.load.value.total_cmp(&one.load.value));
        rankings.push(ranking);
    }
    rankings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn load(value: f64, low: f64, high: f64) -> SustainedLoad {
        SustainedLoad { value, low: Some(low), high: Some(high) }
    }

    #[test]
    fn the_interval_of_a_ratio_follows_from_both_intervals() {
        // Both intervals are 10 % wide to each side in logarithms, so the interval of the ratio is sqrt(2) times as
        // wide.
        let of = |value: f64| load(value, value * (-0.1_f64).exp(), value * 0.1_f64.exp());
        let ratio = of(20.0).relative_to(&of(10.0));
        assert_eq!(ratio.value, 2.0);
        let wide = 0.1 * 2.0_f64.sqrt();
        assert!((ratio.low.unwrap() / (2.0 * (-wide).exp()) - 1.0).abs() < 1e-12, "{ratio:?}");
        assert!((ratio.high.unwrap() / (2.0 * wide.exp()) - 1.0).abs() < 1e-12, "{ratio:?}");
    }

    #[test]
    fn an_end_that_is_unknown_for_one_server_is_unknown_for_the_ratio() {
        let open = SustainedLoad { high: None, ..load(20.0, 18.0, 22.0) };
        let ratio = open.relative_to(&load(10.0, 9.0, 11.0));
        assert!(ratio.low.is_some_and(|low| low > 1.5) && ratio.high.is_none(), "{ratio:?}");
    }

    #[test]
    fn more_rounds_narrow_the_interval_unless_they_differ_by_more_than_their_intervals() {
        let alike = [load(10.0, 9.0, 11.0); 4];
        let found = SustainedLoad::over_rounds(&alike, 0.95).unwrap();
        assert!((found.value - 10.0).abs() < 1e-9 && found.low.unwrap() > 9.4, "{found:?}");
        let apart = [5.0, 10.0, 20.0].map(|value| load(value, value * 0.99, value * 1.01));
        let found = SustainedLoad::over_rounds(&apart, 0.95).unwrap();
        assert!(found.low.unwrap() < 5.0 && found.high.unwrap() > 20.0, "{found:?}");
    }
    #[test]
    fn the_variation_between_rounds_has_the_confidence_of_the_other_intervals() {
        let apart = [5.0, 10.0, 20.0].map(|value| load(value, value * 0.99, value * 1.01));
        let mean = 10.0_f64.ln();
        let error = 2.0_f64.ln() / 3.0_f64.sqrt();
        // The quantiles of Student's t with two degrees of freedom, from a published table.
        for (confidence, quantile) in [(0.8, 1.885_618), (0.95, 4.302_653), (0.99, 9.924_843)] {
            let found = SustainedLoad::over_rounds(&apart, confidence).unwrap();
            let expected = (mean + quantile * error).exp();
            assert!((found.high.unwrap() / expected - 1.0).abs() < 1e-5, "{confidence}: {found:?}");
        }
    }

    /// A round of a sweep; `None`: no saturation was found.
    fn round(requests_per_s: Option<f64>) -> Summary {
        let figure =
            |value: f64| json!({ "value": value, "low": 0.9 * value, "high": 1.1 * value });
        let saturation = requests_per_s.map(|value| {
            json!({ "load": 8.0, "requests_per_s": figure(value), "output_tokens_per_s": null, "latency_ms": null })
        });
        let sweep = json!({
            "input_length": 512, "output_length": 128, "by": "concurrency", "answer": "",
            "confidence": 0.9, "outcome": "found", "saturation": saturation, "knee": null,
            "requests": 1, "trials": 1, "time_s": 1.0, "levels": [],
        });
        serde_json::from_value(json!({
            "schema": "inferometer.summary/1", "tool": { "name": "inferometer", "version": "0" },
            "run_id": "r", "started_at": "", "plan_hash": "", "workload_hash": "", "body_hash": "",
            "predicted": false, "environment": {}, "findings": [], "cells": [], "sweeps": [sweep],
            "target": {
                "url": "http://h", "dialect": "openai-completions", "engine": null,
                "engine_version": null, "model": "m", "simulated": false, "profile": null, "facts": {},
            },
            "verdict": { "validity": "valid", "reasons": [], "slo": [] },
        }))
        .unwrap()
    }

    #[test]
    fn a_server_is_ranked_by_its_rounds_that_found_a_load() {
        let (ten, five, none) = (round(Some(10.0)), round(Some(5.0)), round(None));
        let runs =
            [("a", &ten), ("b", &five), ("c", &none), ("a", &ten), ("b", &none), ("b", &five)];
        let [ranking] = load_rankings(&runs).try_into().unwrap();
        let found: Vec<_> = ranking
            .servers
            .iter()
            .map(|server| (server.name.as_str(), server.rounds, server.unanswered))
            .collect();
        assert_eq!(found, [("a", 2, 0), ("b", 3, 1)]);
        assert!((ranking.servers[1].load.value - 5.0).abs() < 1e-9);
        assert_eq!((ranking.unknown, ranking.confidence), (vec!["c".to_owned()], 0.9));
    }
}
