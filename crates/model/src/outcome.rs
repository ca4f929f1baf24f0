//! The outcomes of planned requests. Each planned request has exactly one of a fixed set of outcomes.

use std::fmt;

use derive_more::Display;
use serde::{Deserialize, Serialize};
use strum::EnumDiscriminants;

use crate::digits;

/// The phase of a request in which it failed or timed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Display)]
#[display("{}", self.name().replace('_', " "))]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Opening the connection: the TCP handshake and the TLS handshake.
    Connect,
    /// The TLS handshake. The program does not set this phase: a failed TLS handshake has the phase
    /// [`Phase::Connect`].
    Tls,
    /// Writing the request to the socket.
    Send,
    /// Waiting for the status line and the headers.
    Headers,
    /// The headers are complete, but no token has arrived.
    FirstToken,
    /// A token has arrived, and the response has not ended.
    BetweenEvents,
    /// No single phase: the whole request, for instance for a timeout from start to end.
    Total,
}

crate::names!(Phase {
    Connect => "connect", Tls => "tls", Send => "send", Headers => "headers",
    FirstToken => "first_token", BetweenEvents => "between_events", Total => "total",
});

/// The outcome of a planned request. A failed request is data, never an error of the program.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, EnumDiscriminants,
)]
#[serde(rename_all = "snake_case", tag = "kind")]
#[strum_discriminants(
    name(OutcomeKind),
    doc = "An outcome without its details. Its name is a key of the `outcomes` object in the results.",
    derive(Hash, PartialOrd, Ord, Serialize, Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Outcome {
    /// The response ended in the way that its dialect requires, or with an end mark or usage after its output.
    Complete,
    /// The stream or the body ended before the end that its dialect requires.
    Truncated,
    /// The server answered with an HTTP status below 200 or above 299.
    Rejected {
        /// The status, such as 400, 422, 429 or 503.
        status: u16,
    },
    /// A response with a status from 200 to 299, streamed or whole, contained an error, or a finish reason such
    /// as `abort`. The outcome does not depend on data after the error.
    ServerError,
    /// The response cannot be parsed, is too large, or has neither output nor a finish reason before its end mark. A
    /// response without visible text is `Complete` if it has a finish reason, or ends as its dialect ends.
    Malformed,
    /// The connection could not be opened, was closed before the first byte of an answer, or broke with an error, such
    /// as a reset.
    Connection {
        /// The phase in which the connection failed.
        phase: Phase,
    },
    /// A timeout of the plan ended the request.
    TimedOut {
        /// The phase in which the timeout ended the request; [`Phase::Total`] for the timeout of the whole request.
        phase: Phase,
    },
    /// The run or the pass was ended while the request was in flight.
    Cancelled,
    /// The request was not sent, because the limit of requests in flight was reached.
    Dropped,
    /// The request was never begun. For example, the pass ended first, or an earlier turn of its conversation failed.
    #[default]
    Skipped,
    /// The client left, as the plan asks of a share of the clients. This is no failure.
    Abandoned {
        /// The phase in which the client left. [`Phase::Connect`]: the request was never begun, because the client had
        /// left an earlier request that this one waits for.
        phase: Phase,
    },
}

crate::names!(OutcomeKind {
    Complete => "complete", Truncated => "truncated", Rejected => "rejected",
    ServerError => "server_error", Malformed => "malformed", Connection => "connection",
    TimedOut => "timed_out", Cancelled => "cancelled", Dropped => "dropped", Skipped => "skipped",
    Abandoned => "abandoned",
});

impl OutcomeKind {
    /// Whether a request with this outcome failed: it did not complete, although its client did not leave.
    pub fn is_failed(self) -> bool {
        !matches!(self, Self::Complete | Self::Abandoned)
    }
}

impl Outcome {
    /// The outcome without its details.
    pub fn kind(self) -> OutcomeKind {
        self.into()
    }

    /// The outcome of a request that is never begun because it waits for a request with this outcome.
    pub fn of_waiting(self) -> Self {
        match self {
            Self::Abandoned { .. } => Self::Abandoned { phase: Phase::Connect },
            _ => Self::Skipped,
        }
    }

    /// The phase in which the request ended, for outcomes that have one.
    pub fn phase(self) -> Option<Phase> {
        match self {
            Self::Connection { phase } | Self::TimedOut { phase } | Self::Abandoned { phase } => {
                Some(phase)
            }
            _ => None,
        }
    }

    /// Whether the server completed the request.
    pub fn is_complete(self) -> bool {
        self == Self::Complete
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected { status } => write!(f, "rejected ({status})"),
            Self::Connection { phase } => write!(f, "connection ({phase})"),
            Self::TimedOut { phase } => write!(f, "timed out ({phase})"),
            Self::Abandoned { phase } => write!(f, "abandoned ({phase})"),
            other => f.write_str(&other.kind().name().replace('_', " ")),
        }
    }
}

