//! All errors of the store. Messages name the file, what was found and what to do.

use std::path::{Path, PathBuf};

/// Why a run could not be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file operation failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried: `create`, `read`, ...
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A log of this name is in the store already; logs are never overwritten.
    #[error("{} exists already: a run log is never overwritten", path.display())]
    LogExists {
        /// The file.
        path: PathBuf,
    },
    /// The file does not begin as a run log does.
    #[error("{} is not a run log: it does not begin with the signature of one", path.display())]
    NotALog {
        /// The file.
        path: PathBuf,
    },
    /// The log is of a version that this program does not know.
    #[error(
        "{}: {what} is version {found}, this program reads version {known}: use the program that \
         wrote it, or a newer one",
        path.display()
    )]
    LogVersion {
        /// The file.
        path: PathBuf,
        /// What has the version: the log's format, or the meaning of its records.
        what: &'static str,
        /// The version found.
        found: u32,
        /// The only version that can be read.
        known: u32,
    },
    /// The log ends before its mark of the end: its writer still writes, or did not finish.
    /// All entries before it are good.
    #[error(
        "{} is truncated: its last complete frame ends at byte {offset}, {left} bytes of an \
            incomplete frame follow, and the end of the run is missing",
        path.display()
    )]
    LogCut {
        /// The file.
        path: PathBuf,
        /// Where the last whole frame ends.
        offset: u64,
        /// How many bytes follow it.
        left: u64,
    },
    /// A frame of the log is not what its writer wrote. All entries before it are good.
    #[error("{} is damaged in the frame at byte {offset}: {what}", path.display())]
    LogCorrupt {
        /// The file.
        path: PathBuf,
        /// Where the damaged frame begins.
        offset: u64,
        /// What does not hold.
        what: String,
    },
    /// A write to this log failed before; what follows would not be readable.
    #[error("{}: an earlier write failed, so this log is no longer written", path.display())]
    LogBroken {
        /// The file.
        path: PathBuf,
    },
    /// A record that no log can hold.
    #[error("request {index} of pass {pass} cannot be stored: {what}")]
    InvalidRecord {
        /// The record's pass.
        pass: u32,
        /// The record's index in its pass.
        index: u32,
        /// What is wrong with it.
        what: String,
    },
    /// Calls to the log's writer came in an order that makes no log.
    #[error("{}: {what}", path.display())]
    LogOrder {
        /// The file.
        path: PathBuf,
        /// What was called when.
        what: String,
    },
    /// There is no database at the path.
    #[error(
        "{} does not exist: name a store with --store, or measure something first",
        path.display()
    )]
    NoStore {
        /// The file.
        path: PathBuf,
    },
    /// The file is no database of this program.
    #[error(
        "{} is not a store of inferometer: {what}; name another file with --store",
        path.display()
    )]
    NotAStore {
        /// The file.
        path: PathBuf,
        /// What was found instead.
        what: String,
    },
    /// The database was made by a newer program.
    #[error(
        "{} has schema version {found}, but this program supports up to {known}: use a newer \
            inferometer, or another file with --store",
        path.display()
    )]
    NewerStore {
        /// The file.
        path: PathBuf,
        /// The version found.
        found: i64,
        /// The newest version known.
        known: i64,
    },
    /// The database was made by an older program, and was to be read only.
    #[error(
        "{} has schema version {found}, but this program uses {known}: `inferometer runs` updates \
            it",
        path.display()
    )]
    OlderStore {
        /// The file.
        path: PathBuf,
        /// The version found.
        found: usize,
        /// The version of this program.
        known: usize,
    },
    /// No run has this id, an id of which this is a part, or this tag.
    #[error("no run {id:?} in {}: `inferometer runs` lists all runs", path.display())]
    NoSuchRun {
        /// The file.
        path: PathBuf,
        /// What was asked for.
        id: String,
    },
    /// There is no run of the kind that was asked for.
    #[error(
        "{} has no {kind} run: `inferometer runs` lists all runs; `latest` means the latest \
            measured one, `latest-predicted` and `latest-imported` the others",
        path.display()
    )]
    NoneOfItsKind {
        /// The file.
        path: PathBuf,
        /// The kind.
        kind: &'static str,
    },
    /// A process writes the run.
    #[error("run {run} is being written: end the process that measures, then remove it")]
    BeingWritten {
        /// The run.
        run: String,
    },
    /// A tag that no list could show, or that could not be given again.
    #[error(
        "{tag:?} is not a tag: a tag has at least one character, no space and no comma, and does \
            not begin with + or -"
    )]
    InvalidTag {
        /// What was given.
        tag: String,
    },
    /// A tag is to be taken away that the run does not have.
    #[error("run {run} has no tag {tag:?}; nothing was changed")]
    NoSuchTag {
        /// The run.
        run: String,
        /// The tag.
        tag: String,
    },
    /// Several runs have ids of which this is a part, or this tag.
    #[error("{id:?} matches several runs: {}; give one of their ids", candidates.join(", "))]
    AmbiguousRun {
        /// What was asked for.
        id: String,
        /// The runs that it may mean.
        candidates: Vec<String>,
    },
    /// Another run has the id already.
    #[error("run {id} exists already in {}: start it with another suffix", path.display())]
    RunExists {
        /// The file.
        path: PathBuf,
        /// The id.
        id: String,
    },
    /// A log that is to be that of one run is of another.
    #[error("{}: it is the log of run {of}, not of {run}", log.display())]
    OtherRun {
        /// The file.
        log: PathBuf,
        /// The run that it says it is of.
        of: String,
        /// The run that it was to be of.
        run: String,
    },
    /// A document in the database is not what this program stores there.
    #[error("the {what} of run {run} in the store cannot be read: {source}")]
    Document {
        /// The run.
        run: String,
        /// Which document.
        what: &'static str,
        /// The error of the parser.
        source: serde_json::Error,
    },
    /// The database was deleted or replaced while a run was written.
    #[error(
        "{}: the store was deleted or replaced while the run was written; its log stays in {}",
        path.display(),
        log.display()
    )]
    StoreGone {
        /// The file of the database.
        path: PathBuf,
        /// The run's log.
        log: PathBuf,
    },
    /// The database refused.
    #[error("{}: {source}{}", path.display(), advice(source))]
    Database {
        /// The file.
        path: PathBuf,
        /// The error of SQLite.
        source: rusqlite::Error,
    },
}

impl StoreError {
    pub(crate) fn io(
        action: &'static str,
        path: &Path,
    ) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    /// Whether a log ended early and all entries before its end are good.
    pub fn is_cut(&self) -> bool {
        matches!(self, Self::LogCut { .. })
    }
}

/// What to look for where SQLite says that the disk failed and does not say how.
fn advice(source: &rusqlite::Error) -> &'static str {
    match source.sqlite_error_code() {
        Some(rusqlite::ErrorCode::SystemIoFailure) => {
            " (a full disk, a limit on the size of files such as `ulimit -f`, or a failing device)"
        }
        _ => "",
    }
}
