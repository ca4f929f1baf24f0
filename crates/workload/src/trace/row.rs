//! The rows of a trace in memory. Unusable rows are counted by reason. For each reason, the row number of
//! the first such row is stored.

use std::{collections::BTreeSet, io};

use inferometer_plan::spec::MAX_LENGTH;

use crate::{LeftOut, Reason};

/// One request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The arrival time, in nanoseconds from an arbitrary origin.
    pub at_ns: i64,
    /// The number of input tokens.
    pub input: u32,
    /// The number of output tokens.
    pub output: u32,
    /// The hashes of the row in `Rows::blocks`: the index of the first hash, and the number of hashes.
    pub(super) blocks: (u32, u32),
}

/// The contents of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// The usable rows, in the order of the file.
    pub rows: Vec<Row>,
    /// The hashes of all blocks, in the order of the rows.
    pub(super) blocks: Vec<u64>,
    /// The number of tokens of a block; 0 if no row has a hash.
    pub block_tokens: u32,
    /// The rows that cannot be used.
    pub left_out: LeftOut<RowReason>,
    /// The names of the columns or keys that are not used.
    pub unused: BTreeSet<String>,
    /// What was derived from the rows because the file does not state it, in sentences.
    pub derived: Vec<String>,
}

/// Why a row cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum RowReason {
    /// A line that is not a JSON object.
    #[error("not a JSON object")]
    NotAnObject,
    /// A row with a different number of fields than the first line.
    #[error("a different number of fields than the first row")]
    Fields,
    /// A missing field.
    #[error("no `{0}`")]
    Missing(&'static str),
    /// A field that is not an arrival time.
    #[error("`{0}` is not a valid time")]
    NotAnInstant(&'static str),
    /// A field that is not a number of tokens.
    #[error("`{0}` is not a number of tokens")]
    NotTokens(&'static str),
    /// A prompt without tokens.
    #[error("a prompt without tokens")]
    NoInput,
    /// An answer without tokens. Failed requests have none.
    #[error("an answer without tokens")]
    NoOutput,
    /// Hashes that are not integers.
    #[error("`hash_ids` is not a list of whole numbers")]
    Hashes,
    /// A number of hashes that does not match the blocks of the prompt, which have this many tokens.
    #[error("`hash_ids` does not have one number for each {0} tokens")]
    Blocks(u32),
    /// A prompt or an answer of more than [`MAX_LENGTH`] tokens, which is not plausible.
    #[error("a prompt or an answer of more than {MAX_LENGTH} tokens")]
    TooManyTokens,
    /// More tokens than `--trace-max-tokens` allows.
    #[error("more input and output tokens together than --trace-max-tokens allows")]
    TooLong,
}

impl Reason for RowReason {
    const OF_SEVERAL: &'static str = "first in ";
}

/// A parsed row that has not been checked.
pub(super) struct ParsedRow {
    pub at_ns: i64,
    pub input: u32,
    pub output: u32,
    pub blocks: Vec<u64>,
    /// The keys that are not used and that no earlier row has.
    pub unused: Vec<String>,
}

impl Rows {
    /// The hashes of a row's blocks; empty if the row has none. The last block may have fewer tokens than
    /// the others.
    pub fn blocks(&self, row: &Row) -> &[u64] {
        let (first, count) = row.blocks;
        &self.blocks[first as usize..(first + count) as usize]
    }

    /// Whether the trace has hashes. Hashes show which prompts share a prefix.
    pub fn has_blocks(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// Checks a row and adds it. If the row cannot be used, returns the reason, for example that it has
    /// more than `max_tokens` input and output tokens together.
    pub(super) fn add(&mut self, row: ParsedRow, max_tokens: Option<u32>) -> Result<(), RowReason> {
        let ParsedRow { at_ns, input, output, blocks, unused } = row;
        self.unused.extend(unused);
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
        let blocks_at = (self.blocks.len() as u32, blocks.len() as u32);
        self.rows.push(Row { at_ns, input, output, blocks: blocks_at });
        self.blocks.extend(blocks);
        Ok(())
    }
}

/// A line without white space at its ends, and without the byte order mark with which the file may begin.
pub(super) fn trimmed(line: &str) -> &str {
    line.trim_start_matches('\u{feff}').trim()
}

/// The rows of a file in order. Each item is a parsed row, or the reason why the row cannot be used.
pub(super) type ParsedRows<'a> =
    Box<dyn Iterator<Item = io::Result<Result<ParsedRow, RowReason>>> + 'a>;
