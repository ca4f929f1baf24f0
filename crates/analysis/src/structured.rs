//! How many answers have the form that their requests ask for: tool calls, and texts of a given form.

use std::collections::BTreeMap;

use inferometer_model::record::Verdict;
use inferometer_model::{EventKind, Timeline, stats::wilson};
use serde::{Deserialize, Serialize};

/// The 97.5th percentile of the normal distribution.
const NORMAL_975: f64 = 1.959_963_984_540_054;

/// The forms of the answers of a pass, over completed requests that ask for a form, or whose answer calls a tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StructuredSummary {
    /// The number of these requests.
    pub requests: u64,
    /// Those of them whose calls and text all have their form, or a form that is not checked.
    pub valid: u64,
    /// 95 % interval of the share of `valid`, for independent requests.
    pub valid_ci: [f64; 2],
    /// Requests that offer tools.
    pub with_tools: u64,
    /// Requests whose answer calls a tool.
    pub with_calls: u64,
    /// The tool calls by verdict; a required call that is missing counts as one.
    pub calls: BTreeMap<Verdict, u64>,
    /// The texts of requests that ask for a form of the text, by verdict.
    pub texts: BTreeMap<Verdict, u64>,
}

impl StructuredSummary {
    /// Adds a completed request.
    pub(crate) fn add(&mut self, timeline: &Timeline<'_>) {
        let record = timeline.record;
        let Some(form) = &record.structured else {
            // A call without tools: it is the end of an answer. Several answers of one response are not judged.
            let last = timeline.events.last().map(|event| event.kind);
            if last == Some(EventKind::ToolCall) && record.choices <= 1 {
                self.requests += 1;
                self.with_calls += 1;
                *self.calls.entry(Verdict::NotOffered).or_default() += 1;
            }
            return;
        };
        self.requests += 1;
        self.valid += u64::from(form.is_valid());
        self.with_tools += u64::from(form.tools);
        let is_call = |verdict: &Verdict| *verdict != Verdict::Missing;
        self.with_calls += u64::from(form.calls.keys().any(is_call));
        for (verdict, count) in &form.calls {
            *self.calls.entry(*verdict).or_default() += u64::from(*count);
        }
        if let Some(verdict) = form.text {
            *self.texts.entry(verdict).or_default() += 1;
        }
    }

    /// The summary; `None` without such requests.
    pub(crate) fn finish(self) -> Option<Self> {
        let valid_ci = wilson(self.valid as f64, self.requests as f64, NORMAL_975);
        (self.requests > 0).then_some(Self { valid_ci, ..self })
    }
}
