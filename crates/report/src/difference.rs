//! A comparison of two runs for people: one table, what each verdict means, and warnings first. The
//! verdicts come from [`inferometer_analysis::compare`].

use std::fmt::Write as _;

use inferometer_analysis::compare::{Comparison, FALSE_ALARMS, GateResult, Met, Row, RowVerdict};

use crate::number::{MISSING, significant};
use crate::page::escape;
use crate::text_table::{Align, Table};

/// The comparison as Markdown that reads well unrendered.
pub fn markdown(comparison: &Comparison, gates: &[GateResult]) -> String {
    let table = table(comparison).to_markdown();
    let gate = (!gates.is_empty()).then(|| gate_table(gates).to_markdown());
    document(comparison, &table, gate.as_deref())
}

/// The comparison for a terminal.
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
    let _ = writeln!(out, "<p>{}</p>", escape(&meaning(comparison)));
    for group in &comparison.unmatched {
        let _ = writeln!(out, "<p>Not compared: {}</p>", escape(&group.to_string()));
    }
    out
}

/// The verdicts first, then what a reader must know of them, and last what has none.
fn document(comparison: &Comparison, table: &str, gate: Option<&str>) -> String {
    let Comparison { baseline, contender, .. } = comparison;
    let mut out = format!("{contender} against {baseline} (the baseline)\n\n{table}");
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
    let parts = [lines, vec![meaning(comparison)], unmatched.collect()];
    for part in parts.iter().filter(|part| !part.is_empty()) {
        let _ = writeln!(out, "\n{}", part.join("\n"));
    }
    out
}

/// What intervals and verdicts say.
fn meaning(comparison: &Comparison) -> String {
    let short = |row: &Row| matches!(row.verdict, RowVerdict::NotEnoughData { .. });
    let repeats = match comparison.rows.iter().any(short) {
        true => {
            " Repeats of a measurement are made by `run --repeat N`; a published table or a \
                 prediction has one."
        }
        false => "",
    };
    format!(
        "Intervals are 95 % bootstrap intervals over repeats, of each row alone. \"better\" and \
         \"worse\" are beyond chance for all {} rows together: a server compared with itself has \
         one in at most {} of 100 comparisons. \"no difference\": the interval lies within \
         {} %.{repeats}",
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
        RowVerdict::NotEnoughData { needed } => {
            format!(
                "not enough data: {needed} repeats of each would be needed{}",
                more(row, needed)
            )
        }
    }
}

/// How many more each side needs, where the two have different numbers of repeats.
fn more(row: &Row, needed: u32) -> String {
    let [ours, theirs] = row.repeats;
    if ours == theirs {
        return String::new();
    }
    let sides = [("baseline", ours), ("now", theirs)].map(|(side, have)| {
        let more = (needed as usize).saturating_sub(have);
        (more > 0).then(|| format!("{side} {more} more"))
    });
    format!(" ({})", sides.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

fn signed(pct: f64) -> String {
    format!("{pct:+.2}")
}

fn interval(ends: Option<[f64; 2]>) -> String {
    ends.map_or_else(|| MISSING.to_owned(), |ends| ends.map(signed).join(" to "))
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
            verdict: RowVerdict::NotEnoughData { needed },
        }
    }

    #[test]
    fn what_is_missing_is_repeats_and_not_a_flag_and_each_side_is_told_how_many() {
        for (repeats, text) in [
            ([1, 1], "not enough data: 5 repeats of each would be needed"),
            (
                [3, 1],
                "not enough data: 5 repeats of each would be needed (baseline 2 more, now 4 more)",
            ),
            ([9, 1], "not enough data: 5 repeats of each would be needed (now 4 more)"),
        ] {
            assert_eq!(verdict(&row(repeats, 5)), text);
        }
    }

    #[test]
    fn verdicts_stand_first_and_what_is_not_compared_last() {
        let unmatched = Unmatched {
            figures: vec!["ttft_p50".to_owned()],
            load: "one by one".to_owned(),
            cells: Vec::new(),
            only_in: "a".to_owned(),
        };
        let comparison = Comparison {
            baseline: "a".to_owned(),
            contender: "b".to_owned(),
            options: Options::default(),
            warnings: vec!["one of the two was imported".to_owned()],
            differing: vec![["engine".to_owned(), "x".to_owned(), "y".to_owned()]],
            rows: vec![row([1, 1], 5)],
            unmatched: vec![unmatched],
        };
        let text = text(&comparison, &[]);
        let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}: {text}"));
        let order = ["requests_per_s", "warning:", "differs:", "95 % bootstrap", "not compared: "];
        let places = order.map(at);
        assert!(places.is_sorted(), "{text}");
        assert!(text.ends_with("only a has ttft_p50\n"), "{text}");
    }
}
