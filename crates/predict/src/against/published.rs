//! Reads the measured rows of a published page: its tables and its logs. It compares nothing.

use inferometer_analysis::prediction::Columns;
use inferometer_analysis::table_import::{
    LoggedBlock, PublishedRow, PublishedTable, is_under, logged_blocks, place_of, published_tables,
};
use inferometer_engine::text_blocks::ClosedLoopLoad;
use inferometer_model::CellPlan;

use super::{MeasuredRows, measured_on::of_place};
use crate::Unpredictable;

/// If a page contains this text, its tables state prompt lengths in characters, not in tokens.
const LOG_OF_CHARACTERS: &str = "prompt-chars/second";

/// The rows of a page. `section` selects a log or a table. Without `section`, the rows are those of the page's log, of
/// its only table, or of the table under the name of the engine.
///
/// # Errors
/// If not exactly one table or log matches, or if the lengths are in characters.
pub(super) fn of_text(
    path: &str,
    text: &str,
    section: Option<&str>,
    engine: &str,
) -> Result<MeasuredRows, Unpredictable> {
    let mut logged = logged_blocks(text);
    if let Some(section) = section {
        logged.retain(|block| is_under(&block.headings, section));
    }
    if !logged.is_empty() {
        return of_log(path, text, &logged);
    }
    // If a page's logs count characters, the lengths in its tables are also in characters.
    if text.contains(LOG_OF_CHARACTERS) {
        let (log, path) = (LOG_OF_CHARACTERS, path.to_owned());
        return Err(Unpredictable::PageOfCharacters { log, path });
    }
    let tables = published_tables(text)?;
    let of_engine = |table: &&PublishedTable| table.is_under(engine);
    let fitting: Vec<&PublishedTable> = match (section, tables.as_slice()) {
        (Some(section), tables) => tables.iter().filter(|table| table.is_under(section)).collect(),
        (None, [only]) => vec![only],
        (None, tables) => tables.iter().filter(of_engine).collect(),
    };
    match fitting.as_slice() {
        [table] => Ok(MeasuredRows {
            origin: format!("{path}, {}", table.headings.join(" / ")),
            rows: table.rows.clone(),
            model: table.place.model.clone(),
            measured_on: of_place(&table.place),
            ..MeasuredRows::default()
        }),
        found => {
            let sections = tables.iter().map(|table| table.headings.join(" / ")).collect();
            let wanted = section.unwrap_or(engine).to_owned();
            Err(Unpredictable::Tables {
                found: found.len(),
                wanted,
                path: path.to_owned(),
                sections,
            })
        }
    }
}

/// The rows of a log. The lengths are the means that the log states, in tokens.
///
/// # Errors
/// If the blocks are under several headings, because then it is unclear which log the user means.
fn of_log(path: &str, text: &str, logged: &[LoggedBlock]) -> Result<MeasuredRows, Unpredictable> {
    let mut places: Vec<&[String]> = logged.iter().map(|block| &block.headings[..]).collect();
    places.dedup();
    if places.len() > 1 {
        let sections = places.iter().map(|headings| headings.join(" / ")).collect();
        return Err(Unpredictable::Logs { path: path.to_owned(), sections });
    }
    let tokens = |mean: f64| mean.round() as u32;
    let rows = logged.iter().map(|block| PublishedRow {
        cell: CellPlan {
            input_length: tokens(block.prompt_tokens),
            output_length: tokens(block.output_tokens),
        },
        measured: Columns {
            requests_per_s: Some(block.requests_per_s),
            output_tokens_per_s: Some(block.output_tokens_per_s),
            ..Columns::default()
        },
    });
    let blocks = logged.iter().map(|block| ClosedLoopLoad {
        prompt: tokens(block.prompt_tokens),
        mean_output: block.output_tokens,
        in_flight: block.in_flight,
        completed: block.completed,
    });
    let headings = logged.first().map(|block| block.headings.join(" / ")).unwrap_or_default();
    let begun = logged.first().map(|block| format!("[{}]", block.times[0])).unwrap_or_default();
    let place = place_of(text, |line| line.starts_with(&begun)).unwrap_or_default();
    Ok(MeasuredRows {
        origin: format!("{path}, the log under {headings}"),
        rows: rows.collect(),
        blocks: blocks.collect(),
        measured_on: of_place(&place),
        model: place.model,
        ..MeasuredRows::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "# vLLM\n\n## A100\n\n**input 100**\n\n\
                         输出长度 | completion-tokens/s\n---|---\n166 | 522.0\n169 | 382.0\n";

    #[test]
    fn lengths_counted_in_characters_are_not_read_as_tokens() {
        let page = format!("{TABLE}\n## V100\n\n[INFO] prompt-chars/second: 304.9\n");
        let message = of_text("page.md", &page, Some("A100"), "vllm").err().unwrap().to_string();
        assert!(message.contains("characters") && message.contains("page.md#"), "{message}");
        let tokens = of_text("page.md", TABLE, Some("A100"), "vllm");
        let tokens = tokens.unwrap_or_else(|message| panic!("{message}"));
        assert_eq!(tokens.rows[0].cell, CellPlan { input_length: 100, output_length: 166 });
    }
}
