//! The trend of a series of runs for people: one sentence for each run at which figures changed, and a table.

use std::fmt::Write as _;

use inferometer_analysis::compare::{
    FEWEST_FOR_CHANGE, FEWEST_RUNS, FigureTrend, LevelChange, Trend, Workload,
};
use inferometer_model::digits::{Decimals, counted, percent};

use crate::{MISSING, Table, left, right, significant};

/// The figures that one sentence names; the table has the others. Also the warnings that a text has.
const MOST_NAMED: usize = 4;

/// What changed, the latest change first. Each text begins with the run since which it is so.
pub fn sentences(trend: &Trend) -> Vec<String> {
    let mut changed: Vec<(&FigureTrend, &LevelChange)> = trend
        .figures
        .iter()
        .flat_map(|figure| figure.changes.iter().map(move |it| (figure, it)))
        .collect();
    // The surest change of a run comes first.
    let sureness = |change: &LevelChange| {
        let [low, high] = change.interval_pct;
        change.change_pct.abs() / (high - low).max(1e-9)
    };
    changed.sort_by(|(_, one), (_, other)| {
        other.since.cmp(&one.since).then(sureness(other).total_cmp(&sureness(one)))
    });
    changed
        .chunk_by(|one, other| one.1.since == other.1.since)
        .map(|of_run| sentence(trend, of_run))
        .collect()
}

fn sentence(trend: &Trend, changed: &[(&FigureTrend, &LevelChange)]) -> String {
    let since = changed[0].1.since;
    // A place is named once for all of its figures.
    let places = changed[..changed.len().min(MOST_NAMED)]
        .chunk_by(|one, other| one.0.place() == other.0.place());
    let told = places.map(|of_place| {
        let figures =
            of_place.iter().map(|(figure, change)| format!("{} {}", figure.figure, words(change)));
        format!("{} ({})", figures.collect::<Vec<_>>().join(", "), of_place[0].0.place())
    });
    let mut text = format!("since {}: {}", name(trend, since), told.collect::<Vec<_>>().join(", "));
    if changed.len() > MOST_NAMED {
        let _ = write!(text, ", and {}", counted(changed.len() - MOST_NAMED, "more figure"));
    }
    if let Some(differing) = trend.differing.iter().find(|one| one.run == since) {
        let facts = differing.facts.iter().take(MOST_NAMED);
        let facts = facts.map(|[name, before, after]| format!("{name}: {before} -> {after}"));
        let _ =
            write!(text, "; differs from the run before: {}", facts.collect::<Vec<_>>().join(", "));
    }
    text + "."
}

/// `12.1 % worse (8.2 to 16.9), 105 to 118`
fn words(change: &LevelChange) -> String {
    let sign = change.change_pct.signum();
    let mut ends = change.interval_pct.map(|end| sign * end);
    ends.sort_by(f64::total_cmp);
    let word = if change.is_worse { "worse" } else { "better" };
    let digits = Decimals::of(&[change.before, change.after]);
    let [before, after] = [change.before, change.after].map(|level| digits.text(level));
    format!(
        "{:.1} % {word} ({:.1} to {:.1}), {before} to {after}",
        change.change_pct.abs(),
        ends[0],
        ends[1]
    )
}

/// The name of a run in sentences, with its day if it is not its day.
pub(crate) fn name(trend: &Trend, at: usize) -> String {
    let run = &trend.runs[at];
    let day = run.started_at.get(..10).unwrap_or_default();
    if run.label == day { run.label.clone() } else { format!("{} ({day})", run.label) }
}

/// The answer if no figure changed.
pub fn without_a_change(trend: &Trend) -> String {
    let known = trend.newest().map(|figure| figure.values.len()).max().unwrap_or_default();
    match trend.can_show_a_change() {
        true => format!("no change is found in {}", counted(known, "run")),
        false => format!(
            "it is unknown whether a figure changed: a figure needs {FEWEST_FOR_CHANGE} runs, and those of the newest run \
             have {known}"
        ),
    }
}

/// The figures without a change, in a sentence for those with enough runs and one for the others.
fn unchanged(trend: &Trend) -> Vec<String> {
    let figures = trend.figures.iter().filter(|figure| figure.changes.is_empty());
    let (known, short): (Vec<_>, Vec<_>) = figures.partition(|figure| figure.can_show_a_change());
    let mut told = Vec::new();
    let mut deviations: Vec<f64> = known.iter().filter_map(|one| one.deviation_pct).collect();
    deviations.sort_by(f64::total_cmp);
    if let [least, .., most] | [least @ most] = deviations.as_slice() {
        let middle = deviations[deviations.len() / 2];
        told.push(format!(
            "{} without a change; run to run {middle:.1} % ({least:.1} to {most:.1})",
            counted(known.len(), "figure")
        ));
    }
    if let Some(most) = short.iter().map(|figure| figure.values.len()).max() {
        let figures = counted(short.len(), "figure");
        told.push(format!("{figures} with too few runs: at most {most} of {FEWEST_FOR_CHANGE}"));
    }
    told
}

