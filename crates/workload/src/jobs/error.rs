//! Why a trace of jobs cannot be read or written. A row that cannot be used is not an error: it is counted.

use std::path::PathBuf;

use crate::{WorkloadError, trace::RowReason};

/// Why a trace cannot be used.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the text says what the fields are")]
pub enum JobsError {
    /// A file that cannot be read.
    #[error(transparent)]
    File(#[from] WorkloadError),
    /// No format fits: the subject, what was found, and the names of all formats.
    #[error("{0}: {1}; set --format to one of: {2}")]
    UnknownFormat(String, String, String),
    /// Files of different formats: the second one, its format, and that of the files before it.
    #[error("{0}: is {1}, but the files before it are {2}; read them one at a time")]
    TwoFormats(String, &'static str, &'static str),
    /// No row can be used: the first file, and the rows by reason.
    #[error(
        "{0}: it has no call that can be read; rows left out: {1}; name another file, or its --format"
    )]
    Empty(String, String),
    /// Rows that contradict themselves or each other.
    #[error("{}, line {line}: {problem}", path.display())]
    Row { path: PathBuf, line: u64, problem: Problem },
    /// A description of a synthetic trace that is wrong.
    #[error("synthetic trace: {0}")]
    Synthetic(String),
    /// A format that cannot hold the trace: its name, and what it cannot hold.
    #[error("--to {0}: {1}")]
    NotWritable(&'static str, String),
}

/// What contradicts itself in a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The file ends inside a value.
    #[error("the file ends in the middle of a value; remove this line, or get the whole file")]
    Cut,
    /// A document that is not JSON.
    #[error("is not JSON ({0}); repair this line")]
    NotJson(String),
    /// Two calls with one id.
    #[error("a second call has the id `{0}`; give each call its own id")]
    TwoCalls(String),
    /// A call and its parent, which does not exist.
    #[error("`{0}` waits for `{1}`, but no usable row has this id; add that row, or remove the id")]
    NoParent(String, String),
    /// A call that waits for itself.
    #[error("`{0}` waits for itself, through its parents; remove one of them")]
    Cycle(String),
    /// A call, the length of its last block, and the length of this block in another call.
    #[error(
        "the last block of `{0}` has {1} tokens, and {2} in another row; give them different ids"
    )]
    TwoSizes(String, u32, u32),
    /// An id of a block that has two meanings.
    #[error(
        "the block id {0} follows other ids than in an earlier row, but an id of this format stands for the whole \
            prompt up to its block; give each prefix its own id"
    )]
    TwoMeanings(u64),
    /// Most prompts have another number of ids: the ids and the length of the first one, and the size of a block.
    #[error(
        "{0} block ids do not fit {1} tokens in blocks of {2}; correct `hash_ids` or the length"
    )]
    Blocks(u32, u32, u32),
    /// Blocks of two sizes: that of this row, and that of earlier ones.
    #[error(
        "its blocks have {0} tokens, those of earlier rows {1}; read these rows one trace each"
    )]
    BlockSizes(u32, u32),
    /// Sessions whose rows are neither whole prompts nor what is new.
    #[error(
        "cannot tell whether rows of session `{0}` are whole prompts or only what is new; set --format to \
            mooncake-cumulative (whole prompts) or mooncake-delta (only what is new)"
    )]
    Sessions(String),
    /// A file without calls.
    #[error(
        "the file has distributions and no calls; set lengths and a rate with `inferometer run`"
    )]
    Distributions,
    /// A sub-agent whose calls begin before it.
    #[error(
        "a call of sub-agent `{0}` starts before it; count its times from the start of the session"
    )]
    InnerTime(String),
}

/// Why a row is not read: it is left out and counted, or the trace is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The row cannot be used, and is counted.
    #[error(transparent)]
    Row(#[from] RowReason),
    /// The trace cannot be used.
    #[error(transparent)]
    Trace(#[from] Problem),
}
