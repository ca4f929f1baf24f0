//! The tokenizer that the binary carries, so that nothing needs the network: byte-level BPE over
//! English and Chinese, made by `examples/train_tokenizer.rs` from `corpus/`.
//!
//! It shapes prompts. It never counts what a foreign model said.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use inferometer_core::traits::{Tokenizer, TokenizerError};

use super::HfTokenizer;

static EMBEDDED: LazyLock<Arc<Embedded>> = LazyLock::new(|| {
    let bytes = include_bytes!("../../assets/tokenizer.json");
    let inner = HfTokenizer::from_bytes("embedded", bytes);
    let inner = inner.expect("invariant: the embedded tokenizer is one");
    let word = |id: &u32| Some(inner.decode(&[*id]).ok()?.strip_prefix(' ')?.to_owned());
    let words = inner.plain_ids().iter().filter_map(word).collect();
    Arc::new(Embedded { inner, words })
});

/// The binary's own tokenizer, named `embedded`.
#[must_use]
pub fn embedded() -> Arc<dyn Tokenizer> {
    EMBEDDED.clone()
}

/// The tokenizer, and a short cut: it splits text before each space that a letter follows, so
/// that text of nothing but plain words, each behind a space, has as many tokens as words.
struct Embedded {
    inner: HfTokenizer,
    /// The plain words, without their space.
    words: HashSet<String>,
}

impl Embedded {
    /// The words of a text that has nothing but plain words.
    fn plain_words(&self, text: &str) -> Option<u32> {
        let mut parts = text.split(' ');
        let before_the_first = parts.next()?;
        let mut count = 0;
        let all = parts.all(|word| {
            count += 1;
            self.words.contains(word)
        });
        (before_the_first.is_empty() && all).then_some(count)
    }
}

impl Tokenizer for Embedded {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn count(&self, text: &str) -> Result<u32, TokenizerError> {
        match self.plain_words(text) {
            Some(count) => Ok(count),
            None => self.inner.count(text),
        }
    }

    fn encode(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        self.inner.encode(text)
    }

    fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError> {
        self.inner.decode(ids)
    }

    fn plain_ids(&self) -> &[u32] {
        self.inner.plain_ids()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_words_are_counted_as_the_tokenizer_counts_them() {
        let ids = EMBEDDED.plain_ids();
        for (take, skip) in [(1, 0), (2, 7), (64, 100), (ids.len(), 0)] {
            let text = EMBEDDED.decode(&ids[skip..][..take]).expect("plain ids decode");
            assert_eq!(EMBEDDED.plain_words(&text), Some(take as u32), "{text:.80}");
            assert_eq!(EMBEDDED.inner.count(&text), Ok(take as u32), "{text:.80}");
        }
    }

    #[test]
    fn text_of_anything_else_takes_the_long_way() {
        let word = EMBEDDED.decode(&EMBEDDED.plain_ids()[..1]).expect("plain ids decode");
        for odd in ["", "one", " ", "  ", ".", " .", "7", " 7", "\n", "中", " qzxqzxqzx", "'s"] {
            for text in [format!("{word}{odd}"), format!("{odd}{word}"), odd.to_owned()] {
                assert_eq!(EMBEDDED.count(&text), EMBEDDED.inner.count(&text), "{text:?}");
            }
        }
    }
}