/// What limits the meaning of the figures of runs: each text once, with its run or its number of runs, the latest first.
pub fn warnings(trend: &Trend) -> Vec<String> {
    let mut told: Vec<(&str, Vec<usize>)> = Vec::new();
    for (at, run) in trend.runs.iter().enumerate().rev() {
        for text in &run.warnings {
            match told.iter_mut().find(|(known, _)| known == text) {
                Some((_, runs)) => runs.push(at),
                None => told.push((text, vec![at])),
            }
        }
    }
    let more = told.len().saturating_sub(MOST_NAMED);
    let mut lines: Vec<String> = told
        .iter()
        .take(MOST_NAMED)
        .map(|(text, runs)| match runs.as_slice() {
            [run] => format!("{} {text}", name(trend, *run)),
            runs => format!("in {} of {} runs: {text}", runs.len(), trend.runs.len()),
        })
        .collect();
    if more > 0 {
        lines.push(format!("{} in other runs: --json has all", counted(more, "more warning")));
    }
    lines
}

/// What the runs measured, if not all measured the same; otherwise empty.
pub fn workloads(trend: &Trend) -> Vec<String> {
    let others = trend.workloads.iter().enumerate().skip(1);
    let line = |(at, one): (usize, &Workload)| {
        let facts = one.differing.iter().take(MOST_NAMED);
        let facts = facts.map(|[name, ours, theirs]| format!("{name}: {ours} -> {theirs}"));
        format!(
            "workload {}: {} that measured something else, from {} on, so their figures are separate: {}",
            at + 1,
            counted(one.runs, "run"),
            name(trend, one.first),
            facts.collect::<Vec<_>>().join(", ")
        )
    };
    others.map(line).collect()
}

/// A row for each figure.
pub fn table(trend: &Trend) -> Table {
    of_figures(trend, |_| true)
}

fn of_figures(trend: &Trend, is_shown: impl Fn(&&FigureTrend) -> bool) -> Table {
    Table::of(trend.figures.iter().filter(is_shown).map(|figure| {
        let last = figure.changes.last();
        let first = figure.changes.first().map_or(figure.level, |change| change.before);
        let deviation = figure.deviation_pct.map_or(MISSING.to_owned(), |pct| format!("{pct:.1}"));
        let changes = match last {
            None if figure.deviation_pct.is_none() => {
                format!("unknown: {} of {FEWEST_RUNS} runs so far", figure.values.len())
            }
            None => "none".to_owned(),
            Some(last) => {
                let word = if last.is_worse { "worse" } else { "better" };
                let label = &trend.runs[last.since].label;
                format!("{:+.1} % ({word}) since {label}", last.change_pct)
            }
        };
        [
            left("Figure", &figure.figure),
            left("Where", figure.place()),
            right("Runs", figure.values.len().to_string()),
            right("First level", significant(first)),
            right("Now", significant(figure.level)),
            right("Run to run (%)", deviation),
            right("Alike", format!("{:.2}", figure.alike)),
            right("Changes", figure.changes.len().to_string()),
            left("Last change", changes),
        ]
    }))
}

/// What is found, and how sure it is.
pub fn explanation(trend: &Trend) -> String {
    format!(
        "{} over {}. At most {} % of years of daily runs have a change that is found although nothing changed, over all \
         figures together, unless the whole machine drifts slowly. Run to run: the standard deviation of a run around its \
         level. Alike: the correlation of neighbouring runs, which a drift of the machine causes; it widens every error. \
         Intervals are 95 % intervals of one change. A change says since when, not why: the server, its settings or the \
         machine.",
        counted(trend.figures.len(), "figure"),
        counted(trend.runs.len(), "run"),
        percent(trend.false_alarms)
    )
}

/// The trend for a terminal: the answer, the figures that changed, and how sure it is.
pub fn text(trend: &Trend, left_out: &[String]) -> String {
    let mut out = String::new();
    let told = sentences(trend);
    match told.is_empty() {
        true => out += &format!("{}\n", without_a_change(trend)),
        false => told.iter().for_each(|sentence| out += &format!("{sentence}\n")),
    }
    out.push('\n');
    if !told.is_empty() {
        let lines = of_figures(trend, |figure| !figure.changes.is_empty()).to_terminal(14);
        let all = lines.heading.into_iter().chain([lines.rule]).chain(lines.rows);
        all.for_each(|line| out += &(line + "\n"));
        out.push('\n');
    }
    unchanged(trend).iter().for_each(|line| out += &format!("{line}\n"));
    workloads(trend).iter().for_each(|line| out += &format!("{line}\n"));
    warnings(trend).iter().for_each(|line| out += &format!("warning: {line}\n"));
    left_out.iter().for_each(|why| out += &format!("left out: {why}\n"));
    let _ = writeln!(out, "\n{}", explanation(trend));
    out
}
