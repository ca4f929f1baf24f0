//! Finds answers that do not have the form that their requests ask for.

use inferometer_model::record::Verdict;
use inferometer_model::{Finding, Timeline, digits};

use crate::structured::StructuredSummary;

inferometer_model::codes! {
    TOOL_NOT_OFFERED = "tool_not_offered", Warning,
        "Answers call a tool that their request does not offer.";
    TOOL_CALLS_INVALID = "tool_calls_invalid", Warning,
        "Arguments of tool calls are not JSON or do not fit the schema of the tool, or a required call is missing."
        => "Check the server's parser of tool calls and its chat template; figures of such calls are not those of working ones.";
    FORMAT_NOT_KEPT = "format_not_kept", Warning,
        "Answers do not have the form that their request asks for, such as a JSON schema."
        => "Check that the server supports structured outputs with this model; otherwise it generates without their cost.";
    FORMAT_CUT = "format_cut", Note,
        "Answers reached their limit of tokens before their tool calls or their JSON were complete."
        => "Give a larger output length.";
}

/// Counts the forms of completed answers.
#[derive(Clone, Debug, Default)]
pub(super) struct Forms(StructuredSummary);

impl Forms {
    pub(super) fn add(&mut self, timeline: &Timeline<'_>) {
        self.0.add(timeline);
    }

    pub(super) fn findings(self) -> Vec<Finding> {
        let StructuredSummary { calls, texts, .. } = &self.0;
        let [made, answers] = [calls, texts].map(|of| of.values().sum::<u64>());
        let call = |verdict| calls.get(&verdict).copied().unwrap_or(0);
        let text = |verdict| texts.get(&verdict).copied().unwrap_or(0);
        let bad = [
            (call(Verdict::NotJson), "are not JSON"),
            (call(Verdict::Unfit), "do not fit the schema"),
            (call(Verdict::Missing), "are missing although required"),
        ];
        let wrong = [
            (text(Verdict::NotJson), "are not JSON"),
            (text(Verdict::Unfit), "do not fit"),
            (text(Verdict::Missing), "are empty"),
        ];
        let cut = call(Verdict::Cut) + text(Verdict::Cut);
        let findings = [
            (
                TOOL_NOT_OFFERED,
                call(Verdict::NotOffered),
                made,
                "tool calls are of tools that the request does not offer",
                String::new(),
            ),
            (TOOL_CALLS_INVALID, sum(&bad), made, "tool calls are wrong", listed(&bad)),
            (FORMAT_NOT_KEPT, sum(&wrong), answers, "answers do not have the form", listed(&wrong)),
            (
                FORMAT_CUT,
                cut,
                made + answers,
                "tool calls and answers of a given form are cut",
                String::new(),
            ),
        ];
        let finding = |(code, count, of, what, listed): (_, u64, u64, &str, String)| {
            let [count, of] = [count, of].map(digits::count);
            Finding::of(code, format!("{count} of {of} {what}{listed}."))
        };
        findings.into_iter().filter(|it| it.1 > 0).map(finding).collect()
    }
}

fn sum(counts: &[(u64, &str)]) -> u64 {
    counts.iter().map(|(count, _)| count).sum()
}

/// The counts above 0, each with its words.
fn listed(counts: &[(u64, &str)]) -> String {
    let words = counts.iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> =
        words.map(|(count, what)| format!("{} {what}", digits::count(*count))).collect();
    format!(": {}", words.join(", "))
}
