//! The conditions that select the runs of a list. This module does not read the database.

use super::run::{RunKind, RunRow, RunState};

/// Conditions on runs; a run matches if it meets all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// The model's name contains this text; upper and lower case do not matter.
    pub model: Option<String>,
    /// The engine and its version, such as `vllm 0.2.7` or `unknown engine`, contain this text; upper and
    /// lower case do not matter.
    pub engine: Option<String>,
    /// The card's name contains this text; upper and lower case do not matter.
    pub card: Option<String>,
    /// The run has all of these tags.
    pub tags: Vec<String>,
    /// The run began at this time or later. The text is a time in RFC 3339 and UTC, or the beginning of such
    /// a time, for example a date.
    pub since: Option<String>,
    /// The run began at this time or earlier, in the same form as `since`. If the text is a date, the whole
    /// day is included.
    pub until: Option<String>,
    /// The run has this state.
    pub state: Option<RunState>,
    /// The figures of the run have this origin.
    pub kind: Option<RunKind>,
    /// The run's id, model, engine, engine version, card or tags contain each of these words; upper and lower
    /// case do not matter.
    pub words: Vec<String>,
    /// The maximum number of runs in the list. If more runs match, the list has the latest of them.
    pub limit: Option<usize>,
}

impl RunFilter {
    /// Returns `since` and `until` if `since` is after `until`, so that no run can match.
    pub fn contradiction(&self) -> Option<(&str, &str)> {
        let (since, until) = (self.since.as_deref()?, self.until.as_deref()?);
        // One text may be shorter than the other, for example a date. Both texts are compared up to the
        // length of the shorter text.
        let common = since.len().min(until.len());
        (since.get(..common) > until.get(..common)).then_some((since, until))
    }

    /// Whether a run meets all conditions. The limit is not a condition.
    pub fn fits(&self, run: &RunRow) -> bool {
        let lower = |text: &str| text.to_lowercase();
        let holds = |wanted: &Option<String>, text: Option<&str>| {
            let wanted = wanted.as_deref().map(lower);
            wanted.is_none_or(|wanted| text.is_some_and(|text| lower(text).contains(&wanted)))
        };
        let version = run.engine_version.as_deref().unwrap_or_default();
        let engine = format!("{} {version}", run.engine_name());
        let began = run.started_at.as_str();
        holds(&self.model, Some(&run.model))
            && holds(&self.engine, Some(&engine))
            && holds(&self.card, run.card.as_deref())
            && self.kind.is_none_or(|kind| kind == run.kind)
            && self.state.is_none_or(|state| state == run.state)
            && self.since.as_deref().is_none_or(|since| began >= since)
            && self
                .until
                .as_deref()
                .is_none_or(|until| began.get(..until.len()).unwrap_or(began) <= until)
            && self.tags.iter().all(|tag| run.tags.contains(tag))
            && self.has_words(run)
    }

    /// Whether the id, model, engine, engine version, card and tags of a run contain all words.
    fn has_words(&self, run: &RunRow) -> bool {
        if self.words.is_empty() {
            return true;
        }
        let known = [&run.engine, &run.engine_version, &run.card].into_iter().flatten().cloned();
        let own = [run.id.to_string(), run.model.clone()].into_iter();
        let text: Vec<String> = own.chain(known).chain(run.tags.iter().cloned()).collect();
        let text = text.join(" ").to_lowercase();
        self.words.iter().all(|word| text.contains(&word.to_lowercase()))
    }
}
