//! Finds answers that contain the model's reasoning as text.

use inferometer_model::{Finding, Timeline, digits};

inferometer_model::codes! {
    THINK_IN_TEXT = "think_in_text", Note,
        "Answers begin with the tag <think>: the server sends the reasoning in the text of the answer."
        => "Measure with `--split-think tagged` to count the text up to </think> as reasoning.";
}

/// Counts completed requests whose answer begins with the tag.
#[derive(Clone, Debug, Default)]
pub(super) struct ThinkInText {
    found: u64,
    requests: u64,
}

impl ThinkInText {
    pub(super) fn add(&mut self, timeline: &Timeline<'_>) {
        self.requests += 1;
        self.found += u64::from(timeline.record.begins_with_think);
    }

    pub(super) fn findings(self) -> Option<Finding> {
        let message = format!(
            "{} of {} answers begin with <think>. Their reasoning counts as answer text, so TTFOT is the time to the \
                first reasoning. `--split-think tagged` counts it as reasoning.",
            digits::count(self.found),
            digits::count(self.requests)
        );
        (self.found > 0).then(|| Finding::of(THINK_IN_TEXT, message))
    }
}
