//! The names of targets and passes, which are the same in every output. Other modules decide which names
//! are shown.

use inferometer_analysis::verdict::{Met, SloResult};
use inferometer_analysis::{Imported, PassSummary, Summary};
use inferometer_model::{Definition, PassKind, Statistic, Target, metrics::registry};

use crate::number::{in_table, with_unit};
use crate::{count, significant};

/// The heading of a column with a statistic of a metric of requests: `TTFT p50 (ms)`.
pub(crate) fn latency((metric, of): (&Definition, Statistic)) -> String {
    format!("{} {} ({})", metric.title, of.name(), metric.unit)
}

/// The card of the server if it is known, otherwise the profile of the embedded engine, otherwise the
/// server's address.
pub(crate) fn card(target: &Target) -> String {
    target.facts.card().or(target.profile.as_deref()).unwrap_or(&target.url).to_owned()
}

/// Engine and version: `vllm v0.2.7`. If the server did not state its engine, the text names the dialect.
/// In a plan with several servers, the server's name follows: `vllm v0.2.7 (max-num-seqs=16)`.
pub(crate) fn engine(target: &Target) -> String {
    let engine = match (&target.engine, &target.engine_version) {
        (Some(engine), Some(version)) if version.starts_with(|c: char| c.is_ascii_digit()) => {
            format!("{engine} v{version}")
        }
        (Some(engine), Some(version)) => format!("{engine} {version}"),
        (Some(engine), None) => engine.clone(),
        (None, _) => format!("unknown engine ({} dialect)", target.dialect),
    };
    match &target.facts.origin.variant {
        Some(variant) if !variant.is_empty() => format!("{engine} ({variant})"),
        _ => engine,
    }
}

/// A word for figures that this program did not measure on a real server: `simulated`, `predicted`,
/// `imported`, or `imported` with one of the other two. `None` for measured figures.
pub(crate) fn origin_word(summary: &Summary) -> Option<&'static str> {
    match (summary.imported.is_some(), summary.predicted, summary.target.simulated) {
        (false, false, false) => None,
        (false, false, true) => Some("simulated"),
        (false, true, _) => Some("predicted"),
        (true, false, false) => Some("imported"),
        (true, false, true) => Some("imported, simulated"),
        (true, true, _) => Some("imported, predicted"),
    }
}

/// A sentence that warns that figures are imported, predicted or simulated; `None` if this program
/// measured them on a real server. For imported results, it also names the source.
pub fn notice(summary: &Summary) -> Option<String> {
    notice_of(&summary.target, summary.predicted, summary.imported.as_ref())
}

/// As [`notice`], for a run that has no results yet.
pub fn notice_of(target: &Target, predicted: bool, imported: Option<&Imported>) -> Option<String> {
    notice_at(target, predicted, imported, target.facts.other_speed())
}

/// As [`notice_of`], with this speed of the embedded engine. Only a notice of simulated figures states the speed.
fn notice_at(
    target: &Target,
    predicted: bool,
    imported: Option<&Imported>,
    speed: Option<f64>,
) -> Option<String> {
    let imported = imported.map(|imported| {
        let whose = match imported.is_ours() {
            true => {
                "this program measured the run on another machine, and the verdict was made there"
            }
            false => "this program did not measure anything here",
        };
        format!("IMPORTED from {} ({}): {whose}", imported.place(), imported.format)
    });
    let faster = match speed {
        Some(factor) => format!(", {factor} times as fast as the simulated hardware"),
        None => String::new(),
    };
    let unreal = match (predicted, target.simulated) {
        (true, _) => Some("PREDICTED: simulated figures; no server was measured".to_owned()),
        (false, true) => Some(format!(
            "SIMULATED: the server was the embedded engine, not real hardware{faster}"
        )),
        (false, false) => None,
    };
    let all: Vec<String> = [imported, unreal].into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join(". "))
}

/// The text with the word of [`origin_word`] in parentheses, if there is one: `text (simulated)`. So nobody
/// mistakes a simulated figure for a measured one.
pub(crate) fn with_reality(text: &str, summary: &Summary) -> String {
    match origin_word(summary) {
        Some(word) => format!("{text} ({word})"),
        None => text.to_owned(),
    }
}

/// The heading of a report: `chatglm3-6b on A100 40G, vllm v0.2.7`.
pub fn title(summary: &Summary) -> String {
    let target = &summary.target;
    let text = format!("{} on {}, {}", target.model, card(target), engine(target));
    with_reality(&text, summary)
}

/// The three facts that name a target: model, card and engine.
fn facts(summary: &Summary) -> [String; 3] {
    let target = &summary.target;
    [target.model.clone(), card(target), engine(target)]
}

/// A unique name for each target. The name consists of the facts (model, card, engine) that differ between
/// the targets, or of the engine if no fact differs, and of the word of [`origin_word`]. Names that are still
/// equal get their run ids.
pub(crate) fn distinct(summaries: &[Summary]) -> Vec<String> {
    let facts: Vec<[String; 3]> = summaries.iter().map(facts).collect();
    let differs: Vec<usize> =
        (0..3).filter(|&fact| facts.iter().any(|other| other[fact] != facts[0][fact])).collect();
    let mut names: Vec<String> = facts
        .iter()
        .zip(summaries)
        .map(|(facts, summary)| {
            let own: Vec<&str> = match differs.as_slice() {
                [] => vec![&facts[2]],
                differs => differs.iter().map(|&fact| facts[fact].as_str()).collect(),
            };
            with_reality(&own.join(" · "), summary)
        })
        .collect();
    let is_unique = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
    let are_unique: Vec<bool> = names.iter().map(is_unique).collect();
    for ((name, summary), is_unique) in names.iter_mut().zip(summaries).zip(are_unique) {
        if !is_unique {
            *name = format!("{name} · run {}", summary.run_id);
        }
    }
    names
}

