//! Selects the tokens for random prompts: words whose ids stay the same when a sequence of them is
//! decoded and encoded again. Tokenizers mark the beginning of words differently (a leading space, `▁`,
//! or no `##`). So words are recognised by their decoded text, never by the spelling of a token.

use inferometer_model::stats::seed;

/// The largest number of words that are selected. It is large enough for different prompts, and small
/// enough for a selection within a second.
const MOST: usize = 16_384;

/// If there are fewer words than this, Chinese characters are used too. Otherwise Chinese characters are
/// avoided: there are no spaces between them, so neighbouring characters may merge into other tokens.
/// Also, long texts without spaces are the slowest to tokenize.
const FEW: usize = 1_024;

/// A tokenizer as two functions, which return `None` on failure.
pub struct Behaviour<'a> {
    pub decode: &'a dyn Fn(&[u32]) -> Option<String>,
    pub encode: &'a dyn Fn(&str) -> Option<Vec<u32>>,
}

/// Selects the plain ids among `ids` at random, and returns them sorted. The result has at most 16,384
/// words. If it has fewer than 1,024 words, it also has up to 16,384 Chinese characters.
///
/// A plain id decodes to a word that a space separates from the word before it, or to one Chinese
/// character. Two sequences stay the same when they are decoded and encoded again: the id twice in a row,
/// and the id between two copies of one selected word. The second sequence is not tested if there is no word.
pub fn select(mut ids: Vec<u32>, tokenizer: &Behaviour) -> Vec<u32> {
    shuffle(&mut ids);
    let matching = |is: &dyn Fn(u32) -> bool| -> Vec<u32> {
        ids.iter()
            .copied()
            .filter(|id| is(*id) && tokenizer.round_trips(&[*id, *id]))
            .take(MOST)
            .collect()
    };
    let mut plain = matching(&|id| tokenizer.is_word(id));
    let anchor = plain.first().copied();
    if plain.len() < FEW {
        plain.extend(matching(&|id| tokenizer.is_chinese_character(id)));
    }
    if let Some(anchor) = anchor {
        plain.retain(|id| tokenizer.round_trips(&[anchor, *id, anchor]));
    }
    plain.sort_unstable();
    plain
}

impl Behaviour<'_> {
    /// Whether a sequence of ids stays the same when it is decoded and encoded again.
    fn round_trips(&self, ids: &[u32]) -> bool {
        (self.decode)(ids).and_then(|text| (self.encode)(&text)).is_some_and(|again| again == ids)
    }

    /// Whether a token decodes to a word of letters. Two such tokens in a row must also decode to this
    /// word twice, with a space between.
    pub(super) fn is_word(&self, id: u32) -> bool {
        self.once_and_twice(id).is_some_and(|(alone, twice)| {
            let word = alone.strip_prefix(' ').unwrap_or(&alone);
            let is_alphabetic = !word.is_empty() && word.chars().all(char::is_alphabetic);
            is_alphabetic && twice == format!("{alone} {word}")
        })
    }

    fn is_chinese_character(&self, id: u32) -> bool {
        self.once_and_twice(id).is_some_and(|(alone, twice)| {
            let mut characters = alone.chars();
            let is_one = characters.next().is_some_and(is_han) && characters.next().is_none();
            is_one && twice == alone.repeat(2)
        })
    }

    fn once_and_twice(&self, id: u32) -> Option<(String, String)> {
        Some(((self.decode)(&[id])?, (self.decode)(&[id, id])?))
    }
}

/// Whether a character is Chinese: in the block CJK Unified Ideographs or its Extension A.
pub fn is_han(character: char) -> bool {
    matches!(character, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}')
}

/// Shuffles ids, because ids may be ordered by the frequency of their words. The result is the same on
/// every machine.
fn shuffle(ids: &mut [u32]) {
    let mut rng = seed::rng(0, &["plain ids"]);
    for last in (1..ids.len()).rev() {
        ids.swap(last, seed::below(&mut rng, last as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The plain tokens of a vocabulary whose ids are the positions of its tokens. Encoding always
    /// selects the longest token that fits.
    fn selected(vocabulary: &[&str]) -> Vec<String> {
        let decode = |ids: &[u32]| Some(ids.iter().map(|id| vocabulary[*id as usize]).collect());
        let encode = |mut text: &str| {
            let mut ids = Vec::new();
            while !text.is_empty() {
                let fits = (0..vocabulary.len()).filter(|at| text.starts_with(vocabulary[*at]));
                let longest = fits.max_by_key(|at| vocabulary[*at].len())?;
                ids.push(longest as u32);
                text = &text[vocabulary[longest].len()..];
            }
            Some(ids)
        };
        let tokenizer = Behaviour { decode: &decode, encode: &encode };
        let plain = select((0..vocabulary.len() as u32).collect(), &tokenizer);
        plain.iter().map(|id| vocabulary[*id as usize].to_owned()).collect()
    }

    #[test]
    fn only_whole_words_that_are_encoded_as_the_same_token_again_are_plain() {
        // The tokens in `others` are not plain. Some have no space before them, or are numbers or marks.
        // Others form another token when they are doubled. Of two tokens with the same text, only the
        // token that encoding returns is plain.
        let others = ["word", " 7", ".", " ", " so", " so so", " two", "中国", "人", "人人"];
        let plain = [" two", " good", " naïve", "中", " 国"];
        let all: Vec<&str> = others.into_iter().chain(plain).collect();
        assert_eq!(selected(&all), plain);
    }

    #[test]
    fn chinese_characters_are_plain_tokens_only_if_the_vocabulary_has_few_words() {
        let letters = || ('a'..='z').map(String::from);
        let words: Vec<String> = letters()
            .flat_map(|a| letters().flat_map(move |b| [format!(" {a}{b}x"), format!(" {a}{b}y")]))
            .chain(["中".to_owned()])
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        assert!(!selected(&words).contains(&"中".to_owned()));
        assert!(selected(&words[words.len() - FEW..]).contains(&"中".to_owned()));
    }
}
