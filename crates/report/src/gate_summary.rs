//! Comparisons as one Markdown page for the job summary of a CI system. The page begins with the overall result, and
//! the section of each comparison begins with the answer.

use std::fmt::Write as _;

use inferometer_analysis::compare::{Comparison, GateResult, RowVerdict};

use crate::difference::{explained, table};
use crate::{compared, escape::markdown as escaped, gate_table::gate_table, judgement::Judgement};

/// Returns the page. `judged` is the result of the gates. If it is `None`, the page begins with the
/// number of figures for each verdict.
pub fn markdown(compared: &[(&Comparison, &[GateResult])], judged: Option<&Judgement>) -> String {
    let mut out = match judged {
        Some(Judgement { verdict, sentence }) => {
            format!("## {}\n\n{}\n", verdict.word(), escaped(sentence))
        }
        None => format!("## {}\n", counts(compared.iter().map(|(comparison, _)| *comparison))),
    };
    for (comparison, gates) in compared {
        one(comparison, gates, &mut out);
    }
    out
}

fn one(comparison: &Comparison, gates: &[GateResult], out: &mut String) {
    let (baseline, contender) = (escaped(&comparison.baseline), escaped(&comparison.contender));
    let _ = writeln!(out, "\n### {contender} against {baseline} (the baseline)\n");
    let _ = writeln!(out, "{}\n", escaped(&compared::answer(comparison)));
    if !gates.is_empty() {
        let _ = writeln!(out, "{}\n", gate_table(gates).to_markdown().trim_end());
    }
    *out += &table(comparison).map(|table| table.to_markdown()).unwrap_or_default();
    let warnings =
        comparison.warnings.iter().map(|warning| format!("**warning:** {}", escaped(warning)));
    let differing = comparison.differing.iter().map(|[name, ours, theirs]| {
        format!("differs: {}: {} -> {}", escaped(name), escaped(ours), escaped(theirs))
    });
    let unmatched = comparison
        .unmatched
        .iter()
        .map(|group| format!("not compared: {}", escaped(&group.to_string())));
    let explained = explained(comparison).into_iter().map(|line| escaped(&line));
    let lines: Vec<String> = warnings.chain(differing).chain(explained).chain(unmatched).collect();
    if !lines.is_empty() {
        *out += "\n";
    }
    out.extend(lines.into_iter().map(|line| format!("- {line}\n")));
}

