//! The tokenizer inside the binary, which needs no network. It is a byte-level BPE for English and
//! Chinese, trained by `examples/train_tokenizer.rs` on `corpus/`.
//!
//! This tokenizer is used to make prompts, and by the embedded engine. It does not count the output of
//! other models, because they have other tokenizers.

use std::sync::{Arc, LazyLock};

use inferometer_model::{Tokenizer, TokenizerError, tokenizer::PlainWords};

use super::HfTokenizer;

const FILE: &[u8] = include_bytes!("../../assets/tokenizer.json");

/// The plain ids of the tokenizer with their words, one per line. No token spans two of these words. They are stored,
/// because reading the tokenizer takes a quarter of the processor time of a short run, and selecting and testing the ids
/// takes as long again.
const PLAIN_WORDS: &str = include_str!("../../assets/plain_words.txt");

/// The tokenizer. Its file is read when a text is first encoded or decoded: prompts of plain words need neither.
struct Embedded {
    ids: Vec<u32>,
    words: PlainWords,
    whole: LazyLock<HfTokenizer>,
}

static EMBEDDED: LazyLock<Arc<Embedded>> = LazyLock::new(|| {
    let read = |line: &str| {
        let (id, word) = line.split_once(' ')?;
        Some((id.parse::<u32>().ok()?, Box::from(format!(" {word}"))))
    };
    let lines = PLAIN_WORDS.lines();
    let words = lines.map(|line| read(line).expect("invariant: each line is an id and a word"));
    let (ids, first): (_, Vec<Box<str>>) = words.unzip();
    let words = PlainWords { behind: first.clone(), first, encodes_exactly: true, is_proved: true };
    Arc::new(Embedded { ids, words, whole: LazyLock::new(whole) })
});

/// The tokenizer inside the binary, named `embedded`.
pub fn embedded() -> Arc<dyn Tokenizer> {
    EMBEDDED.clone()
}

fn whole() -> HfTokenizer {
    let tokenizer = HfTokenizer::from_bytes("embedded", FILE);
    tokenizer.expect("invariant: the embedded file is a valid tokenizer")
}

impl Tokenizer for Embedded {
    fn name(&self) -> String {
        "embedded".to_owned()
    }

    fn count(&self, text: &str) -> Result<u32, TokenizerError> {
        self.whole.count(text)
    }

    fn encode(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        self.whole.encode(text)
    }

    fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError> {
        self.whole.decode(ids)
    }

    fn plain_ids(&self) -> &[u32] {
        &self.ids
    }

    fn plain_words(&self) -> Option<&PlainWords> {
        Some(&self.words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If `UPDATE_FIXTURES` is set, this test first writes the file of the words. If they have changed, the test then
    /// passes only after the next build, because the binary contains the file.
    #[test]
    fn the_stored_plain_words_are_the_selected_ones_and_are_kept_apart() {
        let selecting = whole();
        let found = selecting.plain_words().expect("the tokenizer keeps words apart");
        if std::env::var_os("UPDATE_FIXTURES").is_some() {
            let file = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/plain_words.txt");
            let lines = selecting.plain_ids().iter().zip(&found.first);
            let text: String = lines.map(|(id, word)| format!("{id}{word}\n")).collect();
            std::fs::write(file, text).expect("the folder of this package can be written");
        }
        assert_eq!(selecting.plain_ids(), EMBEDDED.plain_ids());
        assert_eq!((&found.first, &found.behind), (&EMBEDDED.words.first, &EMBEDDED.words.behind));
        assert_eq!(selecting.name(), EMBEDDED.name());
    }
}
