//! Judgements as JUnit XML, for GitHub, GitLab and Jenkins. The XML follows the schema of the Jenkins
//! plugin (`junit-10.xsd`). It contains no durations, because a judged figure is not a test that takes
//! time.

use std::fmt::Write as _;

use inferometer_analysis::compare::{
    AnswerFigure, AnswerRow, AnswerVerdict, Comparison, GateResult, Row, RowVerdict,
};
use inferometer_analysis::{Summary, verdict::Met};
use inferometer_model::digits::percent;

use crate::difference::{interval, signed, verdict as row_verdict};
use crate::{compared_answers, escape::xml, gate_table, judgement::Judgement, label};

/// The outcome of a test case.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CaseResult {
    Passed,
    /// The condition is not met. Without a condition: the figure is worse than the margin allows. The text is
    /// the reason.
    Failed(String),
    /// The condition or the figure is undecided, or a gate has no condition on the figure. The text is the
    /// reason.
    Skipped(String),
    /// The run or a part of it failed. The text is the error message.
    Error(String),
}

/// A test case: one figure at one load, one figure of an answer, one objective, one answer of a search, or one
/// failure.
struct Case {
    name: String,
    outcome: CaseResult,
    /// The content of `<system-out>`: the values and the verdict in words.
    system_out: String,
}

