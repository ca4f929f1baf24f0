//! Why a server could not be started or did not become ready.

use std::path::PathBuf;

use crate::launch::event::ServerExit;

/// An error in starting a server. No process of the server is left, except after [`LaunchError::GuardLost`], or
/// if the kernel cannot end a process.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the text says what the fields are")]
pub enum LaunchError {
    /// Another program listens at the server's address.
    #[error(
        "{address} is in use: {by} listens there; end it, choose another `port`, or leave `port` \
            out to get a free one"
    )]
    PortTaken { address: String, by: String },
    /// No port is free, or the host is not an address of this machine.
    #[error("server: no free port on {host}: {source}")]
    NoPort { host: String, source: std::io::Error },
    /// The guard could not be started, or one of its files could not be created.
    #[error("server: {what}: {source}")]
    System { what: String, source: std::io::Error },
    /// The command could not be started.
    #[error("server: `{command}` cannot be started: {reason}")]
    NotStarted { command: String, reason: String },
    /// The server ended before it was ready.
    #[error(
        "server: ended ({}) before it was ready{}; its log: {}",
        ended.how, log_excerpt(ended), log.display()
    )]
    EndedEarly { ended: Box<ServerExit>, log: PathBuf },
    /// The server did not become ready within the timeout.
    #[error(
        "server: not ready after {after_s} s (ready_timeout): {missing}{}; its log: {}",
        log_excerpt(ended), log.display()
    )]
    NeverReady { after_s: u64, missing: String, ended: Box<ServerExit>, log: PathBuf },
    /// The user interrupted the wait for the server.
    #[error("server: interrupted before it was ready")]
    Interrupted,
    /// The guard ended without a message: it was killed, or it could not create its files. If it was killed, the
    /// server may still be running.
    #[error(
        "server: its guard process ended without a message; check whether the server is still \
        running"
    )]
    GuardLost,
    /// There is no such preset, or its file is invalid.
    #[error("server: preset: {0}")]
    Preset(String),
}

/// The first error or the last line of a server's log, in one line.
pub(crate) fn log_in_short(ended: &ServerExit) -> String {
    match (ended.first_errors.first(), ended.last_lines.last()) {
        (Some(error), _) => format!("its first error: {}", error.trim()),
        (None, Some(line)) => format!("its last line: {}", line.trim()),
        (None, None) => "the server wrote no output".to_owned(),
    }
}

/// The last lines of a log, as the end of a sentence. The first errors are put before the last lines, except errors
/// that are among the last lines.
pub(crate) fn log_excerpt(ended: &ServerExit) -> String {
    let ServerExit { first_errors, last_lines, .. } = ended;
    if last_lines.is_empty() {
        return "; the server wrote no output".to_owned();
    }
    let block = |lines: &mut dyn Iterator<Item = &String>| {
        lines.map(|line| format!("\n    | {line}")).collect::<String>()
    };
    let errors = block(&mut first_errors.iter().filter(|line| !last_lines.contains(line)));
    let errors =
        if errors.is_empty() { errors } else { format!("; its first errors:{errors}\n  ") };
    format!("{errors}; its last lines:{}\n", block(&mut last_lines.iter()))
}
