//! What was seen of a server's start: when its process began, when checks failed and succeeded, and the lines of its log
//! that show phases. This module reads no clock.

use inferometer_model::{Nanos, target::Startup};

use crate::launch::phases::{Phases, rounded};

/// The most lines of a log that are kept. An engine writes a few for each of its workers.
const MOST_LINES: usize = 10_000;

/// What was seen of a start.
#[derive(Default)]
pub(crate) struct StartMarks {
    /// Just before the process began.
    pub(crate) began: Option<Nanos>,
    /// Whether the port accepts connections.
    pub(crate) port: Checks,
    /// Whether the server is ready.
    pub(crate) ready: Checks,
    lines: Vec<(Nanos, String)>,
}

/// Repeated checks of something that is false first and then true.
#[derive(Default)]
pub(crate) struct Checks {
    /// The begin of the last check that failed before the first one that succeeded.
    last_failed: Option<Nanos>,
    /// The end of the first check that succeeded.
    succeeded: Option<Nanos>,
}

impl Checks {
    /// Adds a check with its begin, its end, and whether it succeeded.
    pub(crate) fn add(&mut self, began: Nanos, ended: Nanos, is_so: bool) {
        match (self.succeeded, is_so) {
            (Some(_), _) => {}
            (None, true) => self.succeeded = Some(ended),
            (None, false) => self.last_failed = Some(began),
        }
    }

    /// The earliest and the latest time at which the answer may have changed, in seconds from `origin`.
    fn since(&self, origin: Nanos) -> Option<[f64; 2]> {
        let failed = self.last_failed.unwrap_or(origin);
        Some([failed, self.succeeded?].map(|at| seconds(at, origin)))
    }
}

impl StartMarks {
    /// Adds a line of the log that shows a phase, with the instant at which it was read.
    pub(crate) fn add_line(&mut self, at: Nanos, line: String) {
        if self.lines.len() < MOST_LINES {
            self.lines.push((at, line));
        }
    }

    /// The start, without its number; `None` if the server was not seen ready. `answer`: when the first request that was
    /// answered was sent, and when its first token arrived.
    pub(crate) fn startup(&self, phases: &Phases, answer: Option<[Nanos; 2]>) -> Option<Startup> {
        let began = self.began?;
        let ready_s = self.ready.since(began)?;
        let lines: Vec<(f64, String)> =
            self.lines.iter().map(|(at, line)| (at.seconds_after(began), line.clone())).collect();
        let (phases, rest_s) = phases.of(&lines, ready_s[1]);
        let [request_s, first_token_s] =
            [0, 1].map(|which| answer.map(|times| seconds(times[which], began)));
        let port_s = self.port.since(began);
        Some(Startup { start: 0, port_s, ready_s, phases, rest_s, request_s, first_token_s })
    }
}

/// The time from one instant to another; 0 if it is earlier.
fn seconds(at: Nanos, origin: Nanos) -> f64 {
    rounded(at.since(origin).as_secs_f64())
}

#[cfg(test)]
mod tests;
