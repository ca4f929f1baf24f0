//! Writes an A/B comparison (two servers, measured in alternating blocks) as Markdown and as an HTML page.
//! Both state the answer directly below the title.

use inferometer_analysis::Summary;
use inferometer_analysis::ab::{AbDecision, AbSide};

use crate::ab::{AbDocument, explanation, facts, table};
use crate::document::{Block, Tone, plain};
use crate::{
    chart::Chart, content::finding, escape, gate_table::gate_table, html, judgement::Judgement,
    label, plot::Form,
};

/// The report as Markdown. It refers to charts as files of this form in the same folder.
pub fn markdown(document: &AbDocument, charts: &[Chart], form: Form) -> String {
    crate::markdown::page(&blocks(document, charts), form)
}

/// The report as Markdown without charts, for the job summary of a CI system. If `judged` is given, the
/// report begins with the result of the gate.
pub fn summary(document: &AbDocument, judged: Option<&Judgement>) -> String {
    let heading = judged.map_or_else(String::new, |Judgement { verdict, sentence }| {
        format!("## {}\n\n{}\n\n", verdict.word(), escape::markdown(sentence))
    });
    heading + &markdown(document, &[], Form::None)
}

/// The report as one HTML page that needs no network.
pub fn page(document: &AbDocument, charts: &[Chart]) -> String {
    html::page(&title(document), &blocks(document, charts))
}

fn title(document: &AbDocument) -> String {
    let [a, b] = &document.ab.sides;
    format!("{} against {}, {}", b.name, a.name, document.group)
}

fn blocks<'a>(document: &AbDocument, charts: &'a [Chart]) -> Vec<Block<'a>> {
    let answer = &document.ab;
    let tone = match answer.decision {
        AbDecision::Undecided => Tone::Warning,
        _ => Tone::Good,
    };
    let mut blocks = vec![
        Block::Heading(1, title(document)),
        Block::Callout(tone, answer.sentence.clone(), vec![plain(facts(document))]),
    ];
    blocks.extend(answer.findings.iter().map(|one| finding(&[one])));
    blocks.extend([
        Block::Heading(2, "Figures".to_owned()),
        Block::Table(table(answer)),
        Block::Paragraph(plain(explanation(answer))),
    ]);
    if !document.gate.is_empty() {
        blocks.push(Block::Heading(2, "Gate".to_owned()));
        blocks.push(Block::Table(gate_table(&document.gate)));
    }
    if !charts.is_empty() {
        blocks.push(Block::Heading(2, "Blocks".to_owned()));
    }
    blocks.extend(charts.iter().map(Block::Chart));
    blocks.push(Block::Heading(2, "Runs".to_owned()));
    let run = |(side, summary): (&AbSide, &Summary)| {
        plain(format!(
            "{}: {}, run {}; `inferometer report {}` writes its report",
            side.name,
            label::title(summary),
            side.run_id,
            side.run_id
        ))
    };
    blocks.push(Block::List(answer.sides.iter().zip(&document.runs).map(run).collect()));
    blocks
}
