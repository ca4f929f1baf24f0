//! The results of a plan with several servers: tables of the effect of each argument, the runs that
//! failed, and the best server.

use std::fmt::Write as _;

use inferometer_analysis::effect::{Effect, FIGURES};
use inferometer_analysis::{
    Cell, Summary, cell::CellSpread, load_ranking::LoadRanking, ranking::Ranking, tune::TuneAnswer,
};
use inferometer_model::{Change, stats::spread, visible};
use serde::{Deserialize, Serialize};

use crate::{
    Align, MISSING, Table, count, escape, load_ranking, ranking, significant, table, tune,
};

/// The name and version of the JSON document.
pub const COMPARISON_SCHEMA: &str = "inferometer.comparison/1";

/// The results of a plan with several servers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The version of the document: [`COMPARISON_SCHEMA`].
    pub schema: String,
    /// The group that the runs have in the store.
    pub group: String,
    /// The results of the runs that were carried out.
    pub runs: Vec<Summary>,
    /// One text for each run that failed, with the reason.
    pub failed: Vec<String>,
    /// Remarks on the whole comparison, for example that the prompts of two servers differ.
    pub remarks: Vec<String>,
    /// The effect of each argument that differs between the servers.
    pub effects: Vec<Effect>,
    /// The servers in order, the best first, for each figure at each load; empty for a single server.
    #[serde(default)]
    pub ranking: Vec<Ranking>,
    /// The best server at each load, one sentence per load; after searches and sweeps, which server sustains more load.
    #[serde(default)]
    pub answers: Vec<String>,
    /// The answer of `tune`; absent for other comparisons. Then `effects` and `ranking` are empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tune: Option<TuneAnswer>,
}

/// The document as JSON with a final newline.
pub fn json(comparison: &Comparison) -> String {
    serde_json::to_string_pretty(comparison)
        .expect("invariant: a comparison has string keys and no type that JSON lacks")
        + "\n"
}

/// One summary per server. If a server was measured in several rounds, the figures of its cells are the
/// means over the rounds, and `over_repeats` contains the variation over the rounds. The passes are those
/// of the first round.
pub fn over_rounds(runs: &[Summary]) -> Vec<Summary> {
    let variant = |summary: &Summary| summary.target.facts.origin.variant.clone();
    let mut merged: Vec<(Summary, Vec<&Summary>)> = Vec::new();
    for run in runs {
        match merged.iter_mut().find(|(first, _)| variant(first) == variant(run)) {
            Some((_, rounds)) => rounds.push(run),
            None => merged.push((run.clone(), vec![run])),
        }
    }
    merged
        .into_iter()
        .map(|(mut first, rounds)| {
            if rounds.len() > 1 {
                first.cells.iter_mut().for_each(|cell| merge(cell, &rounds));
            }
            first
        })
        .collect()
}

fn merge(cell: &mut Cell, rounds: &[&Summary]) {
    let lengths = (cell.input_length, cell.output_length);
    let of = |figure: fn(&Cell) -> Option<f64>| {
        let cells = rounds.iter().flat_map(|round| &round.cells);
        let same = cells.filter(|cell| (cell.input_length, cell.output_length) == lengths);
        spread(&same.filter_map(figure).collect::<Vec<_>>())
    };
    let [requests, tokens, per_token, per_output_token] = FIGURES.map(|figure| of(figure.of));
    cell.requests_per_s = requests.map(|spread| spread.mean);
    cell.output_tokens_per_s = tokens.map(|spread| spread.mean);
    cell.latency_per_token_ms = per_token.map(|spread| spread.mean);
    cell.latency_per_output_token_ms = per_output_token.map(|spread| spread.mean);
    cell.over_repeats = Some(CellSpread {
        requests_per_s: requests,
        output_tokens_per_s: tokens,
        latency_per_token_ms: per_token,
        latency_per_output_token_ms: per_output_token,
    });
}

/// All results as Markdown: the answers, a table per server, remarks, failed runs, the ranking, and the effects.
pub fn markdown(comparison: &Comparison) -> String {
    let mut out = String::new();
    for answer in &comparison.answers {
        let _ = writeln!(out, "**{}**\n", escape::markdown(&one_line(answer)));
    }
    out += &table::markdown(&over_rounds(&comparison.runs));
    for line in comparison.remarks.iter().chain(&comparison.failed) {
        let _ = writeln!(out, "\n- {}", escape::markdown(&one_line(line)));
    }
    if !comparison.ranking.is_empty() {
        let table = ranking::table(&comparison.ranking).to_markdown();
        let _ = write!(out, "\n## Ranking\n\n{table}");
    }
    for (heading, sentence, table) in tables(comparison) {
        let _ = write!(
            out,
            "\n## {}\n\n{sentence}\n\n{}",
            escape::markdown(&heading),
            table.to_markdown()
        );
    }
    out
}

/// The effects, the remarks, the failed runs and the answers as text for a terminal. The answers come last.
pub fn text(comparison: &Comparison) -> String {
    let mut out = String::new();
    for (heading, sentence, table) in tables(comparison) {
        let lines = table.to_terminal(18);
        let _ = writeln!(out, "\n{heading}\n{sentence}\n");
        for line in lines.heading.iter().chain([&lines.rule]).chain(&lines.rows) {
            let _ = writeln!(out, "{line}");
        }
    }
    for line in comparison.remarks.iter().chain(&comparison.failed) {
        let _ = writeln!(out, "\n{}", one_line(line));
    }
    out.extend(comparison.answers.iter().map(|answer| format!("\n{}\n", one_line(answer))));
    out
}

