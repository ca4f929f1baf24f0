//! Finds finish reasons that no server is known to use.

use std::collections::BTreeMap;

use inferometer_model::{Finding, Record, code, finish_reason::FinishReason};

/// The finding names at most this many reasons, because a server may invent a new one for each answer.
const MAX_NAMED: usize = 5;

/// Counts completed requests by unknown finish reason.
#[derive(Clone, Debug, Default)]
pub(super) struct UnknownReasons {
    named: BTreeMap<String, u64>,
    others: u64,
}

impl UnknownReasons {
    pub(super) fn add(&mut self, record: &Record) {
        let Some(reason) = &record.finish_reason else { return };
        if FinishReason::of(reason) != FinishReason::Unknown {
            return;
        }
        if self.named.len() < MAX_NAMED || self.named.contains_key(reason) {
            *self.named.entry(reason.clone()).or_default() += 1;
        } else {
            self.others += 1;
        }
    }

    pub(super) fn findings(&self) -> Option<Finding> {
        if self.named.is_empty() {
            return None;
        }
        let named: Vec<String> =
            self.named.iter().map(|(reason, count)| format!("`{reason}` ({count})")).collect();
        let others = match self.others {
            0 => String::new(),
            others => format!(", others ({others})"),
        };
        let message = format!(
            "Completed requests ended with unknown finish reasons: {}{others}.",
            named.join(", ")
        );
        Some(Finding::of(code::FINISH_REASON_UNKNOWN, message))
    }
}
