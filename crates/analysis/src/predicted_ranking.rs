//! Decides what a ranking of predictions may claim. A prediction is the same in each round, so the variation between
//! rounds says nothing about its error. The errors of two predictions from one profile are partly the same, so the
//! error of their ratio is unknown.

use inferometer_model::{digits, metrics::slo::quantity};

use crate::ranking::{PredictedRatio, Ranking};
use crate::{Summary, judge::measure, predicted_range::predicted_range};

/// Removes the confidence intervals from rankings of predictions. A difference then counts as significant only if the
/// two predictions come from different profiles and their ranges do not overlap. `runs` are predictions, each with the
/// name of its server. Runs with the same name are rounds of one server.
pub fn judge_predictions(rankings: &mut [Ranking], runs: &[(&str, &Summary)]) {
    for ranking in rankings {
        let of = |name: &str| Stated::of(ranking, runs.iter().filter(|run| run.0 == name));
        let best = of(&ranking.best);
        let others: Vec<Stated<'_>> = ranking.others.iter().map(|other| of(&other.name)).collect();
        for (other, stated) in ranking.others.iter_mut().zip(others) {
            let same_profile = best.has_the_profile_of(&stated);
            other.ratio_ci = None;
            other.is_significant = !same_profile && best.is_apart_from(&stated);
            let uncalibrated = best.uncalibrated || stated.uncalibrated;
            other.predicted = Some(PredictedRatio { same_profile, uncalibrated });
        }
    }
}

/// What the predictions of a server state about a figure.
struct Stated<'a> {
    run: Option<&'a Summary>,
    /// The range that covers the ranges of all rounds; `None` if a round states none.
    ends: Option<[f64; 2]>,
    uncalibrated: bool,
}

impl<'a> Stated<'a> {
    fn of<'r>(ranking: &Ranking, rounds: impl Iterator<Item = &'r (&'a str, &'a Summary)>) -> Self
    where
        'a: 'r,
    {
        let figure = quantity(&ranking.figure, &ranking.figure).ok();
        let (mut run, mut uncalibrated) = (None, false);
        let mut ranges: Vec<Option<[f64; 2]>> = Vec::new();
        for (_, summary) in rounds {
            run = run.or(Some(*summary));
            for cell in &summary.cells {
                let place = |load: &str| format!("{}, {}", cell.plan(), digits::of_load(load));
                for pass in cell.passes.iter().filter(|pass| place(&pass.load) == ranking.place) {
                    uncalibrated |= cell.prediction.uncalibrated.is_some();
                    let range = figure.and_then(|(metric, statistic)| {
                        let value = measure(metric, statistic, pass)?;
                        predicted_range((metric, statistic), cell, pass, value)
                    });
                    let ends = range.as_ref().and_then(|range| range.ends);
                    uncalibrated |= ends.is_some() && range.is_some_and(|it| it.doubt.is_some());
                    ranges.push(ends);
                }
            }
        }
        let all: Option<Vec<[f64; 2]>> = ranges.into_iter().collect();
        let cover = |[low, high]: [f64; 2], [other_low, other_high]: [f64; 2]| {
            [low.min(other_low), high.max(other_high)]
        };
        Self { run, ends: all.and_then(|all| all.into_iter().reduce(cover)), uncalibrated }
    }

    /// Whether both predictions have the same profile, engine, engine version, model and card. Then they differ only in
    /// arguments of the engine.
    fn has_the_profile_of(&self, other: &Self) -> bool {
        let of = |run: Option<&'a Summary>| {
            let target = &run?.target;
            let (engine, version) = (&target.engine, &target.engine_version);
            Some((&target.profile, engine, version, &target.model, &target.facts.card))
        };
        of(self.run) == of(other.run)
    }

    fn is_apart_from(&self, other: &Self) -> bool {
        self.ends.zip(other.ends).is_some_and(|([low, high], [other_low, other_high])| {
            high < other_low || other_high < low
        })
    }
}

