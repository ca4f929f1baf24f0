//! Requests that did not complete, by what became of them. Never a classification of its own.

use crate::finding::{Finding, Severity};
use crate::outcome::{Outcome, OutcomeKind};
use crate::record::Record;

/// The most kinds of failure that get a finding each; statuses could be many.
const MOST_KINDS: usize = 8;

/// Failed requests of a pass.
#[derive(Clone, Debug, Default)]
pub(super) struct Failures(Vec<Kind>);

#[derive(Clone, Debug)]
struct Kind {
    outcome: Outcome,
    count: u64,
    /// The first request's that had one.
    detail: Option<String>,
}

impl Failures {
    pub(super) fn add(&mut self, record: &Record) {
        let at = self.0.iter().position(|kind| kind.outcome == record.outcome);
        let at = at.unwrap_or_else(|| {
            self.0.push(Kind { outcome: record.outcome, count: 0, detail: None });
            self.0.len() - 1
        });
        self.0[at].count += 1;
        if self.0[at].detail.is_none() {
            self.0[at].detail.clone_from(&record.detail);
        }
    }

    pub(super) fn total(&self) -> u64 {
        self.0.iter().map(|kind| kind.count).sum()
    }

    /// The most frequent kinds, one finding each, then one for the rest.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let mut kinds = self.0.clone();
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.count));
        let rest = kinds.split_off(kinds.len().min(MOST_KINDS));
        let mut findings: Vec<Finding> = kinds.iter().map(Kind::finding).collect();
        if !rest.is_empty() {
            let count: u64 = rest.iter().map(|kind| kind.count).sum();
            let message = format!("{count} further requests failed in {} other ways.", rest.len());
            findings.push(Finding::new("requests_failed", Severity::Warning, message));
        }
        findings
    }
}

impl Kind {
    fn finding(&self) -> Finding {
        let Self { outcome, count, detail } = self;
        let requests = if *count == 1 { "request" } else { "requests" };
        let said = detail.as_ref().map_or_else(String::new, |detail| format!(" First: {detail}"));
        let message = format!("{count} {requests} {}.{said}", became(*outcome));
        let stopped = matches!(outcome.kind(), OutcomeKind::Cancelled | OutcomeKind::Skipped);
        let severity = if stopped { Severity::Note } else { Severity::Warning };
        Finding::new("requests_failed", severity, message).advise(advice(outcome.kind()))
    }
}

/// The predicate of a sentence about such requests.
fn became(outcome: Outcome) -> String {
    match outcome {
        Outcome::Complete => "completed".to_owned(),
        Outcome::Truncated => "ended before the proper end".to_owned(),
        Outcome::Rejected { status } => format!("got the HTTP status {status}"),
        Outcome::ServerError => "got an error inside a stream with status 200".to_owned(),
        Outcome::Malformed => "got an answer that cannot be parsed".to_owned(),
        Outcome::Connection { phase } => format!("failed with the connection (phase: {phase})"),
        Outcome::TimedOut { phase } => format!("timed out (timeout: {phase})"),
        Outcome::Cancelled => "got cancelled when the run was interrupted".to_owned(),
        Outcome::Dropped => "got dropped, because too many were in flight".to_owned(),
        Outcome::Skipped => "never began, because the run ended before".to_owned(),
    }
}

fn advice(kind: OutcomeKind) -> &'static str {
    match kind {
        OutcomeKind::Cancelled | OutcomeKind::Skipped => {
            "The figures are of the requests before; repeat the run for the others."
        }
        OutcomeKind::Dropped => "Raise --max-in-flight or lower the rate.",
        OutcomeKind::TimedOut => "Lower the load, or give the requests more time.",
        _ => {
            "The figures are of the requests that completed, which need not be a fair sample; \
             the server's log says more."
        }
    }
}
