//! All errors of the store. A message names the problem, its place (a file, a run, a request or a tag), and a
//! remedy if there is one.

use std::path::{Path, PathBuf};

/// Why a log cannot store a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the text says what the fields are")]
pub enum Unstorable {
    /// It has too many reads or events.
    #[error("it has more than {0} reads or events")]
    TooManyRows(usize),
    /// Its texts are too long.
    #[error("it has more than {0} bytes of text")]
    TooMuchText(usize),
    /// An event belongs to a read that the record does not have.
    #[error("an event belongs to read {read}, but the record has only {reads} reads")]
    NoSuchRead { read: u32, reads: usize },
    /// The record is not the first of so many requests that never began.
    #[error(
        "a log cannot store it as the first of {count} requests that differ only in their index"
    )]
    NoRange { count: u32 },
}

/// Why a run could not be stored or read.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the text says what the fields are")]
pub enum StoreError {
    /// A file operation failed. `action`: the attempted action: `create`, `read`, ...
    #[error("cannot {action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },
    /// The store already has a log with this name; logs are never overwritten.
    #[error(
        "{} exists already: a run log is never overwritten; move this file away, or start again",
        path.display()
    )]
    LogExists { path: PathBuf },
    /// The file does not begin like a run log.
    #[error(
        "{} is not a run log: it does not begin with the signature of a run log",
        path.display()
    )]
    NotALog { path: PathBuf },
    /// This program cannot read this version of the log. `what`: the kind of version: the version of the format of
    /// the log, or of the meaning of its records. `known`: the version that this program writes. Of the format of the
    /// log, this program also reads earlier versions.
    #[error(
        "{}: {what} has version {found}, but this program reads versions up to {known}: use the \
         program that wrote the log, or a newer one",
        path.display()
    )]
    LogVersion { path: PathBuf, what: &'static str, found: u32, known: u32 },
    /// The log ends before its end mark: its writer still writes, or did not finish. All entries before the cut are
    /// valid. `offset`: the byte position of the end of the last complete frame.
    #[error(
        "{} is truncated: its last complete frame ends at byte {offset}, {left} bytes of an \
            incomplete frame follow, and the end of the run is missing",
        path.display()
    )]
    LogCut { path: PathBuf, offset: u64, left: u64 },
    /// A frame of the log is damaged. All entries before it are valid.
    #[error("{} is damaged in the frame at byte {offset}: {what}", path.display())]
    LogCorrupt { path: PathBuf, offset: u64, what: String },
    /// An earlier write to this log failed. Data after the failed write would be unreadable.
    #[error("{}: an earlier write failed, so nothing more is written to this log", path.display())]
    LogBroken { path: PathBuf },
    /// A log cannot store this record.
    #[error("request {index} of pass {pass} cannot be stored: {what}")]
    InvalidRecord { pass: u32, index: u32, what: Unstorable },
    /// The log's writer was called in an invalid order.
    #[error("{}: {what}", path.display())]
    LogOrder { path: PathBuf, what: String },
    /// There is no database at the path.
    #[error(
        "{} does not exist: name a store with --store, or measure something first",
        path.display()
    )]
    NoStore { path: PathBuf },
    /// The file is not a database of this program.
    #[error(
        "{} is not a store of inferometer: {what}; name another file with --store",
        path.display()
    )]
    NotAStore { path: PathBuf, what: String },
    /// A newer version of this program made the database.
    #[error(
        "{} has schema version {found}, but this program supports up to {known}: use a newer \
            inferometer, or another file with --store",
        path.display()
    )]
    NewerStore { path: PathBuf, found: i64, known: i64 },
    /// An older version of this program made the database, and it was opened read-only.
    #[error(
        "{} has schema version {found}, but this program uses {known}: `inferometer runs` updates \
            it",
        path.display()
    )]
    OlderStore { path: PathBuf, found: usize, known: usize },
    /// The name is not the id of a run, not a part of an id, and not a tag.
    #[error("no run {id:?} in {}: `inferometer runs` lists all runs", path.display())]
    NoSuchRun { path: PathBuf, id: String },
    /// There is no run of the requested kind.
    #[error(
        "{} has no {kind} run: `inferometer runs` lists all runs; `latest` is the latest measured \
            run, `latest-predicted` the latest predicted one, and `latest-imported` the latest \
            imported one",
        path.display()
    )]
    NoneOfItsKind { path: PathBuf, kind: &'static str },
    /// A process writes the run, or may write it.
    #[error(
        "run {run} is still being written: end the process that writes it, then remove the run"
    )]
    BeingWritten { run: String },
    /// The text cannot be a tag, because a list or a command line could not show it clearly.
    #[error(
        "{tag:?} is not a tag: a tag has at least one character, no space, comma or control \
            character, and does not begin with + or -"
    )]
    InvalidTag { tag: String },
    /// The run does not have a tag that should be removed.
    #[error("run {run} has no tag {tag:?}; nothing was changed")]
    NoSuchTag { run: String, tag: String },
    /// Several runs have this tag, or the name is a part of several ids.
    #[error("{id:?} matches several runs: {}; give one of their ids", candidates.join(", "))]
    AmbiguousRun { id: String, candidates: Vec<String> },
    /// Another run already has the id.
    #[error("run {id} exists already in {}", path.display())]
    RunExists { path: PathBuf, id: String },
    /// A log belongs to another run than expected.
    #[error("{} is the log of run {of}, not of run {run}", log.display())]
    OtherRun { log: PathBuf, of: String, run: String },
    /// A document in the database is not in the form in which this program stores it. `what`: the kind of the
    /// document, such as `summary`.
    #[error(
        "the {what} of run {run} in the store cannot be read: {source}; another version of \
            inferometer may have written it"
    )]
    Document { run: String, what: &'static str, source: serde_json::Error },
    /// The database was deleted or replaced while a run was being written.
    #[error(
        "{}: the store was deleted or replaced while the run was written; its log stays in {}",
        path.display(),
        log.display()
    )]
    StoreGone { path: PathBuf, log: PathBuf },
    /// SQLite returned an error.
    #[error("{}: {source}{}", path.display(), advice(source))]
    Database { path: PathBuf, source: rusqlite::Error },
}

impl StoreError {
    pub(crate) fn io(
        action: &'static str,
        path: &Path,
    ) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    /// Whether the error means that a log ends early. The entries before its end are then valid.
    pub fn is_cut(&self) -> bool {
        matches!(self, Self::LogCut { .. })
    }
}

/// Returns possible causes if SQLite reports a disk error without its cause; otherwise an empty text.
fn advice(source: &rusqlite::Error) -> &'static str {
    match source.sqlite_error_code() {
        Some(rusqlite::ErrorCode::SystemIoFailure) => {
            " (possible causes: a full disk, a limit on the size of files such as `ulimit -f`, or \
                a failing device)"
        }
        _ => "",
    }
}
