//! Finds reasoning in the text of an answer: the part between the tags `<think>` and `</think>`, with both tags.

use inferometer_model::SplitThink;

const OPENING: &str = "<think>";
const CLOSING: &str = "</think>";

/// What is known about the text of an answer so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum State {
    /// The text is blank or the beginning of a tag, after blanks. The tag so far.
    #[default]
    Undecided,
    /// The text is reasoning.
    Reasoning,
    /// What follows is not searched for tags.
    Answer,
}

/// Searches the text of an answer, which comes in parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThinkTags {
    /// How the text is split; `None` if the opening tag is only noticed.
    split: Option<SplitThink>,
    state: State,
    /// The end of the text so far that may be the beginning of a tag.
    end: String,
    /// Whether the text begins with the opening tag, and is not split.
    pub(crate) is_unsplit: bool,
}

/// The reasoning in a part of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Whether all earlier parts of the text are reasoning, too.
    pub(crate) earlier: bool,
    /// The length of the reasoning at the beginning of the part, in bytes.
    pub(crate) bytes: usize,
}

impl ThinkTags {
    pub(crate) fn new(split: Option<SplitThink>) -> Self {
        let state = match split {
            Some(SplitThink::Opened) => State::Reasoning,
            Some(SplitThink::Tagged) | None => State::Undecided,
        };
        Self { split, state, ..Self::default() }
    }

    /// Whether the next part of the text must be searched.
    pub(crate) fn are_sought(&self) -> bool {
        self.state != State::Answer
    }

    /// Searches the next part of the text.
    pub(crate) fn search(&mut self, text: &str) -> Found {
        let mut found = Found::default();
        if self.state == State::Undecided {
            self.end.push_str(
                text.trim_start_matches(|c: char| self.end.is_empty() && c.is_whitespace()),
            );
            if self.end.len() < OPENING.len() && OPENING.starts_with(&self.end) {
                return found;
            }
            let begun = std::mem::take(&mut self.end);
            let has_tag = begun.starts_with(OPENING);
            self.is_unsplit = has_tag && self.split.is_none();
            if !has_tag || self.is_unsplit {
                self.state = State::Answer;
                return found;
            }
            (self.state, found.earlier) = (State::Reasoning, true);
        }
        if self.state == State::Reasoning {
            let before = self.end.len();
            self.end.push_str(text);
            if let Some(at) = self.end.find(CLOSING) {
                self.state = State::Answer;
                found.bytes = at + CLOSING.len() - before;
                self.end = String::new();
            } else {
                found.bytes = text.len();
                let longest =
                    (1..CLOSING.len()).rev().find(|length| self.end.ends_with(&CLOSING[..*length]));
                self.end.drain(..self.end.len() - longest.unwrap_or(0));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reasoning and the answer in a text that comes in these parts.
    fn split(how: Option<SplitThink>, parts: &[&str]) -> ([String; 2], bool) {
        let mut tags = ThinkTags::new(how);
        let [mut reasoning, mut answer] = [String::new(), String::new()];
        for part in parts {
            let found = if tags.are_sought() { tags.search(part) } else { Found::default() };
            if found.earlier {
                reasoning = std::mem::take(&mut answer);
            }
            reasoning += &part[..found.bytes];
            answer += &part[found.bytes..];
        }
        ([reasoning, answer], tags.is_unsplit)
    }

    #[test]
    fn the_text_between_the_tags_is_reasoning_wherever_the_text_is_cut() {
        let (tagged, opened) = (Some(SplitThink::Tagged), Some(SplitThink::Opened));
        for (how, reasoning, answer) in [
            (tagged, "<think>wéll <b> </thin</think>", "\n\nYes </think> no"),
            (tagged, " \n<think>\n\n</think>", ""),
            (tagged, "<think>never ends </think", ""),
            (tagged, "", "<thinking> aloud</think>"),
            (tagged, "", "Yes: <think>no</think>"),
            (tagged, "", " <t"),
            (tagged, "", "so </think> yes"),
            (opened, "so </think>", " yes"),
            (opened, "<think>so</think>", " yes</think>"),
            (opened, "so, never ends", ""),
            (None, "", "<think>so</think>yes"),
        ] {
            let text = [reasoning, answer].concat();
            let expected = ([reasoning.to_owned(), answer.to_owned()], how.is_none());
            let letters: Vec<String> = text.chars().map(String::from).collect();
            let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
            assert_eq!(split(how, &letters), expected, "{text}, letter by letter");
            for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
                let (before, after) = text.split_at(at);
                assert_eq!(split(how, &[before, after]), expected, "{before}|{after}");
            }
        }
    }

    #[test]
    fn only_a_text_that_begins_with_the_tag_is_noticed_as_unsplit() {
        for (text, is_noticed) in
            [("\n <think>so", true), ("<thin", false), ("Yes <think>", false), ("", false)]
        {
            assert_eq!(split(None, &[text]).1, is_noticed, "{text}");
        }
    }
}
