//! A comparison of two runs for people: the answer, a table of verdicts, warnings, and the meaning of the verdicts.
//! The verdicts come from [`inferometer_analysis::compare`].

use std::fmt::Write as _;

use inferometer_analysis::compare::{
    BOUNDS_DRIFT, Comparison, Design, FALSE_ALARMS, FEWEST_REPEATS, GateResult, OverTime, Row,
    RowVerdict, smallest,
};
use inferometer_model::{Change, digits};

use crate::gate_table::gate_table;
use crate::page::escape;
use crate::{MISSING, Table, compared, compared_answers, left, right, significant};

/// The comparison for a terminal.
pub fn text(comparison: &Comparison, gates: &[GateResult]) -> String {
    let gate = (!gates.is_empty()).then(|| lines(&gate_table(gates)));
    let table = table(comparison).map(|table| lines(&table)).unwrap_or_default();
    document(comparison, &table, gate.as_deref())
}

/// The conditions of a gate with their results, for a terminal.
pub fn gate_text(gates: &[GateResult]) -> String {
    lines(&gate_table(gates))
}

fn lines(table: &Table) -> String {
    let lines = table.to_terminal(14);
    let all = lines.heading.into_iter().chain([lines.rule]).chain(lines.rows);
    all.map(|line| line + "\n").collect()
}

/// The comparison as an HTML fragment. The answer and the warnings come first.
pub fn html(comparison: &Comparison) -> String {
    let mut out = format!("<p><b>{}</b></p>\n", escape(&compared::answer(comparison)));
    let mut callout = |class: &str, title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let lines: String =
                lines.iter().map(|line| format!("<p>{}</p>\n", escape(line))).collect();
            let _ = write!(
                out,
                "<div class=\"callout {class}\">\n<p><b>{title}</b></p>\n{lines}</div>\n"
            );
        }
    };
    callout("warning", "Read this first", comparison.warnings.clone());
    let differing = comparison.differing.iter();
    callout(
        "note",
        "Other differences",
        differing.map(|[name, ours, theirs]| format!("{name}: {ours} → {theirs}")).collect(),
    );
    out += &table(comparison).map(|table| crate::page::table(&table)).unwrap_or_default();
    out.extend(explained(comparison).iter().map(|line| format!("<p>{}</p>\n", escape(line))));
    for group in &comparison.unmatched {
        let _ = writeln!(out, "<p>Not compared: {}</p>", escape(&group.to_string()));
    }
    out
}

/// The comparison as text: first the answer, then the verdicts, then the conditions of a gate, then warnings and
/// explanations, and last the figures that were not compared.
fn document(comparison: &Comparison, table: &str, gate: Option<&str>) -> String {
    let Comparison { baseline, contender, .. } = comparison;
    let answer = compared::answer(comparison);
    let mut out = format!("{answer}\n\n{contender} against {baseline} (the baseline)\n");
    if !table.is_empty() {
        let _ = write!(out, "\n{table}");
    }
    if let Some(gate) = gate {
        let _ = write!(out, "\nGate\n\n{gate}");
    }
    let mut lines: Vec<String> = Vec::new();
    lines.extend(comparison.warnings.iter().map(|warning| format!("warning: {warning}")));
    let differing = comparison.differing.iter();
    lines.extend(
        differing.map(|[name, ours, theirs]| format!("differs: {name}: {ours} -> {theirs}")),
    );
    let unmatched = comparison.unmatched.iter().map(|group| format!("not compared: {group}"));
    let parts = [lines, explained(comparison), unmatched.collect()];
    for part in parts.iter().filter(|part| !part.is_empty()) {
        let _ = writeln!(out, "\n{}", part.join("\n"));
    }
    out
}

