//! The errors of this crate: why requests cannot be made. A prompt whose length is not exact is not an
//! error; a [`crate::Note`] reports it.

use std::path::{Path, PathBuf};

use inferometer_model::TokenizerError;
use inferometer_plan::{ServingLimits, template::TemplateError};

use crate::{LeftOut, Reason};

/// Why the first line of a file is not that of a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the text says what the fields are")]
pub enum TraceError {
    /// The line begins like a JSON object, but is none.
    #[error("its first line is not a JSON object: {0}")]
    NoObject(String),
    /// The object has the keys of no format.
    #[error("its first line has the keys {}; {expected}", found.join(", "))]
    Keys { found: Vec<String>, expected: String },
    /// The number of hashes of most rows does not fit the length of their prompts.
    #[error(
        "with {tokens} tokens for each of its `hash_ids`, {fitting} of {rows} rows fit, and a row with \
            {hashes} for {input} tokens does not; {best} tokens fit {fitting_best}"
    )]
    Blocks {
        /// The number of tokens of a hash.
        tokens: u32,
        /// The number of rows that it fits.
        fitting: usize,
        /// The number of rows with hashes.
        rows: usize,
        /// The input tokens of the first row that it does not fit.
        input: u32,
        /// The number of hashes of this row.
        hashes: u32,
        /// The number of tokens that fits the most rows.
        best: u32,
        /// The number of rows that it fits.
        fitting_best: usize,
    },
    /// The line has the columns of no format.
    #[error("its first line is `{found}`; {expected}")]
    Columns { found: String, expected: String },
}

