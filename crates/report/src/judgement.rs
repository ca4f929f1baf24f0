//! States in one line whether objectives or a gate are met. The line begins with PASS, FAIL or UNDECIDED. The
//! results come from the analysis; this module does not compare values with limits.

use derive_more::Display;
use inferometer_model::target::Origin;

use inferometer_analysis::{SearchAnswer, Summary, search::SearchEnding, verdict::Met};

use crate::{against_limit, search::sentence};

/// The result in one word, in ascending order of severity. The overall verdict of several results is the most
/// severe one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// All conditions are met.
    Pass,
    /// No condition is missed, but at least one is undecided.
    Undecided,
    /// At least one condition is missed. Also used if a run or a part of it failed, if a search could measure
    /// nothing, and, with `--strict`, if a condition of a gate is undecided.
    Fail,
}

impl Verdict {
    /// `PASS`, `UNDECIDED` or `FAIL`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Undecided => "UNDECIDED",
            Self::Fail => "FAIL",
        }
    }
}

/// A verdict with a sentence that explains it.
#[derive(Clone, Debug, PartialEq, Eq, Display)]
#[display("{}: {sentence}", self.verdict.word())]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// The explanation, in one sentence.
    pub sentence: String,
}

impl Judgement {
    /// The judgement of all objectives and search answers of these runs; absent if there are none.
    pub fn of_objectives(runs: &[Summary]) -> Option<Self> {
        let of_runs = runs.iter().flat_map(|run| run.verdict.slo.iter().map(move |one| (run, one)));
        let mut found: Vec<Self> = of_runs
            .map(|(run, result)| {
                let figure = against_limit::objective(result);
                let words = format!("{}{figure} ({})", server(run), result.place);
                let notes: Vec<&str> = result.notes().collect();
                match result.outcome() {
                    Met::No => Self::new(Verdict::Fail, words),
                    Met::Yes => Self::new(Verdict::Pass, words),
                    Met::Undecided => {
                        Self::new(Verdict::Undecided, format!("{words}: {}", notes.join("; ")))
                    }
                }
            })
            .collect();
        let objectives = found.len();
        let searches = runs.iter().flat_map(|run| run.searches.iter().map(move |one| (run, one)));
        found.extend(searches.map(|(run, answer)| {
            let Self { verdict, sentence } = Self::of_search(answer);
            Self::new(verdict, server(run) + &sentence)
        }));
        let verdict = found.iter().map(|one| one.verdict).max()?;
        let decisive: Vec<&str> = found
            .iter()
            .filter(|one| one.verdict == verdict)
            .map(|one| one.sentence.as_str())
            .collect();
        // Full stops are removed, because these sentences become parts of one sentence.
        let decisive: Vec<&str> =
            decisive.iter().map(|sentence| sentence.trim_end_matches('.')).collect();
        let decisive = against_limit::joined(&decisive);
        let sentence = match (verdict, objectives) {
            (Verdict::Pass, 2..) if objectives == found.len() => all_met(runs, objectives),
            (_, 0) => decisive,
            (Verdict::Pass, _) => format!("met: {decisive}"),
            (Verdict::Undecided, _) => format!("not decided: {decisive}"),
            (Verdict::Fail, _) => format!("not met: {decisive}"),
        };
        Some(Self::new(verdict, sentence))
    }

    /// The judgement of one answer of a search.
    pub fn of_search(answer: &SearchAnswer) -> Self {
        let is_limit = matches!(
            answer.outcome,
            SearchEnding::RequestsSpent | SearchEnding::TrialsSpent | SearchEnding::TimeSpent
        );
        let is_unmeasured = answer.best().is_none()
            && (answer.outcome == SearchEnding::NotMeasurable
                || answer.loads.is_empty() && !is_limit);
        let verdict = match answer.outcome {
            _ if answer.is_missed() || is_unmeasured => Verdict::Fail,
            SearchEnding::Found | SearchEnding::MetAtHighest => Verdict::Pass,
            _ => Verdict::Undecided,
        };
        Self::new(verdict, format!("{}: {}", answer.cell(), sentence(answer)))
    }

    /// A judgement from its parts.
    pub fn new(verdict: Verdict, sentence: impl Into<String>) -> Self {
        Self { verdict, sentence: sentence.into() }
    }
}