/// Explanations, one line each: the order of the measurements, changes over time, advice, and the meaning
/// of the verdicts. For predictions, one line replaces the first three. For searches and sweeps, there is only an
/// explanation of the table. Empty if no figure was compared.
pub(crate) fn explained(comparison: &Comparison) -> Vec<String> {
    if !comparison.answers.is_empty() {
        return vec![compared_answers::explanation(comparison)];
    }
    if comparison.rows.is_empty() {
        return Vec::new();
    }
    let mut lines = Vec::new();
    if comparison.are_predictions {
        lines.push(
            "predicted: both were simulated, so a difference is no drift over time".to_owned(),
        );
    } else {
        lines.push(format!("measured: {}", comparison.design));
        lines.extend(over_time(comparison));
        lines.extend(advice(comparison));
    }
    lines.push(meaning(comparison));
    lines
}

/// A sentence that states whether the figures drift from repeat to repeat, and whether consecutive repeats
/// are correlated. Each of the two statements uses the figure with the smallest p-value. `None` if no figure has
/// enough repeats.
fn over_time(comparison: &Comparison) -> Option<String> {
    let sides = ["the baseline", "the contender"];
    let all: Vec<(&Row, &str, OverTime)> = comparison
        .rows
        .iter()
        .flat_map(|row| {
            let of_sides = row.over_time.iter().zip(sides);
            of_sides.filter_map(move |(found, side)| Some((row, side, (*found)?)))
        })
        .collect();
    let clearest = |chance: fn(&OverTime) -> f64| {
        let of = |one: &&(&Row, &str, OverTime)| chance(&one.2);
        all.iter().min_by(|one, other| of(one).total_cmp(&of(other)))
    };
    let corrected =
        |chance: fn(&OverTime) -> f64| smallest(all.iter().map(|(.., one)| chance(one)));
    let (trend_p, alike_p) = (|one: &OverTime| one.trend_p, |one: &OverTime| one.autocorrelation_p);
    let (trend, alike) = (clearest(trend_p)?, clearest(alike_p)?);
    let is_seen = |p: Option<f64>| p.is_some_and(|p| p <= FALSE_ALARMS);
    let trend = match is_seen(corrected(trend_p)) {
        true => format!(
            "{} of {} changes by {:+.2} % from repeat to repeat ({})",
            trend.0.figure,
            trend.1,
            trend.2.trend_pct,
            trend.0.place()
        ),
        false => "no trend is seen".to_owned(),
    };
    let alike = match is_seen(corrected(alike_p)) {
        true => format!(
            "consecutive repeats are similar ({} of {}: correlation {:.2})",
            alike.0.figure, alike.1, alike.2.autocorrelation
        ),
        false => "no sign that consecutive repeats are similar".to_owned(),
    };
    Some(format!("over time: {trend}; {alike}"))
}

/// Advice if a difference may be a drift, or if a row has too few repeats; otherwise `None`.
fn advice(comparison: &Comparison) -> Option<String> {
    let differs = comparison.rows.iter().any(|row| row.verdict == RowVerdict::Differs);
    let short = |row: &Row| match row.verdict {
        RowVerdict::NotEnoughData { needed } => Some(needed),
        _ => None,
    };
    let needed = comparison.rows.iter().filter_map(short).min();
    if !differs && needed.is_none() {
        return None;
    }
    let rounds = match needed {
        Some(fewest) => format!("`rounds = {fewest}` (enough for the row that needs the fewest)"),
        None => format!("`rounds = {}`", FEWEST_REPEATS + 2),
    };
    let (why, bound) = match comparison.design {
        Design::Alternated { .. } => ("To decide more figures, measure more rounds", String::new()),
        _ => (
            "To separate a change from a drift, measure both in turn",
            format!(
                " A baseline of {BOUNDS_DRIFT} repeats or more over time shows how far it drifts \
                 by itself."
            ),
        ),
    };
    Some(format!(
        "{why}: run a plan with two [[target]]s and {rounds}, then `inferometer compare \
         GROUP/ONE GROUP/OTHER`. Or run A and B alternately, then `inferometer compare \
         A1,A2,A3,... B1,B2,B3,...`.{bound}"
    ))
}

