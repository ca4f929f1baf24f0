//! Formats the answer of an A/B comparison as text and as JSON. An A/B comparison measures two servers in
//! alternating blocks of requests. The analysis makes the decision.

use inferometer_analysis::ab::{AbAnswer, AbFigureAnswer, Side};
use inferometer_analysis::{Summary, compare::GateResult};
use inferometer_model::{Finding, code};
use serde::{Deserialize, Serialize};

use crate::{MISSING, Table, count, label, left, right, significant};

/// The name and version of the JSON document.
pub const AB_SCHEMA: &str = "inferometer.ab/1";

/// A comparison with the results of both runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AbDocument {
    /// The version of the document: [`AB_SCHEMA`].
    pub schema: String,
    /// The group that both runs have in the store.
    pub group: String,
    /// The answer of the comparison.
    pub ab: AbAnswer,
    /// The conditions of a gate with their results; empty without a gate.
    #[serde(default)]
    pub gate: Vec<GateResult>,
    /// The results of both runs, A first.
    pub runs: Vec<Summary>,
}

/// The document as JSON with a final newline.
pub fn json(document: &AbDocument) -> String {
    serde_json::to_string_pretty(document)
        .expect("invariant: a comparison has string keys and no type that JSON lacks")
        + "\n"
}

/// The figures as text for a terminal with `columns` characters per line; `None` means no limit. The
/// command prints the answer after this text.
pub fn text(document: &AbDocument, columns: Option<usize>) -> String {
    let mut out: Vec<String> = vec![facts(document)];
    out.push(String::new());
    out.push(table(&document.ab).to_text(14, columns, 1));
    out.push(explanation(&document.ab));
    for finding in document.ab.findings.iter().chain(uncalibrated(document)) {
        out.push(format!("{}: {}", finding.code, finding.message));
        out.extend(finding.advice.as_ref().map(|advice| format!("  {advice}")));
    }
    out.join("\n") + "\n"
}

/// The findings of both runs which state that a prediction is uncalibrated. Equal neighbours are merged.
fn uncalibrated(document: &AbDocument) -> Vec<&Finding> {
    let all = document.runs.iter().flat_map(|run| &run.findings);
    let mut found: Vec<&Finding> =
        all.filter(|finding| finding.is(code::PROFILE_UNCALIBRATED)).collect();
    found.dedup();
    found
}

/// The servers, the cell and pass, and the number and size of the blocks, in one line.
pub(crate) fn facts(document: &AbDocument) -> String {
    let answer = &document.ab;
    let names = document.runs.iter().map(|summary| {
        let url = match summary.target.url.as_str() {
            "" => String::new(),
            url => format!(", {url}"),
        };
        format!("{}{url}", label::title(summary))
    });
    let names: Vec<String> = names.collect();
    let one = if answer.one_server { " (one server, different prompts on each side)" } else { "" };
    let blocks = match (answer.block_requests, answer.block_uncounted) {
        (1, _) => "single requests".to_owned(),
        (requests, 0) => format!("blocks of {} requests", count(requests)),
        (requests, first) => format!(
            "blocks of {} requests, of which the first {first} are not counted",
            count(requests)
        ),
    };
    let (names, place, pairs) = (names.join("; "), &answer.place, answer.pairs);
    format!("{names}{one}; {place}: {pairs} pairs of {blocks}")
}

/// A paragraph that names the deciding figure and explains the intervals.
pub(crate) fn explanation(answer: &AbAnswer) -> String {
    let decides = answer.deciding().map_or("", |figure| figure.figure.as_str());
    if answer.without_noise {
        return format!(
            "Only {decides} decides when to end. Each ratio compares two predictions of the engine model \
                without noise, so there is no sampling interval. The error of a prediction is the one \
                that `inferometer predict` states for the same settings; --noise adds the variation of \
                a machine."
        );
    }
    let others = answer.figures.len().saturating_sub(1);
    let of_others = match others {
        0 => String::new(),
        1 => " The other metric does not decide; its interval is a 95 % interval too.".to_owned(),
        _ => format!(
            " The other {others} do not decide. Their intervals are wider: with 95 % probability, \
                all of them contain the true values."
        ),
    };
    format!(
        "Only {decides} decides when to end. Its interval is valid after every pair (a confidence \
            sequence), so checking it after each pair causes no bias.{of_others}"
    )
}

/// The figures as a table.
pub(crate) fn table(answer: &AbAnswer) -> Table {
    let [a, b] = answer.sides.each_ref().map(|side| side.name.as_str());
    let number = |value: Option<f64>| value.map_or_else(|| MISSING.to_owned(), significant);
    let row = |name: &str, [of_a, of_b]: [String; 2], ratio: [String; 3], pairs: u32, role| {
        let [ratio, interval, level] = ratio;
        [
            left("Figure", name),
            right(a, of_a),
            right(b, of_b),
            right("Ratio", ratio),
            right("Interval", interval),
            right("Level (%)", level),
            right("Pairs", pairs.to_string()),
            left("Role", role),
        ]
    };
    let rows = answer.figures.iter().map(|figure| {
        let [interval, level] = match answer.without_noise {
            true => [MISSING, MISSING].map(str::to_owned),
            false => [interval(figure), significant(100.0 * figure.level)],
        };
        let role = if figure.decides { "decides" } else { "shown only" };
        let sides = [figure.a, figure.b].map(number);
        row(&figure.figure, sides, [ratio(figure.ratio), interval, level], figure.pairs, role)
    });
    let completed = [Side::A, Side::B].map(|side| completed(answer, side));
    let none = [MISSING; 3].map(str::to_owned);
    let last = row("requests completed", completed, none, answer.pairs, "shown only");
    Table::of(rows.chain([last]))
}

/// The numbers of completed and planned requests of a side: `399 of 400`.
fn completed(answer: &AbAnswer, side: Side) -> String {
    let [complete, planned] = answer.completed(side);
    format!("{} of {}", count(complete), count(planned))
}

fn ratio(value: Option<f64>) -> String {
    value.map_or_else(|| MISSING.to_owned(), |value| format!("{value:.4}"))
}

fn interval(figure: &AbFigureAnswer) -> String {
    match figure.told_ci() {
        Some([low, high]) => format!("{low:.4} to {high:.4}"),
        None => MISSING.to_owned(),
    }
}
