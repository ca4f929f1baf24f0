//! Why a request did not complete: a reason of this program, or a text for users.

use serde::{Deserialize, Serialize};

use super::detail as cut;
use crate::Outcome;

// Records and results store the texts below, so they never change. Only this module compares texts with them.

const INTERRUPTED: &str = "the run was interrupted before it was due";
const RESULT_CERTAIN: &str = "the trial was cut off: so many requests had missed an objective that \
                              nothing could change its claim";
/// The first part of the text. The outcome of the earlier turn follows.
const EARLIER_TURN: &str = "an earlier turn of its conversation failed";

/// The condition of the plan that ended a pass early. It is stored as its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum StopReason {
    /// Requests arrived faster than the server completed them.
    Saturated,
    /// More requests had failed than the plan allows.
    ErrorRate,
    /// The time limit of a search, a sweep or a comparison was over.
    MaxTime,
}

crate::names!(StopReason {
    Saturated => "the pass was ended: requests arrived faster than they ended (--stop-when-saturated)",
    ErrorRate => "the pass was ended: more requests had failed than --stop-at-error-rate allows",
    MaxTime => "the pass was ended: the time of --max-time was over",
});

impl TryFrom<String> for StopReason {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::named(&text).ok_or_else(|| format!("unknown reason `{text}`"))
    }
}

impl From<StopReason> for &'static str {
    fn from(reason: StopReason) -> Self {
        reason.name()
    }
}

/// Why a request did not complete. It is stored as its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Detail {
    /// The user interrupted the run before the request was sent.
    Interrupted,
    /// The result of its trial in a search was already certain.
    ResultCertain,
    /// A condition of the plan ended the pass early.
    Stopped(StopReason),
    /// An earlier turn of its conversation failed; the whole text, with the outcome of that turn.
    EarlierTurn(Box<str>),
    /// An error message, or the problem that the parser found.
    Said(Box<str>),
}

impl Detail {
    /// The detail with a message, which is cut to [`super::MAX_DETAIL_CHARS`] characters.
    pub fn said(message: &str) -> Self {
        Self::Said(cut(message).into())
    }

    /// The detail of a turn that was skipped because an earlier turn had this outcome.
    pub fn earlier_turn(outcome: Outcome) -> Self {
        Self::EarlierTurn(format!("{EARLIER_TURN}: {outcome}").into())
    }

    /// The detail as text for users and for stored records.
    pub fn text(&self) -> &str {
        match self {
            Self::Interrupted => INTERRUPTED,
            Self::ResultCertain => RESULT_CERTAIN,
            Self::Stopped(reason) => reason.name(),
            Self::EarlierTurn(text) | Self::Said(text) => text,
        }
    }

    /// The condition of the plan that ended the pass early; `None` for another reason.
    pub fn stop_reason(&self) -> Option<StopReason> {
        match self {
            Self::Stopped(reason) => Some(*reason),
            _ => None,
        }
    }

    /// Whether the request was cancelled or not sent because its pass was ended early.
    pub fn is_early_end(&self) -> bool {
        matches!(self, Self::Interrupted | Self::ResultCertain | Self::Stopped(_))
    }
}

impl From<String> for Detail {
    /// Reads a stored text.
    fn from(text: String) -> Self {
        match text.as_str() {
            INTERRUPTED => Self::Interrupted,
            RESULT_CERTAIN => Self::ResultCertain,
            _ if text.starts_with(EARLIER_TURN) => Self::EarlierTurn(text.into()),
            _ => StopReason::named(&text).map_or_else(|| Self::Said(text.into()), Self::Stopped),
        }
    }
}

impl From<&str> for Detail {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<Detail> for String {
    fn from(detail: Detail) -> Self {
        detail.text().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_that_earlier_versions_stored_is_read_as_its_reason_and_written_unchanged() {
        for (text, detail) in [
            ("the run was interrupted before it was due", Detail::Interrupted),
            (
                "the trial was cut off: so many requests had missed an objective that nothing could change its claim",
                Detail::ResultCertain,
            ),
            (
                "the pass was ended: requests arrived faster than they ended (--stop-when-saturated)",
                Detail::Stopped(StopReason::Saturated),
            ),
            (
                "the pass was ended: more requests had failed than --stop-at-error-rate allows",
                Detail::Stopped(StopReason::ErrorRate),
            ),
            (
                "the pass was ended: the time of --max-time was over",
                Detail::Stopped(StopReason::MaxTime),
            ),
            (
                "an earlier turn of its conversation failed: rejected (503)",
                Detail::earlier_turn(Outcome::Rejected { status: 503 }),
            ),
            ("connection reset", Detail::said("connection reset")),
        ] {
            let read: Detail = serde_json::from_value(text.into()).expect("a text");
            assert_eq!((&read, read.text()), (&detail, text));
            assert_eq!(serde_json::to_value(detail).expect("JSON"), text);
        }
    }
}
