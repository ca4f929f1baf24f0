//! Whether every output has an even number of tokens.

use inferometer_model::finding::Finding;
use inferometer_model::metrics::Timeline;

inferometer_model::codes! {
    OUTPUTS_ARE_EVEN = "outputs_are_even", Note,
        "Every completed request had an even number of output tokens.";
}

/// Counts even outputs.
#[derive(Clone, Debug, Default)]
pub(super) struct EvenOutputs {
    all: u64,
    even: u64,
}

impl EvenOutputs {
    pub(super) fn add(&mut self, timeline: &Timeline<'_>) {
        self.all += 1;
        self.even += u64::from(timeline.counted.0 % 2 == 0);
    }

    pub(super) fn findings(self) -> Option<Finding> {
        let message = format!("All {} outputs have an even number of tokens.", self.all);
        (self.all > 0 && self.even == self.all)
            .then(|| Finding::of(OUTPUTS_ARE_EVEN, message))
    }
}