/// The test cases of one comparison or of one run.
pub struct Suite {
    name: String,
    properties: Vec<(&'static str, String)>,
    cases: Vec<Case>,
}

/// The test cases of a comparison, one for each row, also of the rows of answers. `gates` are the results of the
/// gate's conditions, and `runs` names the runs of the baseline and of the contender, if they are known.
///
/// With a gate, the conditions on a row decide, and a row without a condition is skipped. An undecided
/// condition fails if `is_strict`, otherwise its row is skipped. Without a gate, a row fails if its
/// verdict is "worse" and the difference exceeds the margin. An answer fails likewise if its verdict is
/// "lower", but a knee never fails. A row or an answer without a decision is skipped. A row with the verdict
/// "differs" is skipped if it is worse by more than the margin, and passes otherwise.
pub fn of_comparison(
    comparison: &Comparison,
    gates: &[GateResult],
    runs: &[Option<String>; 2],
    is_strict: bool,
) -> Suite {
    let Comparison { baseline, contender, .. } = comparison;
    let mut properties = vec![("baseline", baseline.clone()), ("contender", contender.clone())];
    let names = ["baseline runs", "contender runs"];
    properties
        .extend(names.into_iter().zip(runs).filter_map(|(name, run)| Some((name, run.clone()?))));
    properties.push(("measured", comparison.design.to_string()));
    properties.push(("margin", format!("{} %", percent(comparison.options.margin))));
    properties.extend(comparison.warnings.iter().map(|warning| ("warning", warning.clone())));
    let differing = comparison.differing.iter();
    properties.extend(
        differing.map(|[name, ours, theirs]| ("differs", format!("{name}: {ours} -> {theirs}"))),
    );
    let margin = comparison.options.margin;
    let case = |(figure, place): (&str, String), system_out: String, without_gate: CaseResult| {
        let is_of = |gate: &&GateResult| gate.figure == figure && gate.place == place;
        let of_row: Vec<&GateResult> = gates.iter().filter(is_of).collect();
        let outcome = match (gates.is_empty(), of_row.is_empty()) {
            (true, _) => without_gate,
            (false, true) => {
                CaseResult::Skipped("the gate has no condition on this metric".to_owned())
            }
            (false, false) => gated(&of_row, is_strict),
        };
        Case { name: format!("{figure}, {place}"), outcome, system_out }
    };
    let rows = comparison.rows.iter().map(|row| {
        let told = sentence(row);
        let outcome = without_gate(row, margin, &told);
        case((&row.figure, row.place()), told, outcome)
    });
    let answers = comparison.answers.iter().map(|row| {
        let told = compared_answers::told(row);
        let outcome = answer_without_gate(row, margin, &told);
        case((row.figure.name(), row.place()), told, outcome)
    });
    let cases = rows.chain(answers).collect();
    Suite { name: format!("{contender} against {baseline}"), properties, cases }
}

/// The test cases of a run: one for each objective, and one for each answer of a search.
pub fn of_run(run: &Summary) -> Suite {
    let target = &run.target;
    let properties = vec![
        ("run", run.run_id.clone()),
        ("target", target.url.clone()),
        ("model", target.model.clone()),
        ("engine", target.engine.clone().unwrap_or_default()),
        ("plan hash", run.plan_hash.clone()),
    ];
    let objectives = run.verdict.slo.iter().map(|result| {
        let measured = label::measured(result).map(|figure| format!("measured: {figure}"));
        let sentences: Vec<&str> = measured.as_deref().into_iter().chain(result.notes()).collect();
        let system_out = match sentences.is_empty() {
            true => "nothing could be measured".to_owned(),
            false => sentences.join("; "),
        };
        let outcome = match result.outcome() {
            Met::No => CaseResult::Failed(format!("not met: {}; {system_out}", result.objective)),
            Met::Yes => CaseResult::Passed,
            Met::Undecided => CaseResult::Skipped(format!("undecided: {system_out}")),
        };
        Case { name: format!("{}, {}", result.objective, result.place), outcome, system_out }
    });
    let searches = run.searches.iter().map(|answer| {
        let Judgement { verdict, sentence } = Judgement::of_search(answer);
        let outcome = match verdict {
            crate::judgement::Verdict::Pass => CaseResult::Passed,
            crate::judgement::Verdict::Undecided => CaseResult::Skipped(sentence.clone()),
            crate::judgement::Verdict::Fail => CaseResult::Failed(sentence.clone()),
        };
        Case { name: format!("highest load, {}", answer.place()), outcome, system_out: sentence }
    });
    let cases = objectives.chain(searches).collect();
    Suite { name: format!("run {}", run.run_id), properties, cases }
}

/// The failures of a run that no objective covers, such as a server that did not start. Without this
/// suite, the document of a failed run would show no error. Each pair contains the server's name (empty
/// if the whole run failed) and the error message.
pub fn of_failures(failures: &[(String, String)]) -> Suite {
    let case = |(name, why): &(String, String)| Case {
        name: if name.is_empty() { "the run".to_owned() } else { name.clone() },
        outcome: CaseResult::Error(why.clone()),
        system_out: why.clone(),
    };
    let cases = failures.iter().map(case).collect();
    Suite { name: "failures".to_owned(), properties: Vec::new(), cases }
}

/// Returns the XML document. `judged` is the overall result; if it is known, each suite states it as a property.
pub fn junit(suites: &[Suite], judged: Option<&Judgement>) -> String {
    let total = |count: fn(&Suite) -> usize| suites.iter().map(count).sum::<usize>();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        out,
        "<testsuites name=\"inferometer\" tests=\"{}\" failures=\"{}\" errors=\"{}\">",
        total(|suite| suite.cases.len()),
        total(Suite::failures),
        total(Suite::errors)
    );
    for suite in suites {
        suite.write(judged, &mut out);
    }
    out + "</testsuites>\n"
}

impl Suite {
    fn failures(&self) -> usize {
        self.cases.iter().filter(|case| matches!(case.outcome, CaseResult::Failed(_))).count()
    }

    fn errors(&self) -> usize {
        self.cases.iter().filter(|case| matches!(case.outcome, CaseResult::Error(_))).count()
    }

    fn write(&self, judged: Option<&Judgement>, out: &mut String) {
        let skipped = |case: &&Case| matches!(case.outcome, CaseResult::Skipped(_));
        let _ = writeln!(
            out,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n    \
             <properties>",
            xml(&self.name),
            self.cases.len(),
            self.failures(),
            self.errors(),
            self.cases.iter().filter(skipped).count()
        );
        let verdict = judged.map(|judged| ("verdict", judged.to_string()));
        let properties = verdict.iter().chain(&self.properties);
        for (name, value) in properties {
            let _ = writeln!(out, "      <property name=\"{name}\" value=\"{}\"/>", xml(value));
        }
        *out += "    </properties>\n";
        for case in &self.cases {
            let _ = writeln!(
                out,
                "    <testcase classname=\"inferometer\" name=\"{}\">",
                xml(&case.name)
            );
            let _ = match &case.outcome {
                CaseResult::Passed => Ok(()),
                CaseResult::Failed(why) => writeln!(
                    out,
                    "      <failure type=\"not met\" message=\"{0}\">{0}</failure>",
                    xml(why)
                ),
                CaseResult::Error(why) => {
                    writeln!(out, "      <error message=\"{0}\">{0}</error>", xml(why))
                }
                CaseResult::Skipped(why) => {
                    writeln!(out, "      <skipped message=\"{}\"/>", xml(why))
                }
            };
            let system_out: Vec<String> = case.system_out.lines().map(xml).collect();
            let _ = writeln!(
                out,
                "      <system-out>{}</system-out>\n    </testcase>",
                system_out.join("\n")
            );
        }
        *out += "  </testsuite>\n";
    }
}

