//! Requests of a trial that was cut off because its claim was certain: no failures of the server.

use inferometer_model::finding::{Finding, code};
use inferometer_model::outcome::Outcome;
use inferometer_model::record::{CUT_OFF, Record};

/// How many there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CutOff {
    in_flight: u64,
    never_sent: u64,
}

impl CutOff {
    /// Takes in a record; says whether it is one of these.
    pub(super) fn takes(&mut self, record: &Record) -> bool {
        if record.detail.as_deref() != Some(CUT_OFF) {
            return false;
        }
        match record.outcome {
            Outcome::Cancelled => self.in_flight += 1,
            Outcome::Skipped => self.never_sent += 1,
            _ => return false,
        }
        true
    }

    pub(super) fn finding(self) -> Option<Finding> {
        let Self { in_flight, never_sent } = self;
        let message = format!(
            "The trial was cut off as soon as its claim was certain, whatever became of the rest: \
             {in_flight} requests were in flight and {never_sent} were not sent any more. They are \
             no failures of the server."
        );
        (in_flight + never_sent > 0).then(|| Finding::of(code::SEARCH_TRIAL_CUT_OFF, message))
    }
}
