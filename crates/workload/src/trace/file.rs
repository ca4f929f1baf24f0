//! The rows of a trace's file, in the file's order. No row is dropped in silence: what cannot be
//! used is counted by its reason, with the number of the first such row.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use inferometer_plan::TraceFormat;
use inferometer_plan::spec::MAX_LENGTH;

use super::{csv, json};
use crate::error::WorkloadError;

/// Tokens that one hash of a Mooncake trace stands for.
pub const BLOCK_TOKENS: u32 = 512;

/// One request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// When it came, in nanoseconds from any origin.
    pub at_ns: i64,
    /// Prompt tokens.
    pub input: u32,
    /// Output tokens.
    pub output: u32,
    /// Where its blocks are among [`Rows::blocks`], and how many it has.
    blocks: (u32, u32),
}

/// What a file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// The rows that can be used, in the file's order.
    pub rows: Vec<Row>,
    /// Hashes of blocks of [`BLOCK_TOKENS`] tokens, of all rows one after another.
    blocks: Vec<u64>,
    /// The rows that cannot.
    pub left_out: LeftOut,
}

/// Rows that are left out: by reason how many, and the number of the first, from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut(BTreeMap<RowReason, (u64, u64)>);

impl LeftOut {
    /// How many.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.values().map(|(count, _)| count).sum()
    }

    fn add(&mut self, row: u64, reason: RowReason) {
        self.0.entry(reason).or_insert((0, row)).0 += 1;
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (reason, (count, first))) in self.0.iter().enumerate() {
            let apart = if index > 0 { "; " } else { "" };
            let first =
                if *count > 1 { format!("first in row {first}") } else { format!("row {first}") };
            write!(f, "{apart}{count} x {reason} ({first})")?;
        }
        Ok(())
    }
}

/// Why a row cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum RowReason {
    /// A line that is no JSON object.
    #[error("no JSON object")]
    NotAnObject,
    /// A row with another number of fields than the first.
    #[error("another number of fields than the first row")]
    Fields,
    /// A field that is missing.
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
    /// An answer without tokens, as requests have that failed.
    #[error("an answer of no tokens")]
    NoOutput,
    /// Hashes that are not whole numbers, or not one for each block.
    #[error("`hash_ids` are not one number for each {BLOCK_TOKENS} tokens")]
    Blocks,
    /// More tokens than are believed.
    #[error("a prompt or an answer of more than {MAX_LENGTH} tokens")]
    Unbelievable,
    /// More tokens than a request may have.
    #[error("more tokens together than --trace-max-tokens")]
    TooLong,
}

/// A row as it is written.
pub(super) struct Written<'a> {
    pub at_ns: i64,
    pub input: u32,
    pub output: u32,
    pub blocks: &'a [u64],
}

impl Rows {
    /// Reads a file; `auto` finds the format by its first line. Rows of more than `max_tokens`
    /// tokens together are left out.
    ///
    /// # Errors
    /// When it cannot be read, is of no known format, or none of its rows can be used.
    pub fn load(
        path: &Path,
        format: Option<TraceFormat>,
        max_tokens: Option<u32>,
    ) -> Result<Self, WorkloadError> {
        let file = File::open(path).map_err(|error| unreadable(path, &error))?;
        Self::read(BufReader::with_capacity(1 << 20, file), path, format, max_tokens)
    }

    /// Reads what a file holds; `path` names it in errors.
    ///
    /// # Errors
    /// As [`Rows::load`].
    pub fn read(
        mut reader: impl BufRead,
        path: &Path,
        format: Option<TraceFormat>,
        max_tokens: Option<u32>,
    ) -> Result<Self, WorkloadError> {
        let mut rows = Self::default();
        let mut line = String::new();
        let mut parse: Option<Parser> = None;
        let mut number = 0;
        loop {
            line.clear();
            match reader.read_line(&mut line) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => return Err(unreadable(path, &error)),
            }
            // Spreadsheets write a mark of the byte order in front.
            let text = line.trim_start_matches('\u{feff}').trim();
            if text.is_empty() {
                continue;
            }
            let parser = match &mut parse {
                Some(parser) => parser,
                None => {
                    let (parser, is_header) = Parser::of(text, format).map_err(|reason| {
                        WorkloadError::NotATrace { path: path.to_owned(), reason }
                    })?;
                    let parser = parse.insert(parser);
                    if is_header {
                        continue;
                    }
                    parser
                }
            };
            number += 1;
            if let Err(reason) = parser.row(text, max_tokens, &mut rows) {
                rows.left_out.add(number, reason);
            }
        }
        if rows.rows.is_empty() {
            let why = match number {
                0 => "it has no row".to_owned(),
                _ => rows.left_out.to_string(),
            };
            return Err(WorkloadError::EmptyDataSet { path: path.to_owned(), rows: number, why });
        }
        Ok(rows)
    }

    /// The hashes of a row's blocks, of which the last may be cut; none where the trace has none.
    #[must_use]
    pub fn blocks(&self, row: &Row) -> &[u64] {
        let (first, count) = row.blocks;
        &self.blocks[first as usize..(first + count) as usize]
    }

    /// Whether the trace says what its prompts have in common.
    #[must_use]
    pub fn has_blocks(&self) -> bool {
        !self.blocks.is_empty()
    }

    fn add(&mut self, written: &Written<'_>, max_tokens: Option<u32>) -> Result<(), RowReason> {
        let Written { at_ns, input, output, blocks } = *written;
        if input == 0 {
            return Err(RowReason::NoInput);
        }
        if output == 0 {
            return Err(RowReason::NoOutput);
        }
        if input.max(output) > MAX_LENGTH {
            return Err(RowReason::Unbelievable);
        }
        if max_tokens.is_some_and(|most| u64::from(input) + u64::from(output) > u64::from(most)) {
            return Err(RowReason::TooLong);
        }
        // Whether the last, shorter block has a hash is the writer's choice.
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

/// Reads the rows of one format.
enum Parser {
    Csv(csv::Columns),
    Json(json::Keys),
}

impl Parser {
    /// What reads the rows that follow this first line, and whether it is a header and no row.
    fn of(first: &str, format: Option<TraceFormat>) -> Result<(Self, bool), String> {
        if first.starts_with('{') {
            return json::Keys::of(first, format).map(|keys| (Self::Json(keys), false));
        }
        csv::Columns::of(first, format).map(|(columns, is_header)| (Self::Csv(columns), is_header))
    }

    fn row(
        &mut self,
        text: &str,
        max_tokens: Option<u32>,
        rows: &mut Rows,
    ) -> Result<(), RowReason> {
        match self {
            Self::Csv(columns) => rows.add(&columns.row(text)?, max_tokens),
            Self::Json(keys) => keys.row(text, |written| rows.add(written, max_tokens)),
        }
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> WorkloadError {
    WorkloadError::UnreadableDataSet { path: path.to_owned(), reason: error.to_string() }
}
