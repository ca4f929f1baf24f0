//! Names the messages of streams that were skipped, because they are neither output, error, usage nor end.

use inferometer_model::{Finding, code, digits, record::Skipped};

/// The finding on the skipped messages of a run.
pub fn skipped_finding(skipped: &Skipped) -> Option<Finding> {
    let of = |(kind, count)| format!("`{kind}` ({})", digits::count(count));
    let kinds: Vec<String> = skipped.iter().map(of).collect();
    let message = format!(
        "Messages of streams that are neither output, error, usage nor end were skipped: {}.",
        kinds.join(", ")
    );
    (!kinds.is_empty()).then(|| Finding::of(code::MESSAGES_SKIPPED, message))
}
