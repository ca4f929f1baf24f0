//! Determines whether a tokenizer keeps words apart. If it does, a text of n plain words has n tokens,
//! so its tokens can be counted without encoding it. Encoding takes most of the time of making prompts.
//!
//! A token that covers the end of one word and the beginning of the next word contains a letter followed
//! by a space. If the vocabulary has no such token, no model (BPE, Unigram, WordPiece) can join two
//! words. Each word is then encoded as if it were alone. The rules of the pre-tokenizer could still
//! depend on the characters on both sides of a space. So texts of the words in several orders are tested
//! too. This test would not be enough without the check of the vocabulary.

use inferometer_model::tokenizer::PlainWords;

use super::plain::Behaviour;

/// The smallest step sizes for the tested texts. With the step size s, word i + s of the list follows word i. A step size
/// is increased until it has no common divisor with the number of words: then each text contains all words. The step sizes
/// 1 and -1 are tested too. So each word is tested after several other words.
const STEPS: [usize; 2] = [7, 1_009];

/// The texts of the plain ids; `None` if the tokenizer does not keep words apart.
pub fn plain_words(
    mut vocabulary: impl Iterator<Item = u32>,
    plain: &[u32],
    tokenizer: &Behaviour<'_>,
) -> Option<PlainWords> {
    let may_join = |id| (tokenizer.decode)(&[id]).is_none_or(|token| joins_words(&token));
    if vocabulary.any(may_join) {
        return None;
    }
    // Chinese characters have no spaces between them, so the tokenizer may join them.
    if !plain.iter().all(|id| tokenizer.is_word(*id)) {
        return None;
    }
    let words = texts(plain, tokenizer)?;
    let holds = |step: usize| {
        let positions: Vec<usize> = (0..plain.len()).map(|at| at * step % plain.len()).collect();
        let ids: Vec<u32> = positions.iter().map(|at| plain[*at]).collect();
        let text = words.text(&positions);
        (tokenizer.decode)(&ids).is_some_and(|decoded| decoded == text)
            && (tokenizer.encode)(&text).is_some_and(|encoded| encoded == ids)
    };
    steps(plain.len()).all(holds).then_some(words)
}

/// The texts of these plain ids, which must be words of a tokenizer that keeps words apart.
fn texts(plain: &[u32], tokenizer: &Behaviour<'_>) -> Option<PlainWords> {
    let mut words = PlainWords { encodes_exactly: true, ..PlainWords::default() };
    for id in plain {
        let alone = (tokenizer.decode)(&[*id])?;
        words.behind.push(format!(" {}", alone.strip_prefix(' ').unwrap_or(&alone)).into());
        words.first.push(alone.into());
    }
    Some(words)
}

/// The step sizes for a list of `count` words.
fn steps(count: usize) -> impl Iterator<Item = usize> {
    let (forwards, backwards) = (1, count.saturating_sub(1));
    let of_all = move |least: usize| (least..).find(|it| common_divisor(*it, count.max(1)) == 1);
    STEPS.into_iter().filter_map(of_all).chain([forwards, backwards])
}

/// The greatest common divisor of two numbers.
fn common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// Whether the text of a token has a space after a letter. A replacement character counts as a letter,
/// because it may be a part of a letter.
fn joins_words(token: &str) -> bool {
    let may_be_letter = |c: char| c.is_alphabetic() || c == '\u{fffd}';
    let next = token.chars().skip(1);
    token.chars().zip(next).any(|(before, after)| may_be_letter(before) && after == ' ')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// The tokens of the tests. Each vocabulary has the first three tokens, which are words. A test can add the others.
    const VOCABULARY: [&str; 10] =
        [" one", " two", " three", "?", "   ", "\n ", ". ", "one two", "ne ", "\u{fffd} t"];

    fn found(others: &[u32], merged: Option<&str>) -> Option<PlainWords> {
        let decode =
            |ids: &[u32]| Some(ids.iter().map(|id| VOCABULARY[*id as usize]).collect::<String>());
        let encode = |text: &str| {
            let text = merged.map_or(text.to_owned(), |merged| text.replace(merged, " ?"));
            let id = |word| VOCABULARY.iter().position(|known| known.trim() == word);
            text.split_whitespace().map(|word| id(word).map(|id| id as u32)).collect()
        };
        let tokenizer = Behaviour { decode: &decode, encode: &encode };
        plain_words([0, 1, 2].into_iter().chain(others.iter().copied()), &[0, 1, 2], &tokenizer)
    }

    #[test]
    fn the_text_of_words_is_their_concatenation_if_no_token_joins_words() {
        let words = found(&[3, 4, 5, 6], None).expect("the tokenizer keeps words apart");
        assert_eq!(words.text(&[2, 0, 1, 1]), " three one two two");
        assert_eq!(words.text(&[]), "");
    }

    #[test]
    fn a_token_with_a_space_after_a_letter_may_join_two_words() {
        for token in 7..10 {
            assert_eq!(found(&[token], None), None, "{token}");
        }
    }

    #[test]
    fn each_tested_text_contains_every_word() {
        for count in [1, 2, 7, 14, 1_009, 7 * 1_009] {
            for step in steps(count) {
                let reached: HashSet<usize> = (0..count).map(|at| at * step % count).collect();
                assert_eq!(reached.len(), count, "step {step} of {count} words");
            }
        }
        assert_eq!(steps(0).count(), 4);
    }

    #[test]
    fn words_that_the_encoder_joins_are_detected_even_if_no_token_of_the_vocabulary_joins_them() {
        for merged in ["one two", "three two"] {
            assert_eq!(found(&[], Some(merged)), None, "{merged}");
        }
    }
}
