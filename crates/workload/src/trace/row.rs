//! The rows of a trace in memory, and why a row cannot be used. Unusable rows are counted by reason, with
//! the number of the first one.

use std::collections::BTreeMap;
use std::fmt;

use inferometer_plan::spec::MAX_LENGTH;

/// Tokens of a block. A Mooncake trace has one hash for each block of a prompt.
pub const BLOCK_TOKENS: u32 = 512;

/// One request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// When it arrived, in nanoseconds from an arbitrary origin.
    pub at_ns: i64,
    /// Input tokens.
    pub input: u32,
    /// Output tokens.
    pub output: u32,
    /// Its hashes in `Rows::blocks`: the index of the first one, and their number.
    blocks: (u32, u32),
}

/// The contents of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// The rows that can be used, in the file's order.
    pub rows: Vec<Row>,
    /// The hashes of the blocks of [`BLOCK_TOKENS`] tokens, row after row.
    blocks: Vec<u64>,
    /// The rows that cannot be used.
    pub left_out: LeftOut,
}

/// Rows that are left out: for each reason their number, and the number of the first such row. Rows are
/// numbered from 1; a header and empty lines are not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut(BTreeMap<RowReason, (u64, u64)>);

impl LeftOut {
    /// The number of rows that are left out.
    pub fn total(&self) -> u64 {
        self.0.values().map(|(count, _)| count).sum()
    }

    pub(super) fn add(&mut self, row: u64, reason: RowReason) {
        self.0.entry(reason).or_insert((0, row)).0 += 1;
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (reason, (count, first))) in self.0.iter().enumerate() {
            let separator = if index > 0 { "; " } else { "" };
            let first =
                if *count > 1 { format!("first in row {first}") } else { format!("row {first}") };
            write!(f, "{separator}{count} x {reason} ({first})")?;
        }
        Ok(())
    }
}

/// Why a row cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum RowReason {
    /// A line that is not a JSON object.
    #[error("no JSON object")]
    NotAnObject,
    /// A row with another number of fields than the first line.
    #[error("a different number of fields than the first row")]
    Fields,
    /// A missing field.
    #[error("no `{0}`")]
    Missing(&'static str),
    /// A field that is not an instant.
    #[error("`{0}` is not an instant")]
    NotAnInstant(&'static str),
    /// A field that is not a number of tokens.
    #[error("`{0}` is not a number of tokens")]
    NotTokens(&'static str),
    /// A prompt without tokens.
    #[error("a prompt of no tokens")]
    NoInput,
    /// An answer without tokens. Failed requests have none.
    #[error("an answer of no tokens")]
    NoOutput,
    /// Hashes that are not integers, or whose number does not match the blocks of the prompt.
    #[error("`hash_ids` are not one number for each {BLOCK_TOKENS} tokens")]
    Blocks,
    /// A prompt or an answer of more than [`MAX_LENGTH`] tokens, which is not plausible.
    #[error("a prompt or an answer of more than {MAX_LENGTH} tokens")]
    TooManyTokens,
    /// More tokens than `--trace-max-tokens` allows.
    #[error("more tokens together than --trace-max-tokens")]
    TooLong,
}

/// A parsed row that has not been checked.
pub(super) struct ParsedRow {
    pub at_ns: i64,
    pub input: u32,
    pub output: u32,
    pub blocks: Vec<u64>,
}

impl Rows {
    /// The hashes of a row's blocks; empty if the trace has none. The last block may be shorter than the
    /// others.
    pub fn blocks(&self, row: &Row) -> &[u64] {
        let (first, count) = row.blocks;
        &self.blocks[first as usize..(first + count) as usize]
    }

    /// Whether the trace has hashes, which show which prompts share a prefix.
    pub fn has_blocks(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// Checks a row and adds it. Returns the reason if it cannot be used, for example because it has more
    /// than `max_tokens` tokens, input and output together.
    pub(super) fn add(&mut self, row: ParsedRow, max_tokens: Option<u32>) -> Result<(), RowReason> {
        let ParsedRow { at_ns, input, output, blocks } = row;
        if input == 0 {
            return Err(RowReason::NoInput);
        }
        if output == 0 {
            return Err(RowReason::NoOutput);
        }
        if input.max(output) > MAX_LENGTH {
            return Err(RowReason::TooManyTokens);
        }
        if max_tokens.is_some_and(|most| u64::from(input) + u64::from(output) > u64::from(most)) {
            return Err(RowReason::TooLong);
        }
        // A trace may or may not have a hash for the last, shorter block.
        let (whole, all) = (input / BLOCK_TOKENS, input.div_ceil(BLOCK_TOKENS));
        let count = blocks.len() as u32;
        if count != 0 && count != whole && count != all {
            return Err(RowReason::Blocks);
        }
        self.rows.push(Row { at_ns, input, output, blocks: (self.blocks.len() as u32, count) });
        self.blocks.extend(blocks);
        Ok(())
    }
}

/// A line without the white space around it, and without the byte order mark that spreadsheet programs
/// write.
pub(super) fn trimmed(line: &str) -> &str {
    line.trim_start_matches('\u{feff}').trim()
}