/// How many requests of a pass had each outcome. Every planned request is counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OutcomeCounts {
    /// Requests with [`Outcome::Complete`].
    pub complete: u64,
    /// Requests with [`Outcome::Truncated`].
    pub truncated: u64,
    /// Requests with [`Outcome::Rejected`].
    pub rejected: u64,
    /// Requests with [`Outcome::ServerError`].
    pub server_error: u64,
    /// Requests with [`Outcome::Malformed`].
    pub malformed: u64,
    /// Requests with [`Outcome::Connection`].
    pub connection: u64,
    /// Requests with [`Outcome::TimedOut`].
    pub timed_out: u64,
    /// Requests with [`Outcome::Cancelled`].
    pub cancelled: u64,
    /// Requests with [`Outcome::Dropped`].
    pub dropped: u64,
    /// Requests with [`Outcome::Skipped`].
    pub skipped: u64,
    /// Requests with [`Outcome::Abandoned`].
    #[serde(skip_serializing_if = "crate::is_default")]
    pub abandoned: u64,
}

impl OutcomeCounts {
    /// Counts one more request, with this outcome.
    pub fn add(&mut self, outcome: Outcome) {
        self.add_times(outcome, 1);
    }

    /// Counts `count` more requests, with this outcome.
    pub fn add_times(&mut self, outcome: Outcome, count: u64) {
        *self.of_mut(outcome.kind()) += count;
    }

    /// Adds the counts of another set of requests.
    pub fn add_all(&mut self, other: &Self) {
        OutcomeKind::ALL.iter().for_each(|&kind| *self.of_mut(kind) += other.of(kind));
    }

    /// The number of requests with outcomes of one kind.
    pub fn of(&self, kind: OutcomeKind) -> u64 {
        let mut copy = *self;
        *copy.of_mut(kind)
    }

    /// The number of all requests.
    pub fn total(&self) -> u64 {
        OutcomeKind::ALL.iter().map(|&kind| self.of(kind)).sum()
    }

    /// The number of requests that did not complete, without those whose clients left.
    pub fn failed(&self) -> u64 {
        self.total() - self.complete - self.abandoned
    }

    fn of_mut(&mut self, kind: OutcomeKind) -> &mut u64 {
        match kind {
            OutcomeKind::Complete => &mut self.complete,
            OutcomeKind::Truncated => &mut self.truncated,
            OutcomeKind::Rejected => &mut self.rejected,
            OutcomeKind::ServerError => &mut self.server_error,
            OutcomeKind::Malformed => &mut self.malformed,
            OutcomeKind::Connection => &mut self.connection,
            OutcomeKind::TimedOut => &mut self.timed_out,
            OutcomeKind::Cancelled => &mut self.cancelled,
            OutcomeKind::Dropped => &mut self.dropped,
            OutcomeKind::Skipped => &mut self.skipped,
            OutcomeKind::Abandoned => &mut self.abandoned,
        }
    }
}

impl fmt::Display for OutcomeCounts {
    /// `398 complete, 1 timed out`: the outcomes that occurred.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for kind in OutcomeKind::ALL {
            let count = self.of(kind);
            if count > 0 {
                write!(f, "{separator}{} {}", digits::count(count), kind.name().replace('_', " "))?;
                separator = ", ";
            }
        }
        Ok(())
    }
}
