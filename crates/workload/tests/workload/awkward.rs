//! Tests with tokenizers that make it hard or impossible to create prompts of an exact length.

use std::sync::Arc;

use inferometer_model::tokenizer::{PlainWords, Tokenizer, TokenizerError};
use inferometer_plan::WorkloadPlan;
use inferometer_workload::{Note, OpenWorkload, WorkloadError};

use crate::support::{SHAREGPT, cell, place};

/// A tokenizer with the words `w0` to `w99`. Each word is one token, with the exceptions of [`Kind`].
struct Awkward {
    kind: Kind,
    plain: Vec<u32>,
    /// The texts of the words, and whether the tokenizer claims to keep words apart; `None` if the
    /// tokenizer does not have the texts.
    words: Option<PlainWords>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Two neighbouring words are one token if the sum of their numbers is a multiple of five.
    Merges,
    /// A word is two tokens if its number is a multiple of seven and it is not the first word.
    Splits,
    /// The number of tokens of a text is always even.
    Even,
    /// Encoding fails.
    Fails,
    /// The tokenizer has too few words.
    Wordless,
}

impl Awkward {
    fn tokenizer(kind: Kind) -> Arc<dyn Tokenizer> {
        let words = if kind == Kind::Wordless { 3 } else { 100 };
        Arc::new(Self { kind, plain: (0..words).collect(), words: None })
    }

    /// As [`Awkward::tokenizer`], but the tokenizer has the texts of its words. `apart` is whether it
    /// claims to keep words apart.
    fn writing(kind: Kind, apart: bool) -> Arc<dyn Tokenizer> {
        let plain: Vec<u32> = (0..100).collect();
        let texts: Vec<Box<str>> = plain.iter().map(|id| format!(" w{id}").into()).collect();
        let (first, behind) = (texts.clone(), texts);
        let words = PlainWords { first, behind, encodes_exactly: apart, ..PlainWords::default() };
        Arc::new(Self { kind, plain, words: Some(words) })
    }
}

fn number(word: &str) -> u32 {
    word.trim_start_matches('w').parse().unwrap_or(1)
}

impl Tokenizer for Awkward {
    fn name(&self) -> String {
        "awkward".to_owned()
    }

    fn encode(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        if self.kind == Kind::Fails {
            return Err(TokenizerError { tokenizer: self.name(), message: "gave up".to_owned() });
        }
        let mut ids: Vec<u32> = Vec::new();
        for word in text.split_whitespace().map(number) {
            match (self.kind, ids.last()) {
                (Kind::Merges, Some(last)) if *last < 100 && (last + word) % 5 == 0 => {
                    ids.pop();
                    ids.push(100);
                }
                (Kind::Splits, Some(_)) if word % 7 == 0 => ids.extend([word, 101]),
                _ => ids.push(word),
            }
        }
        if self.kind == Kind::Even && ids.len() % 2 == 1 {
            ids.push(102);
        }
        Ok(ids)
    }

    fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError> {
        Ok(ids.iter().map(|id| format!(" w{id}")).collect())
    }

    fn plain_ids(&self) -> &[u32] {
        &self.plain
    }

    fn plain_words(&self) -> Option<&PlainWords> {
        self.words.as_ref()
    }
}

fn random(kind: Kind) -> Result<OpenWorkload, WorkloadError> {
    OpenWorkload::open(&WorkloadPlan::Random, Awkward::tokenizer(kind), 1, "salt")
}

#[test]
fn prompts_have_exact_lengths_even_if_the_tokenizer_joins_or_splits_words() {
    for kind in [Kind::Merges, Kind::Splits] {
        for length in [1, 2, 16, 128, 777] {
            let built = random(kind).unwrap().requests(cell(length), &place(), 50).unwrap();
            assert!(built.requests.iter().all(|request| request.counted_tokens == Some(length)));
        }
    }
}

#[test]
fn a_false_claim_of_the_tokenizer_to_keep_words_apart_does_not_change_the_prompts() {
    for kind in [Kind::Merges, Kind::Splits] {
        let of = |tokenizer| {
            let spec = OpenWorkload::open(&WorkloadPlan::Random, tokenizer, 1, "salt").unwrap();
            spec.requests(cell(777), &place(), 50).unwrap()
        };
        for apart in [true, false] {
            let built = of(Awkward::writing(kind, apart));
            assert!(built.requests.iter().all(|request| request.counted_tokens == Some(777)));
            assert_eq!(built, of(Awkward::tokenizer(kind)));
        }
    }
}

#[test]
fn a_prompt_length_that_cannot_be_reached_is_reported_with_the_actual_count() {
    let spec = random(Kind::Even).unwrap();
    let built = spec.requests(cell(33), &place(), 10).unwrap();
    for request in &built.requests {
        let counted = request.counted_tokens.unwrap();
        assert!(counted == 32 || counted == 34, "{counted}");
    }
    let [Note::Inexact { prompts: 10, asked: 33, farthest: 32 | 34 }] = built.notes[..] else {
        panic!("{:?}", built.notes)
    };
    assert_eq!(spec.requests(cell(34), &place(), 10).unwrap().notes, []);
}

#[test]
fn a_tokenizer_that_fails_or_has_too_few_words_is_an_error() {
    let spec = random(Kind::Fails).unwrap();
    let error = spec.requests(cell(16), &place(), 20).unwrap_err();
    assert_eq!(error.to_string(), "tokenizer awkward: gave up");

    let sharegpt = WorkloadPlan::Sharegpt { dataset: SHAREGPT.to_owned() };
    for plan in [WorkloadPlan::Random, sharegpt] {
        let error = OpenWorkload::open(&plan, Awkward::tokenizer(Kind::Wordless), 1, "salt").err();
        let tokenizer = "awkward".to_owned();
        let expected = WorkloadError::TooFewPlainTokens { tokenizer, found: 3, needed: 16 };
        assert_eq!(error, Some(expected));
    }
}
