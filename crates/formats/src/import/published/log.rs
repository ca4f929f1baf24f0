//! Imports the log of a text-block client as a run. Each logged block becomes a cell with one closed-loop pass.
//! Totals that the log does not state are computed from its rates and durations.

use inferometer_analysis::blocks::{BlockFigures, LengthFigures};
use inferometer_analysis::table_import::{LoggedBlock, place_of};
use inferometer_analysis::{Cell, ImportedPass, PassFold, PassSummary};
use inferometer_model::load::Level;
use inferometer_model::{Bound, ClosedPlan, OutcomeCounts, PassPlan, TokensFrom, calendar};

use super::{Page, target};
use crate::import::finding;
use crate::import::source::{Import, summary};

pub(crate) const FORMAT: &str = "text-block log";

/// One second in nanoseconds.
const SECOND: u64 = 1_000_000_000;

/// Returns one run for each group of consecutive blocks under the same headings.
pub(super) fn runs(page: &Page<'_>) -> Vec<Import> {
    let mut runs: Vec<Vec<&LoggedBlock>> = Vec::new();
    for block in &page.logged {
        match runs.last_mut().filter(|run| run[0].headings == block.headings) {
            Some(run) => run.push(block),
            None => runs.push(vec![block]),
        }
    }
    runs.iter().map(|blocks| run(page, blocks)).collect()
}

fn run(page: &Page<'_>, blocks: &[&LoggedBlock]) -> Import {
    let first = blocks[0];
    let begun = format!("[{}]", first.times[0]);
    let place = place_of(page.text, |line| line.starts_with(&begun)).unwrap_or_default();
    let (target, engine_line) = target(page, &place);
    let mut imported = page.source.imported(FORMAT);
    let named = [&place.model, &place.card].into_iter().flatten().cloned();
    imported.section = named.chain(first.headings.last().cloned()).collect();
    imported.section.push("log".to_owned());
    imported.measured_at = Some(format!("{}, the log's own clock", first.times[0]));
    imported.passes = blocks.iter().map(|block| stated(block)).collect();
    let mut findings = finding::of_log(blocks);
    findings.extend(engine_line.map(finding::engine_from_prose));
    let cells = blocks.iter().map(|block| cell(block)).collect();
    Import { summary: summary(imported, target, cells, findings), records: Vec::new() }
}

fn stated(block: &LoggedBlock) -> ImportedPass {
    let numbers = block.stated.iter().cloned().collect();
    ImportedPass { numbers, ..ImportedPass::default() }
}

/// The lengths of the cell are the mean token counts in the log, because the log states block sizes in
/// characters.
fn cell(block: &LoggedBlock) -> Cell {
    Cell {
        input_length: block.prompt_tokens.round() as u32,
        output_length: block.output_tokens.round() as u32,
        requests_per_s: Some(block.requests_per_s),
        output_tokens_per_s: Some(block.output_tokens_per_s),
        passes: vec![pass(block)],
        ..Cell::default()
    }
}

fn pass(block: &LoggedBlock) -> PassSummary {
    let figures = figures(block);
    let planned = u32::try_from(figures.planned).unwrap_or(u32::MAX);
    let plan = PassPlan::Closed(ClosedPlan {
        concurrency: Level::Constant(f64::from(block.in_flight)),
        bound: Bound::requests(planned),
    });
    PassSummary {
        planned: figures.planned,
        outcomes: OutcomeCounts { complete: figures.completed, ..OutcomeCounts::default() },
        duration_s: Some(block.duration_s),
        requests_per_s: Some(block.requests_per_s),
        input_tokens: figures.prompt_tokens,
        output_tokens: figures.completion_tokens.unwrap_or(0),
        output_tokens_per_s: Some(block.output_tokens_per_s),
        tokens_from: Some(TokensFrom::Tokenizer),
        blocks: Some(figures),
        ..PassFold::new(&plan).finish()
    }
    .with_stated_figures()
}

/// Returns the totals and times from which the client computed its log, as far as the log shows them.
fn figures(block: &LoggedBlock) -> BlockFigures {
    let total = |rate: &str| {
        let rate = block.stated(rate)?;
        Some((rate * block.duration_s).round() as u64)
    };
    let wall = |at: usize| calendar::parse(&block.times[at]).and_then(|ns| u64::try_from(ns).ok());
    let (began, printed) = (wall(0).unwrap_or(0), wall(1).unwrap_or(0));
    // The stated duration is the difference of two times that were rounded down to whole seconds. The client
    // prints the line of a block some milliseconds after the block's end, and the next second may have begun
    // by then.
    let last_second = began / SECOND + block.duration_s as u64;
    let ended = printed.min((last_second + 1) * SECOND - 1);
    BlockFigures {
        block_chars: block.block_characters,
        wanted_chars: block.asked_characters,
        planned: block.stated("总测试文本块数目").map_or(0, |count| count as u64),
        concurrency: Some(block.in_flight),
        began_unix_ns: began,
        ended_unix_ns: ended,
        completed: u64::from(block.completed),
        prompt_tokens: total("prompt-tokens/second"),
        completion_tokens: block.stated("total completion tokens").map(|count| count as u64),
        prompt_chars: total("prompt-chars/second").unwrap_or(0),
        completion_chars: total("completion-chars/second").unwrap_or(0),
        tokens_per_s_per_request: block
            .stated
            .iter()
            .find(|(name, _)| name.starts_with("tokens-speed-per-request/second"))
            .map(|(_, value)| *value),
        keeping: LengthFigures::default(),
    }
}
