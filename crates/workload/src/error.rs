//! Errors of this crate: why requests cannot be made. A prompt of an inexact length is not an error but a
//! [`crate::Note`].

use std::path::{Path, PathBuf};

use inferometer_model::tokenizer::TokenizerError;
use inferometer_plan::ServingLimits;
use inferometer_plan::template::TemplateError;

/// Why prompts cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    /// A tokenizer that is neither an existing path nor a hub id.
    #[error(
        "tokenizer: there is no file or folder `{spec}`; give a tokenizer.json, a \
         folder that contains one, or a Hugging Face id such as org/name"
    )]
    NoSuchTokenizer {
        /// The text that the user gave.
        spec: String,
    },
    /// A tokenizer folder without a `tokenizer.json`.
    #[error("tokenizer: the folder {} contains no tokenizer.json; it contains \
        {found}", path.display())]
    NoTokenizerInFolder {
        /// The folder.
        path: PathBuf,
        /// The first names of its files and folders.
        found: String,
    },
    /// A tokenizer file that cannot be read.
    #[error("tokenizer: cannot read {}: {reason}", path.display())]
    UnreadableTokenizer {
        /// The file.
        path: PathBuf,
        /// Why it cannot be read.
        reason: String,
    },
    /// A file that is not a tokenizer.
    #[error(
        "tokenizer: {} is not a Hugging Face tokenizer.json: {reason}", path.display()
    )]
    NotATokenizer {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A tokenizer that is not in the hub's cache and cannot be downloaded.
    #[error(
        "tokenizer: cannot get tokenizer.json of `{id}`: {reason} (cache: {}; hub: {endpoint}); \
         download it on another machine and give its path, set HF_ENDPOINT to a mirror or HF_HOME \
         to a cache that contains it, or leave out --tokenizer",
        cache.display()
    )]
    Hub {
        /// The hub id.
        id: String,
        /// The hub's cache folder.
        cache: PathBuf,
        /// The hub's address, or why the hub was not contacted.
        endpoint: String,
        /// What failed.
        reason: String,
    },
    /// A tokenizer that failed to encode or decode.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// A vocabulary with too few plain words to make prompts.
    #[error(
        "tokenizer {tokenizer}: only {found} of its tokens are words that are unchanged by \
            decoding and encoding, but prompts need {needed}; use another tokenizer"
    )]
    TooFewPlainTokens {
        /// The tokenizer.
        tokenizer: String,
        /// The number of plain words that it has.
        found: usize,
        /// The number that is needed.
        needed: usize,
    },
    /// An input length that leaves no tokens for the prompt itself.
    #[error(
        "input length {input_length}: tokens added by the server and the shared prefix already \
            have {reserve} tokens; give a length above {reserve}"
    )]
    NothingLeft {
        /// The requested length, in tokens.
        input_length: u32,
        /// The number of tokens that the server adds, plus those of a shared prefix.
        reserve: u32,
    },
    /// A data set that cannot be opened or read, or is too large, or has the wrong format.
    #[error("data set {}: {reason}", path.display())]
    UnreadableDataSet {
        /// The file.
        path: PathBuf,
        /// Why it cannot be used.
        reason: String,
    },
    /// A data set that is not valid JSON, or has another structure than expected.
    #[error("data set {}: row {row}, line {line}, column {column}: {reason}", path.display())]
    MalformedDataSet {
        /// The file.
        path: PathBuf,
        /// The row that was being read, from 1.
        row: u64,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong there.
        reason: String,
    },
    /// A file that is not a trace of a known format.
    #[error(
        "data set {}: is not a trace of a known format: {reason}; name the format with \
            --trace-format if its first line does not show it", path.display()
    )]
    NotATrace {
        /// The file.
        path: PathBuf,
        /// What was found, and what the first line of a trace has.
        reason: String,
    },
    /// A data set without a usable row.
    #[error("data set {}: none of its {rows} rows can be used; {why}", path.display())]
    EmptyDataSet {
        /// The file.
        path: PathBuf,
        /// The number of its rows.
        rows: u64,
        /// Why they cannot be used.
        why: String,
    },
    /// A trace that is scaled to more requests than are allowed.
    #[error(
        "data set {}: --trace-scale {scale} makes more than {most} requests from {rows} rows; give \
            a smaller --trace-scale, or a shorter --trace-window", path.display()
    )]
    TooMuchOfATrace {
        /// The file.
        path: PathBuf,
        /// The number of its rows within the window.
        rows: u64,
        /// The requested factor.
        scale: String,
        /// The most requests that are allowed.
        most: u32,
    },
    /// A pass of which a file of requests has too few requests, or none.
    #[error(
        "data set {}: {wanted} are requested, but it has {found}; leave out lengths, loads and \
            counts, which the file defines", path.display()
    )]
    NotInDump {
        /// The file.
        path: PathBuf,
        /// The requested number of requests, cell, load and repeat, in words.
        wanted: String,
        /// How many requests it has for the pass.
        found: usize,
    },
    /// A ShareGPT file without a first turn of the requested length.
    #[error(
        "data set {}: none of its {conversations} conversations has a first turn of \
         {input_length} to {most} tokens (the longest has {longest}); use another input length \
         or data set", path.display(), most = (u64::from(*input_length) * 3).saturating_sub(1) / 2
    )]
    NoneOfThatLength {
        /// The file.
        path: PathBuf,
        /// The number of usable conversations of the file.
        conversations: usize,
        /// The requested length, in tokens.
        input_length: u32,
        /// The longest first turn, in tokens.
        longest: u32,
    },
    /// A data set without a conversation within the limits of the serving run.
    #[error(
        "data set {}: none of its {conversations} conversations has a prompt and an answer of {} \
         tokens or more, a prompt of at most {} and both together at most {}; change min_tokens, \
         max_prompt_tokens or max_total_tokens",
        path.display(), limits.min_tokens, limits.max_prompt_tokens, limits.max_total_tokens
    )]
    NoneWithinLimits {
        /// The file.
        path: PathBuf,
        /// The number of usable conversations of the file.
        conversations: usize,
        /// The limits.
        limits: ServingLimits,
    },
    /// A template that cannot be filled in.
    #[error("template {0}")]
    Template(#[from] TemplateError),
    /// A corpus that is shorter than a block.
    #[error(
        "corpus {corpus}: it has {chars} characters, but a block has {block}; use smaller blocks, \
            or a longer text"
    )]
    BlockBeyondCorpus {
        /// The corpus.
        corpus: String,
        /// The number of its characters.
        chars: usize,
        /// The number of characters of a block.
        block: usize,
    },
    /// A data set that a plan names, and that is not in the cache.
    #[error(
        "data set {name}: {} does not exist; download it with `inferometer fetch {name}`, or give \
            the path of the file", path.display()
    )]
    NotFetched {
        /// The data set.
        name: &'static str,
        /// Where it would be.
        path: PathBuf,
    },
    /// A data set that is not in the cache and must not be downloaded.
    #[error(
        "data set {name}: {} does not exist, and HF_HUB_OFFLINE forbids downloads; copy the file \
            there from {address}, or unset the variable", path.display()
    )]
    Offline {
        /// The data set.
        name: &'static str,
        /// Where it would be.
        path: PathBuf,
        /// Its address.
        address: String,
    },
    /// A download that failed.
    #[error(
        "data set {name}: cannot be downloaded from {address}: {reason}; set HTTPS_PROXY if you \
            need a proxy, set HF_ENDPOINT or INFEROMETER_MIRROR to a mirror, or copy the file to \
            {}",
        destination.display()
    )]
    Download {
        /// The data set.
        name: &'static str,
        /// The address.
        address: String,
        /// What failed.
        reason: String,
        /// Where the file would be stored.
        destination: PathBuf,
    },
    /// A file of a data set whose checksum is not the expected one.
    #[error(
        "data set {name}: {} has the checksum {found} instead of {expected}: it is another \
            version, or damaged; remove it to download it again, or give the file itself with \
            --dataset",
        path.display()
    )]
    Checksum {
        /// The data set.
        name: &'static str,
        /// The file.
        path: PathBuf,
        /// The expected SHA-256.
        expected: String,
        /// The SHA-256 of the file.
        found: String,
    },
    /// A file that cannot be written.
    #[error("{}: cannot be written: {reason}", path.display())]
    Unwritable {
        /// The file or folder.
        path: PathBuf,
        /// The message of the operating system.
        reason: String,
    },
}

impl WorkloadError {
    /// A data set that cannot be opened or read.
    pub(crate) fn unreadable(path: &Path, reason: impl ToString) -> Self {
        Self::UnreadableDataSet { path: path.to_owned(), reason: reason.to_string() }
    }
}