/// The meaning of intervals and verdicts.
fn meaning(comparison: &Comparison) -> String {
    format!(
        "Intervals are 95 % intervals over repeats, separate for each row. \"better\" and \
            \"worse\": the difference is significant after correction for all {} rows, and a drift \
            over time is not the cause: both sides were measured alternately, or the baseline has \
            at least {BOUNDS_DRIFT} repeats. A server compared with itself has a \"better\" or \
            \"worse\" row in at most {} of 100 comparisons. \"differs\": also significant, but a \
            drift over time would look the same. \"no difference\": the interval is within {} %. \
            \"not enough data\": with the stated number of rounds, a difference of {} % in this \
            row would be found in four of five comparisons.",
        comparison.rows.len(),
        FALSE_ALARMS * 100.0,
        significant(comparison.options.margin * 100.0),
        significant(comparison.options.margin * 100.0),
    )
}

/// The answers of searches and sweeps, or a row for each figure; `None` if nothing is compared.
pub(crate) fn table(comparison: &Comparison) -> Option<Table> {
    if !comparison.answers.is_empty() {
        return Some(compared_answers::table(&comparison.answers));
    }
    if comparison.rows.is_empty() {
        return None;
    }
    let [ours, theirs] = match &comparison.tools {
        Some([ours, theirs]) => [format!("Baseline ({ours})"), format!("Contender ({theirs})")],
        None => ["Baseline", "Contender"].map(str::to_owned),
    };
    Some(Table::of(comparison.rows.iter().map(|row| {
        let [one, other] = row.repeats;
        let repeats = if one == other { one.to_string() } else { format!("{one}, {other}") };
        [
            left("Cell", row.cell.map_or_else(|| "all cells".to_owned(), |cell| cell.to_string())),
            left("Load", digits::of_load(&row.load)),
            left("Figure", &row.figure),
            right(&ours, significant(row.baseline)),
            right(&theirs, significant(row.contender)),
            right("Difference", signed(row.difference_pct)),
            right("95 % interval", interval(row.difference_pct, row.interval_pct)),
            right("Repeats", repeats),
            left("Verdict", verdict(row)),
        ]
    })))
}

pub(crate) fn verdict(row: &Row) -> String {
    let chance = match row.p {
        Some(p) if p < 0.001 => " (p < 0.001)".to_owned(),
        Some(p) => format!(" (p = {p:.3})"),
        None => String::new(),
    };
    match row.verdict {
        RowVerdict::Better => format!("better{chance}"),
        RowVerdict::Worse => format!("WORSE{chance}"),
        RowVerdict::Differs => format!("DIFFERS{chance}: a change or a drift"),
        RowVerdict::NoDifference => "no difference".to_owned(),
        RowVerdict::NoInterval => {
            let whose = match row.repeats {
                [1, 1] => "one value each",
                [1, _] => "one value of the baseline",
                _ => "one value of the contender",
            };
            format!("{whose}: a difference without an interval")
        }
        // A single value shows no variation, so the required number of repeats is unknown.
        RowVerdict::NotEnoughData { needed } if row.repeats.iter().all(|&n| n < 2) => {
            format!("not enough data: measure both at least {needed} times")
        }
        RowVerdict::NotEnoughData { needed } => {
            format!("not enough data: about {needed} rounds of both are needed")
        }
    }
}

/// A difference with its sign: `+5.23 %`; if the figure is more than twice as large, a factor: `86.3 times`.
pub(crate) fn signed(pct: f64) -> String {
    Change::of_percent(pct).signed(2)
}

