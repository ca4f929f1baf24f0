//! Counts the requests of a pass that were cancelled or not sent because the pass was ended early. A pass is ended
//! early if the result of a trial is certain, or if a condition of the plan is met. These requests are not failures of
//! the server.

use inferometer_model::{Detail, Finding, Outcome, Record, StopReason, code};

/// The number of requests that were cut off, and the reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CutOff {
    why: Option<Detail>,
    in_flight: u64,
    never_sent: u64,
}

impl CutOff {
    /// Counts the record and returns true if its request was cut off.
    pub(super) fn takes(&mut self, record: &Record) -> bool {
        let Some(why @ (Detail::ResultCertain | Detail::Stopped(_))) = &record.detail else {
            return false;
        };
        match record.outcome {
            Outcome::Cancelled => self.in_flight += 1,
            Outcome::Skipped => self.never_sent += 1,
            _ => return false,
        }
        self.why = Some(why.clone());
        true
    }

    pub(super) fn finding(self) -> Option<Finding> {
        let Self { why, in_flight, never_sent } = self;
        let (code, begins) = match why? {
            Detail::ResultCertain => (
                code::SEARCH_TRIAL_CUT_OFF,
                "The trial was ended early, because its result was already certain",
            ),
            Detail::Stopped(reason) => (code::PASS_STOPPED, ended_by(reason)),
            Detail::Interrupted | Detail::EarlierTurn(_) | Detail::Said(_) => return None,
        };
        let cancelled = match in_flight {
            1 => "1 request in flight was".to_owned(),
            several => format!("{several} requests in flight were"),
        };
        let were = if never_sent == 1 { "was" } else { "were" };
        let message = format!(
            "{begins}: {cancelled} cancelled and {never_sent} {were} not \
                sent. They are not failures of the server."
        );
        Some(Finding::of(code, message))
    }
}

fn ended_by(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Saturated => {
            "The pass was ended early, because requests arrived faster than the server \
                completed them (--stop-when-saturated)"
        }
        StopReason::MaxTime => {
            "The time limit --max-time ended the pass (a sweep uses it if enough requests had \
                completed; a search and a comparison discard it)"
        }
        StopReason::ErrorRate => {
            "The pass was ended early, because more requests had failed than \
                --stop-at-error-rate allows"
        }
    }
}