/// The subject of charts of these targets: the facts (model, card, engine) that are the same for all
/// targets. If no fact is the same, the number of targets.
pub(crate) fn subject(summaries: &[Summary]) -> String {
    let Some(first) = summaries.first().map(facts) else { return "nothing measured".to_owned() };
    let shared: Vec<&str> = first
        .iter()
        .enumerate()
        .filter(|(index, fact)| summaries.iter().all(|other| facts(other)[*index] == **fact))
        .map(|(_, fact)| fact.as_str())
        .collect();
    if shared.is_empty() { format!("{} targets", summaries.len()) } else { shared.join(" · ") }
}

/// The notice of charts of these targets: the [`notice`] that all of them have, without the speeds of the embedded
/// engine if only these differ. If notices differ, it refers to the legend.
pub(crate) fn notice_of_all(summaries: &[Summary]) -> Option<String> {
    let without_speed = |summary: &Summary| {
        notice_at(&summary.target, summary.predicted, summary.imported.as_ref(), None)
    };
    let stated: Vec<Option<String>> = summaries.iter().map(notice).collect();
    let bare: Vec<Option<String>> = summaries.iter().map(without_speed).collect();
    let common = |notices: &[Option<String>]| {
        let first = notices.first()?.clone()?;
        notices.iter().all(|notice| notice.as_ref() == Some(&first)).then_some(first)
    };
    let some = bare.iter().any(Option::is_some).then(|| {
        "Some of these figures were not measured on a real server: see the legend".to_owned()
    });
    common(&stated).or_else(|| common(&bare)).or(some)
}

/// The program, its version, and the runs, for the footnotes of charts.
pub(crate) fn origin(summaries: &[Summary]) -> String {
    let Some(first) = summaries.first() else { return String::new() };
    let runs: Vec<&str> = summaries.iter().map(|summary| summary.run_id.as_str()).collect();
    let word = if runs.len() > 1 { "runs" } else { "run" };
    format!("{} {} · {word} {}", first.tool.name, first.tool.version, runs.join(", "))
}

/// The load of a pass: `8 in flight`, `2.5 requests/s`, or `all at once`. For a load with several levels, its
/// description.
pub(crate) fn load(pass: &PassSummary) -> String {
    match (pass.kind, pass.concurrency, pass.rate) {
        (PassKind::OneByOne, ..) => "1 in flight".to_owned(),
        (PassKind::Saturated, ..) => "all at once".to_owned(),
        (PassKind::Closed, Some(concurrency), _) => {
            format!("{} in flight", count(u64::from(concurrency)))
        }
        (PassKind::Open, _, Some(rate)) => with_unit(&significant(rate), "requests/s"),
        // A load with several levels has no single number, so its description is used.
        (PassKind::Closed | PassKind::Open, ..) => {
            let words = ["closed loop, ", "open loop, "];
            let load = words.iter().find_map(|&words| pass.load.strip_prefix(words));
            load.unwrap_or(&pass.load).to_owned()
        }
    }
}

/// The kind of a pass, with the number of the repeat from the second repeat on. For a trial of a search
/// or a sweep: `trial 3`.
pub(crate) fn kind(pass: &PassSummary) -> String {
    let kind = pass.kind.name();
    match (pass.trial, pass.repeat) {
        (Some(trial), _) => format!("trial {trial}"),
        (None, 0 | 1) => kind.to_owned(),
        (None, repeat) => format!("{kind}, repeat {repeat}"),
    }
}

/// The measured value of an objective with its unit, rounded as in tables: `2.29 ms`. Absent if there is
/// no measured value.
pub(crate) fn measured(result: &SloResult) -> Option<String> {
    let unit = unit(&result.objective);
    let value = result.measured?;
    let figure = if unit == "ms" { in_table(value) } else { significant(value) };
    Some(format!("{figure} {unit}").trim_end().to_owned())
}

/// A value of a compared figure with its unit, rounded as in tables of comparisons: `40.5 ms` for `ttft_p99`. The
/// unit is left out if no known metric has the name of the figure.
pub(crate) fn of_figure(figure: &str, value: f64) -> String {
    let is_of = |metric: &&&Definition| {
        let rest = figure.strip_prefix(metric.name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    };
    // `ttft_from_due_p99` begins with the names of two metrics. The longer name is the right one.
    let metric = registry::definitions().iter().filter(is_of).max_by_key(|it| it.name.len());
    let value = significant(value);
    metric.map_or(value.clone(), |metric| with_unit(&value, &metric.unit.to_string()))
}

/// Whether an objective is met, in words.
pub(crate) fn outcome(result: &SloResult) -> &'static str {
    match result.outcome() {
        Met::Yes => "met",
        Met::No => "not met",
        Met::Undecided => "undecided",
    }
}

/// The unit of an objective: the text after its number, such as `ms` in `ttft_p99<500ms`.
pub(crate) fn unit(objective: &str) -> &str {
    let number_ends = objective.rfind(|c: char| c.is_ascii_digit() || c == '.');
    number_ends.map_or("", |at| objective[at + 1..].trim())
}