#[cfg(test)]
mod tests {
    use inferometer_model::fixture::steady;
    use inferometer_model::load::PassPlan;
    use inferometer_model::metrics::Timeline;
    use inferometer_model::target::Target;
    use serde_json::json;

    use super::*;
    use crate::compare::Subject;
    use crate::fold::PassFold;
    use crate::prediction::{FigurePrediction, Intervals, PassPrediction};
    use crate::ranking::rankings;

    /// A prediction by a profile. All requests have this TTFT, and the range of the rate is `share` to each side.
    fn predicted(profile: &str, ttft_ms: f64, share: f64, calibrated: bool) -> Summary {
        let mut summary: Summary = serde_json::from_value(json!({
            "schema": "", "tool": {"name": "inferometer", "version": "1"}, "started_at": "",
            "run_id": "", "plan_hash": "", "predicted": true, "findings": [], "cells": [],
            "target": Target::default(), "workload_hash": "", "body_hash": "",
            "environment": inferometer_model::target::Environment::default(),
            "verdict": crate::verdict::Verdict::default(),
        }))
        .expect("a summary");
        summary.target.profile = Some(profile.to_owned());
        let mut fold = PassFold::new(&PassPlan::saturated(200));
        (0..200).for_each(|_| fold.add(&Timeline::new(&steady(0.0, ttft_ms, 10.0, 4))));
        let pass = fold.finish();
        let rate = pass.requests_per_s.expect("a rate");
        let requests_per_s = Some(FigurePrediction {
            predicted: rate,
            interval: [(1.0 - share) * rate, (1.0 + share) * rate],
            calibrated,
            measured: None,
            error_pct: None,
        });
        let mut cell = crate::cell::cell(128, 4, vec![pass]);
        cell.prediction.interval = Some(Intervals::default());
        cell.prediction.passes = vec![PassPrediction { requests_per_s, ..Default::default() }];
        summary.cells = vec![cell];
        summary
    }

    #[test]
    fn two_predictions_differ_significantly_only_with_different_profiles_and_separate_ranges() {
        // Rates of 200 / 0.43 s and 200 / 0.23 s: a ratio of 1.87.
        for (profiles, share, calibrated, apart, same_profile) in [
            (["p", "q"], 0.1, true, true, false),
            (["p", "q"], 0.5, true, false, false),
            (["p", "q"], 0.1, false, true, false),
            (["p", "p"], 0.1, true, false, true),
            (["p", "p"], 0.0, false, false, true),
        ] {
            let a = predicted(profiles[0], 400.0, share, calibrated);
            let b = predicted(profiles[1], 200.0, share, calibrated);
            // The rounds of a prediction are identical. This shows nothing about its error.
            let runs = [("a", &a), ("b", &b), ("b", &b), ("a", &a), ("a", &a), ("b", &b)];
            let server = |name: &str| {
                let own = runs.iter().filter(|run| run.0 == name);
                let rounds = own.map(|(name, run)| Subject::of_run(*name, run)).collect();
                Subject::of_several(name, rounds)
            };
            let mut found = rankings(&[server("a"), server("b")]);
            judge_predictions(&mut found, &runs);
            let [rate, ..] = found.as_slice() else { panic!("no ranking") };
            assert_eq!((rate.figure.as_str(), rate.best.as_str()), ("requests_per_s", "b"));
            let other = &rate.others[0];
            assert_eq!((other.ratio_ci, other.is_significant), (None, apart), "{other:?}");
            let expected = PredictedRatio { same_profile, uncalibrated: !calibrated };
            assert_eq!(other.predicted, Some(expected), "{profiles:?}");
            // The prediction states no range of E2E p99.
            let last = found.last().map(|one| (one.figure.as_str(), one.others[0].is_significant));
            assert_eq!(last, Some(("e2e_p99", false)));
        }
    }
}
