//! The tokenizer inside the binary, which needs no network. It is a byte-level BPE for English and
//! Chinese, trained by `examples/train_tokenizer.rs` on `corpus/`.
//!
//! This tokenizer is used to make prompts, and by the embedded engine. It does not count the output of
//! other models, because they have other tokenizers.

use std::sync::{Arc, LazyLock};

use inferometer_model::Tokenizer;

use super::HfTokenizer;

const FILE: &[u8] = include_bytes!("../../assets/tokenizer.json");

/// The plain ids of the tokenizer. Each of them is a word, and no token spans two of these words. The ids are stored,
/// because selecting and testing them takes a third of the processor time of a run with one request.
const PLAIN_IDS: &str = include_str!("../../assets/plain_ids.txt");

static EMBEDDED: LazyLock<Arc<HfTokenizer>> = LazyLock::new(|| {
    let ids = PLAIN_IDS.split_ascii_whitespace().map(str::parse);
    let ids = ids.collect::<Result<_, _>>().expect("invariant: the embedded file contains numbers");
    Arc::new(tokenizer().with_plain_words(ids))
});

/// The tokenizer inside the binary, named `embedded`.
pub fn embedded() -> Arc<dyn Tokenizer> {
    EMBEDDED.clone()
}

fn tokenizer() -> HfTokenizer {
    let tokenizer = HfTokenizer::from_bytes("embedded", FILE);
    tokenizer.expect("invariant: the embedded file is a valid tokenizer")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If `UPDATE_FIXTURES` is set, this test first writes the file of the ids. If the ids have changed, the test then
    /// passes only after the next build, because the binary contains the file.
    #[test]
    fn the_stored_plain_ids_are_the_selected_ones_and_their_words_are_kept_apart() {
        let selecting = tokenizer();
        if std::env::var_os("UPDATE_FIXTURES").is_some() {
            let file = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/plain_ids.txt");
            let line =
                |ids: &[u32]| ids.iter().map(u32::to_string).collect::<Vec<_>>().join(" ") + "\n";
            let text: String = selecting.plain_ids().chunks(16).map(line).collect();
            std::fs::write(file, text).expect("the folder of this package can be written");
        }
        assert_eq!(selecting.plain_ids(), EMBEDDED.plain_ids());
        assert!(selecting.plain_words().is_some());
        assert_eq!(selecting.plain_words(), EMBEDDED.plain_words());
    }
}
