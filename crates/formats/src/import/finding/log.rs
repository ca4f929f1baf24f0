//! Finds contradictions within a text-block log, lost requests, and lengths in characters instead of tokens
//! in a log or in a table of the same page.

use inferometer_analysis::table_import::{LoggedBlock, PublishedTable};
use inferometer_model::{CellPlan, Finding, Severity, code};

use super::listed;

/// The maximum relative rounding error of a count that was divided by the duration and multiplied by it again.
const ROUNDING: f64 = 1e-6;

/// Returns the findings of a log.
pub(crate) fn of_log(blocks: &[&LoggedBlock]) -> Vec<Finding> {
    let characters = blocks.iter().find_map(|block| {
        let per_request = |rate: &str| Some(block.stated(rate)? / block.requests_per_s);
        let chars = per_request("prompt-chars/second")?;
        Some((block, chars, per_request("prompt-tokens/second")?))
    });
    let characters = characters.map(|(block, chars, tokens)| {
        Finding::of(
            code::IMPORTED_CHARACTERS_NOT_TOKENS,
            format!(
                "the log states block sizes and generate sizes in characters, not in tokens: with \
                 blocks of {} characters, a prompt had {chars:.0} characters and {tokens:.0} \
                 tokens. Here, the lengths of a row are its mean numbers of prompt tokens and \
                 output tokens",
                block.block_characters
            ),
        )
        .severity(Severity::Note)
    });
    characters.into_iter().chain(lost(blocks)).chain(unequal(blocks)).collect()
}

fn cell(block: &LoggedBlock) -> CellPlan {
    CellPlan { input_length: block.block_characters, output_length: block.asked_characters }
}

/// Returns the finding that in some blocks fewer requests completed than were planned.
fn lost(blocks: &[&LoggedBlock]) -> Option<Finding> {
    let planned = |block: &LoggedBlock| block.stated("总测试文本块数目").unwrap_or(0.0);
    let mut fewer: Vec<&&LoggedBlock> =
        blocks.iter().filter(|block| f64::from(block.completed) < planned(block)).collect();
    fewer.sort_by_key(|block| block.completed);
    let evidence: Vec<(CellPlan, String)> = fewer
        .iter()
        .map(|block| (cell(block), format!("{} of {}", block.completed, planned(block))))
        .collect();
    (!evidence.is_empty()).then(|| {
        Finding::of(
            code::IMPORTED_REQUESTS_LOST,
            format!(
                "in {} of {} blocks, fewer requests completed than planned, and the log does not \
                    state the reason. The figures cover only completed requests, which are not a \
                    representative sample if the longest requests failed (block characters x \
                    requested characters: {})",
                evidence.len(),
                blocks.len(),
                listed(&evidence)
            ),
        )
    })
}

/// Returns the finding that figures of the log contradict each other.
fn unequal(blocks: &[&LoggedBlock]) -> Option<Finding> {
    let mut evidence = Vec::new();
    for block in blocks {
        let completed = f64::from(block.completed);
        let total = block.stated("total completion tokens").unwrap_or(f64::NAN);
        for (name, found, expected) in [
            ("QPS x duration", block.requests_per_s * block.duration_s, completed),
            (
                "completion-tokens/second x duration",
                block.output_tokens_per_s * block.duration_s,
                total,
            ),
            ("completion tokens per request x n-request", block.output_tokens * completed, total),
        ] {
            if (found - expected).abs() > ROUNDING * expected.max(1.0) {
                evidence
                    .push((cell(block), format!("{name} is {found}, but {expected} is stated")));
            }
        }
    }
    (!evidence.is_empty()).then(|| {
        Finding::of(
            code::IMPORTED_COLUMNS_INCONSISTENT,
            format!("figures of the log contradict each other ({})", listed(&evidence)),
        )
    })
}

/// Returns the finding that a table's lengths are characters, if a log of the same page shows this.
pub(crate) fn of_characters(logged: &[LoggedBlock], table: &PublishedTable) -> Option<Finding> {
    let inputs: Vec<u32> = table.rows.iter().map(|row| row.cell.input_length).collect();
    let block = logged.iter().find(|block| {
        inputs.contains(&block.block_characters) && block.stated("prompt-chars/second").is_some()
    })?;
    let tokens = |block: &LoggedBlock| block.prompt_tokens.round();
    let mut known: Vec<(u32, f64)> = Vec::new();
    for block in logged {
        if known.iter().all(|(characters, _)| *characters != block.block_characters) {
            known.push((block.block_characters, tokens(block)));
        }
    }
    known.sort_by_key(|(characters, _)| *characters);
    let lengths: Vec<String> = known
        .iter()
        .map(|(chars, tokens)| format!("{chars} characters are {tokens} tokens"))
        .collect();
    let own = table.headings == block.headings;
    let whose = if own { "the log below the table" } else { "a log elsewhere on the page" };
    Some(
        Finding::of(
            code::IMPORTED_CHARACTERS_NOT_TOKENS,
            format!(
                "the input lengths are numbers of characters in a text block, not of tokens: \
                    {whose} states both numbers. Including the prompt's text around the block, \
                    {}. An output length is the mean number of generated tokens, not a requested \
                    length",
                lengths.join(", ")
            ),
        )
        .advise("compare this table only with tables of the same text blocks"),
    )
}
