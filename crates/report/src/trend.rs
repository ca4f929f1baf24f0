//! The trend of a series of runs for people: one sentence for each run at which figures changed, and a table.

use std::fmt::Write as _;

use inferometer_analysis::compare::{FEWEST_RUNS, FigureTrend, LevelChange, Trend};
use inferometer_model::digits::{Decimals, counted, percent};

use crate::{MISSING, Table, left, right, significant};

/// The figures that one sentence names; the table has the others.
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

/// A row for each figure.
pub fn table(trend: &Trend) -> Table {
    Table::of(trend.figures.iter().map(|figure| {
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
         figures together. Run to run: the standard deviation of a run around its level. Alike: the correlation of \
         neighbouring runs, which a drift of the machine causes; it widens every error. Intervals are 95 % intervals of one \
         change. A change says since when, not why: the server, its settings or the machine.",
        counted(trend.figures.len(), "figure"),
        counted(trend.runs.len(), "run"),
        percent(trend.false_alarms)
    )
}

/// The trend for a terminal.
pub fn text(trend: &Trend, left_out: &[String]) -> String {
    let mut out = String::new();
    let told = sentences(trend);
    match told.is_empty() {
        true => out += "no change is found\n",
        false => told.iter().for_each(|sentence| out += &format!("{sentence}\n")),
    }
    let lines = table(trend).to_terminal(14);
    out.push('\n');
    lines
        .heading
        .into_iter()
        .chain([lines.rule])
        .chain(lines.rows)
        .for_each(|line| out += &(line + "\n"));
    let _ = writeln!(out, "\n{}", explanation(trend));
    left_out.iter().for_each(|why| out += &format!("left out: {why}\n"));
    out
}
