//! How often the answers of a model have the requested length: the rules as data, and their counts.

use serde::{Deserialize, Serialize};

use inferometer_model::stats::{Distribution, Sample};

/// The length of a completed answer, and how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Characters that the prompt requested.
    pub wanted_chars: u32,
    /// Characters of answer text that arrived.
    pub chars: u64,
    /// Whether the token limit ended the answer, instead of the model.
    pub is_cut: bool,
}

/// A rule that classifies an answer by its length and its end.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The name of the rule in results.
    pub name: &'static str,
    /// The meaning of the rule, for readers.
    pub definition: &'static str,
    /// Whether the rule applies to an answer.
    pub holds: fn(&Answer) -> bool,
}

/// The rules. At most one of them applies to an answer. They use whole percents, rounded down.
pub static RULES: [Rule; 3] = inferometer_model::table! { Rule { name, definition, holds }
    ("kept", "ended at end-of-text with 80 % to 120 % of the requested characters",
     |answer| !answer.is_cut && (80..=120).contains(&percent(answer)))
    ("refusal",
     "ended at end-of-text with less than 10 % of the requested characters: the model declined, or stopped \
      immediately. A long refusal is not recognised", |answer| !answer.is_cut && percent(answer) < 10)
    ("run-away", "exceeded twice the requested characters, or was ended by the limit of output tokens",
     |answer| answer.is_cut || percent(answer) > 200)
};

/// The characters that arrived, in whole percent of the requested characters, rounded down.
fn percent(answer: &Answer) -> u64 {
    answer.chars * 100 / u64::from(answer.wanted_chars.max(1))
}

/// How often the completed answers of a pass had the requested length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LengthFigures {
    /// The number of completed answers.
    pub answers: u64,
    /// The number of answers under the rule `kept`.
    pub kept: u64,
    /// The number of answers under the rule `refusal`.
    pub refusals: u64,
    /// The number of answers under the rule `run-away`.
    pub run_aways: u64,
    /// The distribution of the characters of an answer; absent without an answer.
    pub chars: Option<Distribution>,
    /// The distribution of the tokens of an answer; absent if no answer's tokens were counted.
    pub tokens: Option<Distribution>,
}

/// Collects [`LengthFigures`].
#[derive(Clone, Debug, Default)]
pub(super) struct LengthFold {
    counts: [u64; RULES.len()],
    answers: u64,
    chars: Sample,
    tokens: Sample,
}

impl LengthFold {
    pub(super) fn add(&mut self, answer: &Answer, tokens: Option<u32>) {
        self.answers += 1;
        for (rule, count) in RULES.iter().zip(&mut self.counts) {
            *count += u64::from((rule.holds)(answer));
        }
        self.chars.push(answer.chars as f64);
        self.tokens.extend(tokens.map(f64::from));
    }

    pub(super) fn finish(mut self) -> LengthFigures {
        let [kept, refusals, run_aways] = self.counts;
        LengthFigures {
            answers: self.answers,
            kept,
            refusals,
            run_aways,
            chars: self.chars.distribution(),
            tokens: self.tokens.distribution(),
        }
    }
}