/// The interval of a difference: `+3.12 to +7.30 %`, or `84.1 to 88.2 times`.
pub(crate) fn interval(pct: f64, ends: Option<[f64; 2]>) -> String {
    let ratios = ends.map(|ends| ends.map(|end| 1.0 + end / 100.0));
    let text = ratios.map(|ratios| Change::of_percent(pct).interval(ratios, 2));
    text.unwrap_or_else(|| MISSING.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_analysis::compare::{Options, Unmatched};

    fn row(repeats: [usize; 2], needed: u32) -> Row {
        Row {
            cell: None,
            load: "table".to_owned(),
            figure: "requests_per_s".to_owned(),
            higher_is_better: true,
            baseline: 1.0,
            contender: 1.1,
            repeats,
            difference_pct: 10.0,
            interval_pct: None,
            p: None,
            design: Design::BeforeAfter { drift_is_bounded: false },
            over_time: [None; 2],
            verdict: RowVerdict::NotEnoughData { needed },
        }
    }

    #[test]
    fn a_verdict_states_how_many_repeats_are_needed_or_that_there_is_no_interval() {
        let with = |repeats, verdict| Row { verdict, p: Some(0.012), ..row(repeats, 5) };
        for (row, text) in [
            (row([1, 1], 5), "not enough data: measure both at least 5 times"),
            (row([3, 3], 5), "not enough data: about 5 rounds of both are needed"),
            (
                with([1, 1], RowVerdict::NoInterval),
                "one value each: a difference without an interval",
            ),
            (
                with([1, 5], RowVerdict::NoInterval),
                "one value of the baseline: a difference without an interval",
            ),
            (with([5, 5], RowVerdict::Differs), "DIFFERS (p = 0.012): a change or a drift"),
            (with([5, 5], RowVerdict::Worse), "WORSE (p = 0.012)"),
        ] {
            assert_eq!(verdict(&row), text);
        }
    }

    #[test]
    fn the_measurement_order_and_a_trend_are_reported_with_a_remedy() {
        let drifting = OverTime {
            trend_pct: 0.5,
            trend_p: 0.001,
            autocorrelation: 0.7,
            autocorrelation_p: 0.9,
        };
        let row = Row {
            verdict: RowVerdict::Differs,
            over_time: [Some(drifting), None],
            ..row([9, 9], 5)
        };
        let comparison = Comparison {
            baseline: "a".to_owned(),
            contender: "b".to_owned(),
            options: Options::default(),
            design: row.design,
            rows: vec![row],
            ..Comparison::default()
        };
        for text in [text(&comparison, &[]), html(&comparison)] {
            for words in [
                "measured: one after the other: a drift over time looks like a change",
                "requests_per_s of the baseline changes by +0.50 % from repeat to repeat",
                "no sign that consecutive repeats are similar",
                "measure both in turn: run a plan with two [[target]]s",
            ] {
                assert!(text.contains(words), "{words}: {text}");
            }
        }
    }

    #[test]
    fn verdicts_are_shown_first_and_unmatched_figures_last() {
        let unmatched = Unmatched {
            figures: vec!["ttft_p50".to_owned()],
            load: "one by one".to_owned(),
            cells: Vec::new(),
            only_in: "a".to_owned(),
            no_such_load_in: Some("b".to_owned()),
        };
        let comparison = Comparison {
            baseline: "a".to_owned(),
            contender: "b".to_owned(),
            options: Options::default(),
            design: Design::Unknown,
            warnings: vec!["one of the two was imported".to_owned()],
            differing: vec![["engine".to_owned(), "x".to_owned(), "y".to_owned()]],
            rows: vec![row([1, 1], 5)],
            unmatched: vec![unmatched],
            ..Comparison::default()
        };
        let text = text(&comparison, &[]);
        let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}: {text}"));
        let order = ["requests_per_s", "warning:", "differs:", "95 % intervals", "not compared: "];
        let places = order.map(at);
        assert!(text.starts_with("It is unknown whether b differs from a: requests_per_s is"));
        assert!(places.is_sorted(), "{text}");
        assert!(text.ends_with("only a has ttft_p50 (no such load in b)\n"), "{text}");
    }
}
