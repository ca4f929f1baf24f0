//! Findings on requests that did not complete, grouped by their outcome.

use inferometer_model::{Detail, Finding, Outcome, OutcomeKind, Record, code, digits};

/// The most kinds of failure that get separate findings. Without this limit, every HTTP status could get a finding.
const MOST_KINDS: usize = 8;

/// The requests of a pass that did not complete.
#[derive(Clone, Debug, Default)]
pub(super) struct Failures(Vec<Kind>);

#[derive(Clone, Debug)]
struct Kind {
    outcome: Outcome,
    /// Whether the requests were skipped because an earlier turn of their conversation failed.
    by_earlier_turn: bool,
    count: u64,
    /// The detail of the first request that has one.
    detail: Option<Detail>,
}

impl Failures {
    pub(super) fn add(&mut self, record: &Record) {
        let by_earlier_turn = is_by_earlier_turn(record);
        let same =
            |kind: &Kind| kind.outcome == record.outcome && kind.by_earlier_turn == by_earlier_turn;
        let at = self.0.iter().position(same);
        let at = at.unwrap_or_else(|| {
            let outcome = record.outcome;
            self.0.push(Kind { outcome, by_earlier_turn, count: 0, detail: None });
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

    /// The most frequent HTTP status of rejected requests, with the first error text; `None` if none was rejected.
    pub(super) fn rejection(&self) -> Option<String> {
        let rejected = self.0.iter().filter_map(|kind| match kind.outcome {
            Outcome::Rejected { status } => Some((kind, status)),
            _ => None,
        });
        let (kind, status) = rejected.min_by_key(|(kind, _)| std::cmp::Reverse(kind.count))?;
        let detail = kind.detail.as_ref().map_or("", Detail::text).trim_end_matches('.');
        let said = if detail.is_empty() { String::new() } else { format!(": {detail}") };
        Some(format!("HTTP status {status}{said}"))
    }

    /// Whether requests were cancelled or not sent because the user interrupted the pass.
    pub(super) fn are_of_an_interruption(&self) -> bool {
        let is_one = |kind: &Kind| {
            kind.outcome == Outcome::Cancelled || kind.detail == Some(Detail::Interrupted)
        };
        self.0.iter().any(is_one)
    }

    /// One finding for each of the most frequent kinds, then one finding for all others.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let mut kinds = self.0.clone();
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.count));
        let rest = kinds.split_off(kinds.len().min(MOST_KINDS));
        let mut findings: Vec<Finding> = kinds.iter().map(Kind::finding).collect();
        if !rest.is_empty() {
            let count: u64 = rest.iter().map(|kind| kind.count).sum();
            let count = digits::count(count);
            let message = format!("{count} more requests failed in {} other ways.", rest.len());
            findings.push(Finding::of(code::REQUESTS_FAILED, message));
        }
        findings
    }
}

impl Kind {
    fn finding(&self) -> Finding {
        let Self { outcome, by_earlier_turn, count, detail } = self;
        let (requests, were) = match count {
            1 => ("request", "was"),
            _ => ("requests", "were"),
        };
        let said = detail.as_ref().map(Detail::text);
        let said = said.map_or_else(String::new, |detail| format!(" First: {detail}"));
        let count = digits::count(*count);
        let message = format!("{count} {requests} {}.{said}", became(*outcome, were));
        if *by_earlier_turn {
            let message = format!(
                "{count} {requests} did not start, because an earlier turn of the conversation \
                    failed.{said}"
            );
            let advice = "See the findings about failed turns for the reason; a conversation ends \
                with its first failed turn.";
            return Finding::of(code::REQUESTS_FAILED, message).advise(advice);
        }
        let stopped = matches!(outcome.kind(), OutcomeKind::Cancelled | OutcomeKind::Skipped);
        if stopped {
            return Finding::of(code::REQUESTS_INTERRUPTED, message);
        }
        let advice = match outcome.kind() {
            OutcomeKind::Connection if said.contains(TOO_MANY_FILES) => {
                "Each request in flight needs an open file of this process: raise the limit (`ulimit -n`)."
            }
            kind => advice(kind),
        };
        Finding::of(code::REQUESTS_FAILED, message).advise(advice)
    }
}

/// The system's message when a process may open no more files.
const TOO_MANY_FILES: &str = "Too many open files";

/// Whether the record is of a turn that did not begin because an earlier turn failed.
fn is_by_earlier_turn(record: &Record) -> bool {
    record.outcome == Outcome::Skipped && matches!(record.detail, Some(Detail::EarlierTurn(_)))
}

/// The predicate of a sentence about requests with this outcome. `were` is "was" for a single request.
fn became(outcome: Outcome, were: &str) -> String {
    match outcome {
        Outcome::Complete => "completed".to_owned(),
        Outcome::Truncated => "ended before the answer was complete".to_owned(),
        Outcome::Rejected { status } => format!("got the HTTP status {status}"),
        Outcome::ServerError => "got an error in an answer with a successful status".to_owned(),
        Outcome::Malformed => "got an answer that cannot be parsed".to_owned(),
        Outcome::Connection { phase } => {
            format!("failed because of the connection (phase: {phase})")
        }
        Outcome::TimedOut { phase } => format!("timed out (timeout: {phase})"),
        Outcome::Cancelled => "started, but did not end before the run was interrupted".to_owned(),
        Outcome::Dropped => {
            format!("{were} dropped, because too many requests were in flight")
        }
        Outcome::Skipped => "did not start, because the pass ended first".to_owned(),
        Outcome::Abandoned { phase } => format!("{were} left by the client (phase: {phase})"),
    }
}

fn advice(kind: OutcomeKind) -> &'static str {
    match kind {
        OutcomeKind::Dropped => "Raise --max-in-flight or lower the rate.",
        OutcomeKind::TimedOut => "Lower the load, or raise the time limits.",
        _ => {
            "The figures cover only completed requests, which may not be a fair sample; see the \
                server's log for details."
        }
    }
}