/// The best server at each load, one sentence per load. After searches and sweeps: which server sustains more load, one
/// sentence for each cell and tier. A sentence about predictions begins with `predicted: `.
pub fn answers(ranking: &[Ranking], loads: &[LoadRanking], are_predicted: bool) -> Vec<String> {
    let loads = loads.iter().filter_map(load_ranking::sentence);
    loads.chain(ranking::answers(ranking)).map(|answer| told(&answer, are_predicted)).collect()
}

/// An answer; about predictions, it begins with `predicted: `.
pub fn told(answer: &str, are_predicted: bool) -> String {
    if are_predicted { format!("predicted: {answer}") } else { answer.to_owned() }
}

/// A text on one line: each sequence of white space becomes one space.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// All effects as CSV, with a header. Intervals have a column for each end.
pub fn csv(comparison: &Comparison) -> String {
    let mut out = String::from(
        "argument,value,baseline,input_length,output_length,figure,mean,mean_low,mean_high,runs,\
         change,change_low,change_high,pairs\n",
    );
    for effect in &comparison.effects {
        let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let over = effect.over_runs;
        let ci = over.and_then(|over| over.ci);
        let fields = [
            quoted(&effect.argument),
            quoted(&effect.value),
            quoted(&effect.baseline),
            effect.input_length.to_string(),
            effect.output_length.to_string(),
            effect.figure.clone(),
            number(over.map(|over| over.mean)),
            number(ci.map(|ends| ends[0])),
            number(ci.map(|ends| ends[1])),
            over.map_or(0, |over| over.n).to_string(),
            number(effect.change),
            number(effect.change_ci.map(|ends| ends[0])),
            number(effect.change_ci.map(|ends| ends[1])),
            effect.pairs.to_string(),
        ];
        let _ = writeln!(out, "{}", fields.join(","));
    }
    out
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", visible::no_formula(text).replace('"', "\"\""))
}

/// The answer of `tune`, and the effect of each argument: each with a heading, an explanation, and a table.
pub(crate) fn tables(comparison: &Comparison) -> Vec<(String, String, Table)> {
    comparison.tune.iter().map(tune::table).chain(of_effects(comparison)).collect()
}

/// The effect of each argument: a heading, an explanation, and a table with a row per cell and value.
fn of_effects(comparison: &Comparison) -> Vec<(String, String, Table)> {
    arguments(&comparison.effects)
        .into_iter()
        .map(|argument| {
            let own = || comparison.effects.iter().filter(|e| e.argument == argument);
            let baseline = own().next().map_or("", |effect| effect.baseline.as_str());
            let are_repeated = own().any(|effect| effect.repeats > 1);
            let columns_of_table = [
                "Input",
                "Output",
                argument,
                "Requests/s",
                "change",
                "95 % interval",
                "Latency per output token (ms)",
                "change",
                "95 % interval",
                "Pairs",
            ];
            let repeats = are_repeated.then_some("Repeats in a run");
            let headings = columns_of_table.into_iter().chain(repeats);
            let mut table = Table::new(headings.map(|heading| (heading.to_owned(), Align::Right)));
            for effect in own().filter(|effect| effect.figure == FIGURES[0].name) {
                let latency = own().find(|other| {
                    other.figure == FIGURES[3].name
                        && other.value == effect.value
                        && other.input_length == effect.input_length
                        && other.output_length == effect.output_length
                });
                let mut row = vec![
                    effect.input_length.to_string(),
                    effect.output_length.to_string(),
                    effect.value.clone(),
                ];
                row.extend(columns(Some(effect)));
                row.extend(columns(latency));
                row.push(count(effect.pairs));
                row.extend(are_repeated.then(|| count(effect.repeats)));
                table.push(row);
            }
            let are_predicted = comparison.runs.iter().all(|run| run.predicted);
            let exactness = match are_predicted {
                true => "both are predicted, and the error of such differences is unknown",
                false => "the interval covers the variation between pairs",
            };
            let mut sentence = format!(
                "Change relative to {argument} = {baseline}: the geometric mean over pairs of runs \
                    that differ in nothing else; {exactness}."
            );
            if are_repeated {
                sentence +=
                    " The figure of a run is the mean over its repeats; repeats are not pairs.";
            }
            if !are_predicted && own().any(|effect| effect.pairs == 1) {
                sentence += " One pair has no interval: set `rounds` in the plan for more pairs.";
            }
            (format!("Effect of {argument}"), sentence, table)
        })
        .collect()
}

/// Three texts: the figure, its change relative to the baseline, and the interval of the change.
fn columns(effect: Option<&Effect>) -> [String; 3] {
    let Some(effect) = effect else { return [MISSING, MISSING, MISSING].map(str::to_owned) };
    let mean = effect.over_runs.map_or(MISSING.to_owned(), |over| significant(over.mean));
    if effect.value == effect.baseline {
        return [mean, "0 %".to_owned(), MISSING.to_owned()];
    }
    let change = effect.change.map(|share| Change(1.0 + share));
    let interval = change
        .zip(effect.change_ci)
        .map(|(change, ends)| change.interval(ends.map(|end| 1.0 + end), 2));
    [
        mean,
        change.map_or(MISSING.to_owned(), |change| change.signed(2)),
        interval.unwrap_or_else(|| MISSING.to_owned()),
    ]
}

/// The arguments that vary, each once, in the order of the effects.
pub(crate) fn arguments(effects: &[Effect]) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for effect in effects {
        if !all.contains(&effect.argument.as_str()) {
            all.push(&effect.argument);
        }
    }
    all
}