/// The number of figures for each verdict that occurs, and the number of figures of the answers of searches and sweeps,
/// as text.
fn counts<'a>(comparisons: impl Iterator<Item = &'a Comparison> + Clone) -> String {
    let answers: usize = comparisons.clone().map(|comparison| comparison.answers.len()).sum();
    let rows: Vec<_> = comparisons.flat_map(|comparison| &comparison.rows).collect();
    let count = |is: fn(RowVerdict) -> bool| rows.iter().filter(|row| is(row.verdict)).count();
    let parts = [
        ("worse", count(|it| it == RowVerdict::Worse)),
        ("better", count(|it| it == RowVerdict::Better)),
        (
            "different (from a change of the server or a drift of the machine)",
            count(|it| it == RowVerdict::Differs),
        ),
        ("no difference", count(|it| it == RowVerdict::NoDifference)),
        ("without an interval", count(|it| it == RowVerdict::NoInterval)),
        ("not enough data", count(|it| matches!(it, RowVerdict::NotEnoughData { .. }))),
    ];
    let found: Vec<String> =
        parts.iter().filter(|part| part.1 > 0).map(|(word, n)| format!("{n} {word}")).collect();
    let of_rows = || {
        let figures = if rows.len() == 1 { "figure" } else { "figures" };
        format!("Of {} {figures}: {}", rows.len(), found.join(", "))
    };
    let of_answers = match answers {
        1 => "1 figure of an answer is compared".to_owned(),
        _ => format!("{answers} figures of answers are compared"),
    };
    match (answers, rows.is_empty()) {
        (0, true) => "No metric is compared".to_owned(),
        (0, false) => of_rows(),
        (_, true) => of_answers,
        (_, false) => format!("{}; {of_answers}", of_rows()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judgement::Verdict;
    use inferometer_analysis::compare::{
        AnswerFigure, AnswerRow, AnswerSide, AnswerVerdict, Design, Options, Row,
    };
    use inferometer_analysis::verdict::Met;
    use inferometer_model::cell::CellPlan;
    use inferometer_plan::search::Over;

    /// A figure of the answers of two searches, which is not known on either side.
    fn answer_row() -> AnswerRow {
        let side = AnswerSide {
            known: None,
            is_undecided: false,
            is_lower_bound: false,
            missing: None,
            runs: 1,
            unanswered: 1,
        };
        AnswerRow {
            cell: CellPlan { input_length: 512, output_length: 128 },
            objectives: None,
            figure: AnswerFigure::Knee,
            over: Over::Concurrency,
            confidence: 0.95,
            baseline: side.clone(),
            contender: side,
            ratio: None,
            verdict: AnswerVerdict::NoDifference,
        }
    }

    #[test]
    fn the_summary_shows_the_verdict_then_the_gate_then_all_figures_then_the_warnings() {
        let row = Row {
            cell: None,
            load: "saturated".to_owned(),
            figure: "ttft_p99".to_owned(),
            higher_is_better: false,
            baseline: 1.0,
            contender: 1.2,
            repeats: [6, 6],
            difference_pct: 20.0,
            interval_pct: Some([18.0, 22.0]),
            p: Some(0.01),
            design: Design::Alternated { rounds: 6 },
            over_time: [None; 2],
            verdict: RowVerdict::Worse,
        };
        let comparison = Comparison {
            baseline: "group-1/base".to_owned(),
            contender: "group-1/head".to_owned(),
            options: Options::default(),
            design: Design::Alternated { rounds: 6 },
            warnings: vec!["<img> is *suspect*".to_owned()],
            differing: vec![["engine version".to_owned(), "1".to_owned(), "2".to_owned()]],
            rows: vec![row],
            ..Comparison::default()
        };
        let gate = GateResult {
            condition: "ttft_p99<+5%".to_owned(),
            figure: "ttft_p99".to_owned(),
            place: "all cells, saturated".to_owned(),
            difference_pct: Some(20.0),
            interval_pct: Some([Some(18.0), Some(22.0)]),
            why: None,
            measured_in_turn: true,
            met: Met::No,
        };
        let judged = Judgement::new(Verdict::Fail, "not met: ttft_p99<+5%");
        let gates = [gate];
        let text = markdown(&[(&comparison, &gates)], Some(&judged));
        let order = [
            "## FAIL\n\nnot met: ttft_p99\\<+5%",
            "### group-1/head against group-1/base",
            "Condition",
            "+18.00 to +22.00 %",
            "WORSE",
            "- **warning:** \\<img\\> is \\*suspect\\*",
            "- differs: engine version: 1 -> 2",
            "- measured: in turn, 6 rounds",
        ];
        let mut from = 0;
        for words in order {
            let at = text[from..].find(words);
            from += at.unwrap_or_else(|| panic!("{words}: {text}"));
        }
        let without = markdown(&[(&comparison, &[])], None);
        assert!(without.starts_with("## Of 1 figure: 1 worse\n"), "{without}");
        let of_search = Comparison { answers: vec![answer_row(); 2], ..Comparison::default() };
        for (all, heading) in [
            (&[&of_search][..], "## 2 figures of answers are compared\n"),
            (
                &[&comparison, &of_search],
                "## Of 1 figure: 1 worse; 2 figures of answers are compared\n",
            ),
        ] {
            let all: Vec<(&Comparison, &[GateResult])> =
                all.iter().map(|one| (*one, &[][..])).collect();
            let text = markdown(&all, None);
            assert!(text.starts_with(heading), "{text}");
        }
    }
}
