//! `comparison.html`: the results of a plan with several servers in one file that needs no network.

use crate::comparison::{self, Comparison};
use crate::document::{Block, Span, Text, Tone, plain};
use crate::{chart::Chart, html, ranking, table};

/// Returns the page as HTML. `reports` contains the path of each run's report, relative to the page.
pub fn page(comparison: &Comparison, charts: &[Chart], reports: &[String]) -> String {
    let servers = comparison::over_rounds(&comparison.runs);
    let title = format!("{} servers, {}", servers.len(), comparison.group);
    let mut blocks = vec![Block::Heading(1, title.clone())];
    if !comparison.answers.is_empty() {
        let lines = comparison.answers.iter().map(|line| plain(line.as_str())).collect();
        blocks.push(Block::Callout(Tone::Good, "Which server is best".to_owned(), lines));
    }
    let told: Vec<Text> = comparison
        .remarks
        .iter()
        .chain(&comparison.failed)
        .map(|line| plain(line.as_str()))
        .collect();
    if !told.is_empty() {
        blocks.push(Block::Callout(Tone::Warning, "Before you read the results".to_owned(), told));
    }
    if !comparison.ranking.is_empty() {
        blocks.push(Block::Heading(2, "Ranking".to_owned()));
        blocks.push(Block::Table(ranking::table(&comparison.ranking)));
    }
    blocks.push(Block::Heading(2, "Plots".to_owned()));
    blocks.extend(charts.iter().map(Block::Chart));
    for (heading, sentence, table) in comparison::tables(comparison) {
        blocks.push(Block::Heading(2, heading));
        blocks.push(Block::Paragraph(plain(sentence)));
        blocks.push(Block::Table(table));
    }
    blocks.push(Block::Heading(2, "Servers".to_owned()));
    for server in &servers {
        blocks.push(Block::Heading(3, crate::label::title(server)));
        blocks.push(Block::Table(table::records(server)));
    }
    blocks.push(Block::Heading(2, "Runs".to_owned()));
    let link = |address: &String| vec![Span::File(address.clone())];
    blocks.push(Block::List(reports.iter().map(link).collect()));
    html::page(&title, &blocks)
}
