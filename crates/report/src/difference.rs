//! A comparison for people: one table, what each verdict means, and what a reader must know
//! first. Never judges anything.

use std::fmt::Write as _;

use inferometer_core::compare::{Comparison, FALSE_ALARMS, GateResult, Met, Row, RowVerdict};

use crate::layout::{Align, Table};
use crate::number::{MISSING, significant};
use crate::page::escape;

/// The comparison as Markdown that reads well unrendered.
#[must_use]
pub fn markdown(comparison: &Comparison, gates: &[GateResult]) -> String {
    let table = table(comparison).to_markdown();
    let gate = (!gates.is_empty()).then(|| gate_table(gates).to_markdown());
    document(comparison, &table, gate.as_deref())
}

/// The comparison for a terminal.
#[must_use]
pub fn text(comparison: &Comparison, gates: &[GateResult]) -> String {
    let lines = |table: &Table| {
        let lines = table.to_terminal(14);
        let all = lines.heading.into_iter().chain([lines.rule]).chain(lines.rows);
        all.map(|line| line + "\n").collect::<String>()
    };
    let gate = (!gates.is_empty()).then(|| lines(&gate_table(gates)));
    document(comparison, &lines(&table(comparison)), gate.as_deref())
}

/// The comparison as markup without a frame around it.
#[must_use]
pub fn html(comparison: &Comparison) -> String {
    let mut out = String::new();
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
        "What differs besides the figures",
        differing.map(|[name, ours, theirs]| format!("{name}: {ours} → {theirs}")).collect(),
    );
    out += &crate::page::table(&table(comparison));
    for line in &comparison.unmatched {
        let _ = writeln!(out, "<p>Not compared: {}</p>", escape(line));
    }
    let _ = writeln!(out, "<p>{}</p>", escape(&meaning(comparison)));
    out
}

fn document(comparison: &Comparison, table: &str, gate: Option<&str>) -> String {
    let Comparison { baseline, contender, .. } = comparison;
    let mut out = format!("{contender} against {baseline} (the baseline)\n\n");
    for warning in &comparison.warnings {
        let _ = writeln!(out, "warning: {warning}");
    }
    for [name, ours, theirs] in &comparison.differing {
        let _ = writeln!(out, "differs: {name}: {ours} -> {theirs}");
    }
    if !(comparison.warnings.is_empty() && comparison.differing.is_empty()) {
        out.push('\n');
    }
    out += table;
    for line in &comparison.unmatched {
        let _ = writeln!(out, "not compared: {line}");
    }
    let _ = write!(out, "\n{}\n", meaning(comparison));
    if let Some(gate) = gate {
        out += "\nGate\n\n";
        out += gate;
    }
    out
}

/// What intervals and verdicts say.
fn meaning(comparison: &Comparison) -> String {
    format!(
        "Intervals are 95 % bootstrap intervals over repeats, of each row alone. \"better\" and \
         \"worse\" are beyond chance for all {} rows together: a server compared with itself has \
         one in at most {} of 100 comparisons. \"no difference\": the interval lies within \
         {} %.",
        comparison.rows.len(),
        FALSE_ALARMS * 100.0,
        significant(comparison.options.margin * 100.0),
    )
}

fn table(comparison: &Comparison) -> Table {
    let mut table = Table::new([
        ("Cell", Align::Left),
        ("Load", Align::Left),
        ("Figure", Align::Left),
        ("Baseline", Align::Right),
        ("Now", Align::Right),
        ("Difference (%)", Align::Right),
        ("95 % interval", Align::Right),
        ("Repeats", Align::Right),
        ("Verdict", Align::Left),
    ]);
    for row in &comparison.rows {
        let [ours, theirs] = row.repeats;
        let repeats = if ours == theirs { ours.to_string() } else { format!("{ours}, {theirs}") };
        table.push(vec![
            row.cell.map_or_else(|| "all cells".to_owned(), |cell| cell.to_string()),
            row.load.clone(),
            row.figure.clone(),
            significant(row.baseline),
            significant(row.contender),
            signed(row.difference_pct),
            interval(row.interval_pct),
            repeats,
            verdict(row),
        ]);
    }
    table
}

fn gate_table(gates: &[GateResult]) -> Table {
    let mut table = Table::new([
        ("Condition", Align::Left),
        ("Where", Align::Left),
        ("Difference (%)", Align::Right),
        ("95 % interval", Align::Right),
        ("Met", Align::Left),
    ]);
    for gate in gates {
        let met = match gate.met {
            Met::Yes => "yes",
            Met::No => "NO",
            Met::Undecided => "undecided: the limit lies in the interval",
        };
        table.push(vec![
            gate.condition.clone(),
            gate.place.clone(),
            signed(gate.difference_pct),
            interval(gate.interval_pct),
            met.to_owned(),
        ]);
    }
    table
}

fn verdict(row: &Row) -> String {
    let chance = row.p.map_or(String::new(), |p| format!(" (p = {p:.3})"));
    match row.verdict {
        RowVerdict::Better => format!("better{chance}"),
        RowVerdict::Worse => format!("WORSE{chance}"),
        RowVerdict::NoDifference => "no difference".to_owned(),
        RowVerdict::NotEnoughData { needed } => format!("not enough data: --repeat {needed}"),
    }
}

fn signed(pct: f64) -> String {
    format!("{pct:+.2}")
}

fn interval(ends: Option<[f64; 2]>) -> String {
    ends.map_or_else(|| MISSING.to_owned(), |ends| ends.map(signed).join(" to "))
}