/// The name of the server and the round of a run, as the beginning of a sentence: `slow, round 2: `. Round 1 is not
/// named. Empty if the run is not part of a plan with several servers.
fn server(run: &Summary) -> String {
    let Origin { variant, round, .. } = &run.target.facts.origin;
    match (variant.as_deref().unwrap_or_default(), round) {
        ("", _) => String::new(),
        (name, None | Some(1)) => format!("{name}: "),
        (name, Some(round)) => format!("{name}, round {round}: "),
    }
}

/// The sentence if all objectives are met. It states each objective once. If the objective was judged in several cells
/// and passes, the sentence states the result that is closest to its limit.
fn all_met(runs: &[Summary], places: usize) -> String {
    let results = || runs.iter().flat_map(|run| &run.verdict.slo);
    let mut texts: Vec<&str> = Vec::new();
    for result in results() {
        if !texts.contains(&result.objective.as_str()) {
            texts.push(&result.objective);
        }
    }
    let closest = texts.iter().filter_map(|text| {
        let of_text = results().filter(|result| result.objective == *text);
        against_limit::worst(text, of_text, |result| result.measured)
    });
    let stated: Vec<String> = closest.map(against_limit::objective).collect();
    against_limit::met(&stated, places)
}

/// The summary of a run without cells, with these results of objectives.
#[cfg(test)]
pub(crate) fn run_with_objectives(
    results: Vec<inferometer_analysis::verdict::SloResult>,
) -> Summary {
    let mut summary: Summary = serde_json::from_value(serde_json::json!({
        "schema": "", "tool": {"name": "inferometer", "version": "1"}, "started_at": "",
        "run_id": "20261120-074747-5c1c", "plan_hash": "", "predicted": false, "findings": [],
        "target": inferometer_model::target::Target::default(), "cells": [],
        "environment": inferometer_model::target::Environment::default(),
        "verdict": inferometer_analysis::verdict::Verdict::default(),
        "workload_hash": "", "body_hash": "",
    }))
    .expect("a summary");
    summary.verdict.slo = results;
    summary
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_analysis::verdict::SloResult;

    fn run(results: &[(&str, bool, Option<&str>)]) -> Vec<Summary> {
        let results = results
            .iter()
            .map(|(objective, met, undecided)| SloResult {
                objective: (*objective).to_owned(),
                place: "128 x 32, saturated".to_owned(),
                measured: Some(1.5),
                met: *met,
                undecided: undecided.map(str::to_owned),
                ..SloResult::default()
            })
            .collect();
        vec![run_with_objectives(results)]
    }

    #[test]
    fn the_worst_objective_decides_the_judgement_and_is_named_in_it() {
        let (met, missed) = (("a<1ms", true, None), ("b<1ms", false, None));
        let open = ("c<1ms", true, Some("the client may be off by 2 ms"));
        let beyond = ("d<1ms", false, Some("there are too few values"));
        for (results, line) in [
            (vec![met], "PASS: met: a = 1.5 ms, limit < 1 ms (128 x 32, saturated)"),
            (
                vec![met, met],
                "PASS: met: a = 1.5 ms, limit < 1 ms (closest to the limit; 2 of 2 results)",
            ),
            (
                vec![met, missed, open],
                "FAIL: not met: b = 1.5 ms, limit < 1 ms (128 x 32, saturated)",
            ),
            (
                vec![met, open],
                "UNDECIDED: not decided: c = 1.5 ms, limit < 1 ms (128 x 32, saturated): the client may be off by 2 ms",
            ),
            (
                vec![met, beyond],
                "UNDECIDED: not decided: d = 1.5 ms, limit < 1 ms (128 x 32, saturated): there are too few values",
            ),
        ] {
            let judged = Judgement::of_objectives(&run(&results)).expect("objectives");
            assert_eq!(judged.to_string(), line);
        }
        assert_eq!(Judgement::of_objectives(&run(&[])), None);
    }

    #[test]
    fn the_judgement_of_several_servers_names_the_server_and_the_round_of_each_result() {
        let of_server = |name: &str, round: u32| {
            let mut run = run(&[("a<1ms", false, None)]).remove(0);
            let (variant, round) = (Some(name.to_owned()), Some(round));
            run.target.facts.origin = Origin { variant, round, ..Origin::default() };
            run
        };
        let runs = [of_server("fast", 1), of_server("slow", 2)];
        let judged = Judgement::of_objectives(&runs).expect("objectives");
        assert_eq!(
            judged.to_string(),
            "FAIL: not met: fast: a = 1.5 ms, limit < 1 ms (128 x 32, saturated); slow, round 2: a = 1.5 ms, limit < 1 ms (128 x 32, saturated)"
        );
    }
}