/// The difference, the values, the interval, the repeats and the verdict of a row, in one sentence.
fn sentence(row: &Row) -> String {
    let interval = match row.interval_pct {
        Some(ends) => {
            format!(", 95 % interval {}", interval(row.difference_pct, Some(ends)))
        }
        None => ", no interval".to_owned(),
    };
    let [ours, theirs] = row.repeats;
    format!(
        "{} ({} to {}{interval}; {ours} and {theirs} repeats): {}",
        signed(row.difference_pct),
        label::of_figure(&row.figure, row.baseline),
        label::of_figure(&row.figure, row.contender),
        row_verdict(row)
    )
}

/// The outcome of a row for which the gate has conditions.
fn gated(results: &[&GateResult], is_strict: bool) -> CaseResult {
    let with = |met: Met| -> Vec<String> {
        let found = results.iter().filter(|result| result.met == met);
        let doubt = |result: &GateResult| match met == Met::No && !result.measured_in_turn {
            true => "; not measured in turn: the server changed, or the machine drifted",
            false => "",
        };
        found
            .map(|result| {
                if let Some(why) = &result.why {
                    return format!("{}: {why}", result.condition);
                }
                let (by, ends) = (gate_table::difference(result), gate_table::interval(result));
                format!(
                    "{}: the difference is {by}, interval {ends}{}",
                    result.condition,
                    doubt(result)
                )
            })
            .collect()
    };
    let (missed, open) = (with(Met::No), with(Met::Undecided));
    match (missed.is_empty(), open.is_empty()) {
        (false, _) => CaseResult::Failed(format!("not met: {}", missed.join("; "))),
        (true, true) => CaseResult::Passed,
        (true, false) => {
            let why = format!("undecided, more repeats are needed: {}", open.join("; "));
            if is_strict { CaseResult::Failed(why) } else { CaseResult::Skipped(why) }
        }
    }
}

/// The outcome of an answer without a gate. A knee has no better direction, so it never fails.
fn answer_without_gate(row: &AnswerRow, margin: f64, told: &str) -> CaseResult {
    // If there is no ratio, the verdict `Lower` means that the contender serves no load at all.
    let is_beyond = row.ratio.is_none_or(|ratio| ratio.value < 1.0 - margin);
    match row.verdict {
        AnswerVerdict::Lower if is_beyond && row.figure != AnswerFigure::Knee => {
            CaseResult::Failed(told.to_owned())
        }
        AnswerVerdict::Higher | AnswerVerdict::Lower | AnswerVerdict::NoDifference => {
            CaseResult::Passed
        }
        AnswerVerdict::Unknown => CaseResult::Skipped(told.to_owned()),
    }
}

fn without_gate(row: &Row, margin: f64, system_out: &str) -> CaseResult {
    let is_worse = (row.difference_pct < 0.0) == row.higher_is_better;
    let is_beyond = is_worse && row.difference_pct.abs() > margin * 100.0;
    match row.verdict {
        RowVerdict::Worse if is_beyond => CaseResult::Failed(system_out.to_owned()),
        RowVerdict::Better | RowVerdict::NoDifference | RowVerdict::Worse => CaseResult::Passed,
        RowVerdict::Differs if !is_beyond => CaseResult::Passed,
        RowVerdict::Differs | RowVerdict::NoInterval | RowVerdict::NotEnoughData { .. } => {
            CaseResult::Skipped(system_out.to_owned())
        }
    }
}

#[cfg(test)]
mod tests;
