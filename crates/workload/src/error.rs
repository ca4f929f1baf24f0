//! Errors of this crate: why requests cannot be made. A prompt of an inexact length is no error, but
//! a [`crate::Note`].

use std::path::{Path, PathBuf};

use inferometer_model::tokenizer::TokenizerError;
use inferometer_plan::ServingLimits;
use inferometer_plan::template::TemplateError;

/// Why prompts cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    /// A path that does not exist.
    #[error(
        "tokenizer: there is no file or folder `{spec}`; give a tokenizer.json, a \
         folder that contains one, or a Hugging Face id such as org/name"
    )]
    NoSuchTokenizer {
        /// What was given.
        spec: String,
    },
    /// A folder without a `tokenizer.json`.
    #[error("tokenizer: the folder {} contains no tokenizer.json; it contains \
        {found}", path.display())]
    NoTokenizerInFolder {
        /// The folder.
        path: PathBuf,
        /// The first names in it.
        found: String,
    },
    /// A file that cannot be read.
    #[error("tokenizer: cannot read {}: {reason}", path.display())]
    UnreadableTokenizer {
        /// The file.
        path: PathBuf,
        /// The message of the operating system.
        reason: String,
    },
    /// A file that holds something else.
    #[error(
        "tokenizer: {} is not a Hugging Face tokenizer.json: {reason}", path.display()
    )]
    NotATokenizer {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A tokenizer that the hub, or its cache, did not give.
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
        /// The hub's address, or why it was not asked.
        endpoint: String,
        /// What failed.
        reason: String,
    },
    /// A tokenizer that failed at work.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// A vocabulary of which no prompt can be made.
    #[error(
        "tokenizer {tokenizer}: only {found} of its tokens are words that are unchanged by \
            decoding and encoding, but prompts need {needed}; use another tokenizer"
    )]
    TooFewPlainTokens {
        /// The tokenizer.
        tokenizer: String,
        /// How many there are.
        found: usize,
        /// How many are needed.
        needed: usize,
    },
    /// Nothing is left of the input length for the prompt.
    #[error(
        "input length {input_length}: tokens added by the server and the shared prefix already \
            have {reserve} tokens; give a length above {reserve}"
    )]
    NothingLeft {
        /// The length asked for.
        input_length: u32,
        /// Tokens that the server adds, and those of a shared beginning.
        reserve: u32,
    },
    /// A data set that cannot be opened or read.
    #[error("data set {}: {reason}", path.display())]
    UnreadableDataSet {
        /// The file.
        path: PathBuf,
        /// The message of the operating system.
        reason: String,
    },
    /// A data set that is not JSON, or not an array.
    #[error("data set {}: row {row}, line {line}, column {column}: {reason}", path.display())]
    MalformedDataSet {
        /// The file.
        path: PathBuf,
        /// The row that was being read, from 1.
        row: u64,
        /// The line, from 1.
        line: usize,
        /// The column.
        column: usize,
        /// What is wrong there.
        reason: String,
    },
    /// A file that is no trace of a known format.
    #[error(
        "data set {}: is not a trace of a known format: {reason}; name the format with \
            --trace-format if its first line does not show it", path.display()
    )]
    NotATrace {
        /// The file.
        path: PathBuf,
        /// What was found, and what a trace has.
        reason: String,
    },
    /// A data set of which no row can be used.
    #[error("data set {}: none of its {rows} rows can be used; {why}", path.display())]
    EmptyDataSet {
        /// The file.
        path: PathBuf,
        /// Rows read.
        rows: u64,
        /// The first reasons.
        why: String,
    },
    /// A trace that is scaled to more requests than can be held.
    #[error(
        "data set {}: --trace-scale {scale} makes more than {most} requests from {rows} rows; give \
            a smaller --trace-scale, or a shorter --trace-window", path.display()
    )]
    TooMuchOfATrace {
        /// The file.
        path: PathBuf,
        /// Its rows within the window.
        rows: u64,
        /// The factor asked for.
        scale: String,
        /// The most requests that are made.
        most: u32,
    },
    /// A pass that a file of requests does not have.
    #[error(
        "data set {}: {wanted} are requested, but it has {found}; leave out lengths, loads and \
            counts, which the file defines", path.display()
    )]
    NotInDump {
        /// The file.
        path: PathBuf,
        /// What was asked for.
        wanted: String,
        /// How many it has.
        found: usize,
    },
    /// A data set without a first turn of the length asked for.
    #[error(
        "data set {}: none of its {conversations} conversations has a first turn of \
         {input_length} to {most} tokens (the longest has {longest}); use another input length \
         or data set", path.display(), most = (u64::from(*input_length) * 3).saturating_sub(1) / 2
    )]
    NoneOfThatLength {
        /// The file.
        path: PathBuf,
        /// Conversations looked at.
        conversations: usize,
        /// The length asked for.
        input_length: u32,
        /// The longest first turn, in tokens.
        longest: u32,
    },
    /// No conversation of a data set is within the limits of the serving run.
    #[error(
        "data set {}: none of its {conversations} conversations has a prompt and an answer of {} \
         tokens or more, a prompt of at most {} and both together at most {}; change min_tokens, \
         max_prompt_tokens or max_total_tokens",
        path.display(), limits.min_tokens, limits.max_prompt_tokens, limits.max_total_tokens
    )]
    NoneWithinLimits {
        /// The file.
        path: PathBuf,
        /// Conversations looked at.
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
    /// A data set that a plan names and the cache does not hold.
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
    /// A data set that may not be downloaded.
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
        /// Where it is stored.
        destination: PathBuf,
    },
    /// A data set that is not what it should be.
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
        /// What was expected.
        expected: String,
        /// What was found.
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
