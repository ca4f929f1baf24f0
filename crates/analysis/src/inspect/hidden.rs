//! Finds output tokens without an event, and requests with several answers: what is known about the times of their
//! tokens.

use inferometer_model::{Finding, Severity, Timeline, digits, metrics::ttft};

inferometer_model::codes! {
    HIDDEN_REASONING = "hidden_reasoning", Note,
        "The server counts tokens of reasoning that it does not show.";
    HIDDEN_TOKENS = "hidden_tokens", Warning,
        "The server counts output tokens without an event, and it is unknown when they were generated."
        => "Use TTFT, E2E and tokens/s of these streams, or have the server send an event for each token.";
    SEVERAL_ANSWERS = "several_answers", Warning,
        "Requests have several answers, whose tokens arrive mixed."
        => "Request one answer (without `n` in --extra-body) to measure the times between tokens.";
}

/// If fewer than one in this many streams have tokens at unknown times, the others determine the figures.
const FEW: u64 = 100;

/// Counts completed streams with tokens that have no event, and requests with several answers.
#[derive(Clone, Debug, Default)]
pub(super) struct HiddenOutput {
    streams: u64,
    /// The streams with tokens that are known to lie before the first visible event, and the number of these tokens.
    before: u64,
    tokens_before: u64,
    /// The streams in which it is unknown where tokens without an event lie.
    unknown: u64,
    /// The streams with output tokens and without visible output.
    silent: u64,
    /// The requests with several answers.
    several: u64,
    requests: u64,
}

impl HiddenOutput {
    pub(super) fn add(&mut self, timeline: &Timeline<'_>) {
        let (record, hidden) = (timeline.record, &timeline.hidden);
        self.requests += 1;
        self.several += u64::from(record.choices > 1);
        if record.streamed {
            self.streams += 1;
            self.before += u64::from(hidden.before > 0);
            self.tokens_before += u64::from(hidden.before);
            let is_silent = ttft::from_sent(timeline).is_none() && timeline.output_tokens > 0;
            self.silent += u64::from(is_silent);
            self.unknown += u64::from(hidden.is_unknown && record.choices <= 1 && !is_silent);
        }
    }

    pub(super) fn findings(self) -> Vec<Finding> {
        let streams = digits::count(self.streams);
        let before = format!(
            "In {} of {streams} streams, the server counts {} tokens of reasoning that it does not show. They lie \
                before the first visible output: TTFT includes their time, and TPOT and ITL count only the tokens \
                after it.",
            digits::count(self.before),
            digits::count(self.tokens_before)
        );
        let unknown = format!(
            "In {} of {streams} streams, the server counts output tokens for which it sends no event, and it is \
                unknown when they were generated. So TPOT and ITL of these streams are absent. If the finish reason \
                came later than the last text, E2E ends with the finish reason.",
            digits::count(self.unknown)
        );
        let silent = format!(
            "In {} of {streams} streams, the server counts output tokens and shows no output while it generates them. So \
                these streams have no TTFT and no TPOT.",
            digits::count(self.silent)
        );
        let several = format!(
            "{} of {} completed requests have several answers. TTFT is the time to the first token of any answer; E2E \
                and output tokens cover all answers. The tokens of different answers arrive mixed, so TPOT and ITL of \
                these requests are absent.",
            digits::count(self.several),
            digits::count(self.requests)
        );
        let severity = |count: u64| match count * FEW < self.streams {
            true => Severity::Note,
            false => HIDDEN_TOKENS.severity,
        };
        let hidden = |count: u64, message: String| {
            (count, Finding::of(HIDDEN_TOKENS, message).severity(severity(count)))
        };
        let found = [
            (self.before, Finding::of(HIDDEN_REASONING, before)),
            hidden(self.unknown, unknown),
            hidden(self.silent, silent),
            (self.several, Finding::of(SEVERAL_ANSWERS, several)),
        ];
        found.into_iter().filter(|(count, _)| *count > 0).map(|(_, finding)| finding).collect()
    }
}
