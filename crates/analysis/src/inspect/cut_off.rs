//! Counts the requests of a pass that were cancelled or not sent because the pass was ended early. A pass is ended
//! early if the result of a trial is certain, or if a condition of the plan is met. These requests are not failures of
//! the server.

use inferometer_model::finding::{Finding, code};
use inferometer_model::outcome::Outcome;
use inferometer_model::record::{
    CUT_OFF, Record, STOPPED_AT_MAX_TIME, STOPPED_WHEN_SATURATED, why_stopped,
};

/// The number of requests that were cut off, and the reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CutOff {
    why: Option<&'static str>,
    in_flight: u64,
    never_sent: u64,
}

impl CutOff {
    /// Counts the record and returns true if its request was cut off.
    pub(super) fn takes(&mut self, record: &Record) -> bool {
        let detail = record.detail.as_deref();
        let of_trial = (detail == Some(CUT_OFF)).then_some(CUT_OFF);
        let Some(why) = of_trial.or_else(|| why_stopped(detail)) else { return false };
        match record.outcome {
            Outcome::Cancelled => self.in_flight += 1,
            Outcome::Skipped => self.never_sent += 1,
            _ => return false,
        }
        self.why = Some(why);
        true
    }

    pub(super) fn finding(self) -> Option<Finding> {
        let Self { why, in_flight, never_sent } = self;
        let (code, begins) = match why? {
            CUT_OFF => (
                code::SEARCH_TRIAL_CUT_OFF,
                "The trial was ended early, because its result was already certain",
            ),
            STOPPED_WHEN_SATURATED => (
                code::PASS_STOPPED,
                "The pass was ended early, because requests arrived faster than the server \
                    completed them (--stop-when-saturated)",
            ),
            STOPPED_AT_MAX_TIME => (
                code::PASS_STOPPED,
                "The time limit --max-time ended the pass (a sweep uses it if enough requests had \
                    completed; a search and a comparison discard it)",
            ),
            _ => (
                code::PASS_STOPPED,
                "The pass was ended early, because more requests had failed than \
                    --stop-at-error-rate allows",
            ),
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
