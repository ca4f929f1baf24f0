//! Which tokens make good random prompts: words that keep their identity when a sequence of them
//! is decoded and encoded again. Families of tokenizers mark words differently (a leading space,
//! `▁`, or `##` on what is no word), so it is told by behaviour, never by the spelling of a token.

use inferometer_stats::seed;

/// Enough words for a prompt to differ from any other, few enough to be found in a second.
const MOST: usize = 16_384;

/// With fewer words than this, Chinese characters are taken as well. Not otherwise: with nothing
/// between them they grow together with their neighbours into other tokens, and into long pieces
/// that no tokenizer has seen before and that take it longest.
const FEW: usize = 1_024;

/// What a tokenizer does, where it can.
pub struct Behaviour<'a> {
    pub decode: &'a dyn Fn(&[u32]) -> Option<String>,
    pub encode: &'a dyn Fn(&str) -> Option<Vec<u32>>,
}

/// The plain ones of `ids`, sorted: at most 16,384, drawn evenly from the vocabulary.
///
/// A plain id decodes to a word with a space before it (or, where those are few, to one Chinese
/// character), and comes back from decoding and encoding it twice in a row and between words.
pub fn select(mut ids: Vec<u32>, tokenizer: &Behaviour) -> Vec<u32> {
    shuffle(&mut ids);
    let taken = |is: &dyn Fn(u32) -> bool| -> Vec<u32> {
        ids.iter()
            .copied()
            .filter(|id| is(*id) && tokenizer.gives_back(&[*id, *id]))
            .take(MOST)
            .collect()
    };
    let mut plain = taken(&|id| tokenizer.is_word(id));
    let anchor = plain.first().copied();
    if plain.len() < FEW {
        plain.extend(taken(&|id| tokenizer.is_chinese_character(id)));
    }
    if let Some(anchor) = anchor {
        plain.retain(|id| tokenizer.gives_back(&[anchor, *id, anchor]));
    }
    plain.sort_unstable();
    plain
}

impl Behaviour<'_> {
    /// Whether decoding and encoding makes the same ids of these.
    fn gives_back(&self, ids: &[u32]) -> bool {
        (self.decode)(ids).and_then(|text| (self.encode)(&text)).is_some_and(|again| again == ids)
    }

    /// Whether two of this token in a row read as two words.
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

/// A Chinese character: CJK unified ideographs and extension A.
pub fn is_han(character: char) -> bool {
    matches!(character, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}')
}

/// An order that has nothing to do with the frequency of words, the same on every machine.
fn shuffle(ids: &mut [u32]) {
    let mut rng = seed::rng(0, &["plain ids"]);
    for last in (1..ids.len()).rev() {
        ids.swap(last, seed::below(&mut rng, last as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A vocabulary by position; the longest token that fits is taken first.
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
    fn only_whole_words_that_come_back_are_plain() {
        // No space before it, a number, a mark, a space alone; a word that doubles into another
        // token; two characters at once, and one that doubles into another token. Of two tokens
        // with the same text, the one that encoding gives is plain.
        let others = ["word", " 7", ".", " ", " so", " so so", " two", "中国", "人", "人人"];
        let plain = [" two", " good", " naïve", "中", " 国"];
        let all: Vec<&str> = others.into_iter().chain(plain).collect();
        assert_eq!(selected(&all), plain);
    }

    #[test]
    fn chinese_characters_are_taken_only_where_words_are_few() {
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
