//! Why a server could not be started or did not become ready.

use std::path::PathBuf;

use crate::event::Ended;

/// A launch that failed. Nothing of the server is left when one is returned.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// Somebody else listens where the server should.
    #[error(
        "{address} is taken: {by} listens there; end it, choose another `port`, or leave `port` \
         out to get a free one"
    )]
    PortTaken {
        /// `host:port`.
        address: String,
        /// Who it is, in words.
        by: String,
    },
    /// No port is free, or the host is none of this machine.
    #[error("server: no port can be had on {host}: {source}")]
    NoPort {
        /// The address to listen on.
        host: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The guard or a file of it could not be made.
    #[error("server: {what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The command could not be started.
    #[error("server: `{command}` cannot be started: {reason}")]
    NotStarted {
        /// The program.
        command: String,
        /// What the system said.
        reason: String,
    },
    /// It ended before it was ready.
    #[error("server: ended ({}) before it was ready{}; its log: {}", ended.how, words(ended), log.display())]
    EndedEarly {
        /// How.
        ended: Box<Ended>,
        /// All that it wrote.
        log: PathBuf,
    },
    /// It took longer than allowed.
    #[error("server: not ready after {after_s} s (ready_timeout): {missing}{}; its log: {}", words(ended), log.display())]
    NeverReady {
        /// The time that it had, in seconds.
        after_s: u64,
        /// What did not come.
        missing: String,
        /// How it was ended then.
        ended: Box<Ended>,
        /// All that it wrote.
        log: PathBuf,
    },
    /// The user did not want to wait any longer.
    #[error("server: interrupted before it was ready")]
    Interrupted,
    /// The guard was killed, and may have left the server behind.
    #[error("server: its guard process ended without a word; look whether the server still runs")]
    GuardLost,
    /// There is no such preset, or its file is wrong.
    #[error("server: preset: {0}")]
    Preset(String),
}

/// The last lines of a log as the rest of a sentence, after its first errors where they are not
/// among them.
pub(crate) fn words(ended: &Ended) -> String {
    let Ended { first_errors, last_lines, .. } = ended;
    if last_lines.is_empty() {
        return "; it wrote nothing".to_owned();
    }
    let block = |lines: &mut dyn Iterator<Item = &String>| {
        lines.map(|line| format!("\n    | {line}")).collect::<String>()
    };
    let errors = block(&mut first_errors.iter().filter(|line| !last_lines.contains(line)));
    let errors =
        if errors.is_empty() { errors } else { format!("; its first errors:{errors}\n  ") };
    format!("{errors}; its last lines:{}\n", block(&mut last_lines.iter()))
}