/// Why a workload, a tokenizer or a data set cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the text says what the fields are")]
pub enum WorkloadError {
    /// The name of a tokenizer is neither an existing path nor a hub id.
    #[error(
        "tokenizer: there is no file or folder `{spec}`; give a tokenizer.json, a \
         folder that contains one, or a Hugging Face id such as org/name"
    )]
    NoSuchTokenizer { spec: String },
    /// A tokenizer folder without a `tokenizer.json`. `found`: the names of the first five files and folders in it
    /// and the number of the others, or `nothing`.
    #[error("tokenizer: the folder {} contains no tokenizer.json (it contains {found}); give a \
        folder or a file with the tokenizer.json of the model", path.display())]
    NoTokenizerInFolder { path: PathBuf, found: String },
    /// A tokenizer file, or the folder of a tokenizer, that cannot be read.
    #[error("tokenizer: cannot read {}: {reason}", path.display())]
    UnreadableTokenizer { path: PathBuf, reason: String },
    /// A file that is not a tokenizer.
    #[error(
        "tokenizer: {} is not a Hugging Face tokenizer.json: {reason}", path.display()
    )]
    NotATokenizer { path: PathBuf, reason: String },
    /// A tokenizer that is not in the local cache of the Hugging Face hub and cannot be downloaded. `endpoint`: the
    /// address of the hub, or the reason why the hub was not contacted. `reason`: the error message of the download,
    /// or `not in the cache`.
    #[error(
        "tokenizer: cannot get tokenizer.json of `{id}`: {reason} (cache: {}; hub: {endpoint}); \
         download it on another machine and give its path, set HF_ENDPOINT to a mirror or HF_HOME \
         to a cache that contains it, or leave out --tokenizer",
        cache.display()
    )]
    Hub { id: String, cache: PathBuf, endpoint: String, reason: String },
    /// A tokenizer failed to encode or decode.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// A vocabulary with too few plain words (words that do not change when they are decoded and encoded)
    /// to make prompts.
    #[error(
        "tokenizer {tokenizer}: only {found} of its tokens are words that are unchanged by \
            decoding and encoding, but prompts need {needed}; use another tokenizer"
    )]
    TooFewPlainTokens { tokenizer: String, found: usize, needed: usize },
    /// An input length that leaves no tokens for the prompt itself. `reserve`: the number of tokens that the server
    /// adds, plus those of a shared prefix.
    #[error(
        "input length {input_length}: the tokens that the server adds and the shared prefix are \
            already {reserve} tokens; give a length above {reserve}"
    )]
    NothingLeft { input_length: u32, reserve: u32 },
    /// A data set that cannot be opened or read, is too large, or has the wrong format.
    #[error("data set {}: {reason}", path.display())]
    UnreadableDataSet { path: PathBuf, reason: String },
    /// A picture or a sound, or a folder of them, that cannot be sent.
    #[error("media {}: {reason}", path.display())]
    Media { path: PathBuf, reason: String },
    /// A data set that is not valid JSON, or does not have the expected structure. `reason`: the message of the JSON
    /// parser, or the problem at this place.
    #[error("data set {}: row {row}, line {line}, column {column}: {reason}", path.display())]
    MalformedDataSet { path: PathBuf, row: u64, line: usize, column: usize, reason: String },
    /// A file that is not a trace of a known format, or not of the format that the plan names. `reason`: what the
    /// first line is or contains, and what the accepted formats have instead.
    #[error(
        "data set {}: is not a trace in an accepted format: {reason}; rename its columns or keys, or \
            correct or leave out --trace-format", path.display()
    )]
    NotATrace { path: PathBuf, reason: TraceError },
    /// A data set without a usable row. `rows`: the number of its rows. For a corpus, the number of rows and files
    /// that cannot be used. If the window of a trace contains no row, the number of usable rows of the trace. `why`:
    /// why the rows cannot be used, or a statement that there are no rows.
    #[error("data set {}: {}", path.display(), none_usable(*rows, why))]
    EmptyDataSet { path: PathBuf, rows: u64, why: String },
    /// A trace that would have more requests than allowed after scaling.
    #[error(
        "data set {}: --trace-scale {scale} makes more than {most} requests from {rows} rows; give \
            a smaller --trace-scale, or a shorter --trace-window", path.display()
    )]
    TooMuchOfATrace { path: PathBuf, rows: u64, scale: String, most: u32 },
    /// A file of requests (`--dump-workload`) with too few requests for a pass, or none. `wanted`: the requested
    /// number of requests, cell, load and repeat, in words.
    #[error(
        "data set {}: {wanted} are requested, but it has {found}; leave out lengths, loads and \
            counts, which the file defines", path.display()
    )]
    NotInDump { path: PathBuf, wanted: String, found: usize },
    /// A ShareGPT file in which no first human turn has the requested length. `longest`: the length of the longest
    /// first human turn, in tokens.
    #[error(
        "data set {}: none of its {conversations} conversations has a first human turn of \
         {input_length} to {most} tokens (the longest has {longest}); use another input length \
         or data set", path.display(), most = (u64::from(*input_length) * 3).saturating_sub(1) / 2
    )]
    NoneOfThatLength { path: PathBuf, conversations: usize, input_length: u32, longest: u32 },
    /// A data set in which no conversation is within the limits of the serving run.
    #[error(
        "data set {}: none of its {conversations} conversations has a prompt and an answer of {} \
         tokens or more, a prompt of at most {} and both together at most {} (output_length, if it \
         is set, is used in place of the answer); change min_tokens, max_prompt_tokens, \
         max_total_tokens or output_length",
        path.display(), limits.min_tokens, limits.max_prompt_tokens, limits.max_total_tokens
    )]
    NoneWithinLimits { path: PathBuf, conversations: usize, limits: ServingLimits },
    /// A template of text blocks that cannot be filled in.
    #[error("template {0}")]
    Template(#[from] TemplateError),
    /// A corpus that is shorter than one block.
    #[error(
        "corpus {corpus}: it has {chars} characters, but a block has {block}; use smaller blocks, \
            or a longer text"
    )]
    BlockBeyondCorpus { corpus: String, chars: usize, block: usize },
    /// A data set that a plan names, but that is not in the cache. `path`: the path of its file in the cache, which
    /// does not exist.
    #[error(
        "data set {name}: {} does not exist; download it with `inferometer fetch {name}`, or give \
            the path of the file", path.display()
    )]
    NotFetched { name: &'static str, path: PathBuf },
    /// A data set that is not in the cache and must not be downloaded. `path`: the path of its file in the cache,
    /// which does not exist.
    #[error(
        "data set {name}: {} does not exist, and HF_HUB_OFFLINE forbids downloads; copy the file \
            there from {address}, or unset the variable", path.display()
    )]
    Offline { name: &'static str, path: PathBuf, address: String },
    /// A download that failed.
    #[error(
        "data set {name}: cannot be downloaded from {address}: {reason}; set HTTPS_PROXY if you \
            need a proxy, set HF_ENDPOINT or INFEROMETER_MIRROR to a mirror, or copy the file to \
            {}",
        destination.display()
    )]
    Download { name: &'static str, address: String, reason: String, destination: PathBuf },
    /// A file of a data set whose checksum is not the expected one. It is in the cache, or was just
    /// downloaded and is not stored.
    #[error(
        "data set {name}: the file for {} has the checksum {found} instead of {expected}: it is \
            another version, or damaged; remove this path and the .sha256 file beside it, if they \
            exist, and download again, or give the path of a file with --dataset to use it \
            without this check",
        path.display()
    )]
    Checksum { name: &'static str, path: PathBuf, expected: String, found: String },
    /// Rows that name models, although a mix of adapters names one for each request.
    #[error(
        "adapters (--adapters): rows of the data set name their own models; leave out --adapters, or the column `model`"
    )]
    TwoModels,
    /// A trace whose rows are calls of jobs.
    #[error(
        "data set {}: its calls belong to sessions and wait for each other; play it with --workload agents (with a \
            --trace-format, only its rows with times are sent, as unrelated requests)",
        .0.display()
    )]
    OfJobs(PathBuf),
    /// A trace of agents that cannot be played.
    #[error("trace of agents: {0}")]
    Agents(String),
    /// A file that cannot be written.
    #[error("{}: cannot be written: {reason}", path.display())]
    Unwritable { path: PathBuf, reason: String },
}

impl WorkloadError {
    /// The error for a data set that cannot be opened or read.
    pub(crate) fn unreadable(path: &Path, reason: impl ToString) -> Self {
        Self::UnreadableDataSet { path: path.to_owned(), reason: reason.to_string() }
    }

    /// The error for a data set of which no row can be used. `none` says that it has no rows, if none is left out.
    pub(crate) fn empty<R: Reason>(
        path: &Path,
        rows: u64,
        none: &str,
        left_out: &LeftOut<R>,
    ) -> Self {
        let why = if left_out.total() == 0 { none.to_owned() } else { left_out.to_string() };
        Self::EmptyDataSet { path: path.to_owned(), rows, why }
    }
}

fn none_usable(rows: u64, why: &str) -> String {
    match rows {
        0 => why.to_owned(),
        _ => format!("none of its {rows} rows can be used; {why}"),
    }
}
