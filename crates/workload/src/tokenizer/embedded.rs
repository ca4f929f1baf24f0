//! The tokenizer within the binary, so that nothing needs the network: byte-level BPE for English and
//! Chinese, trained by `examples/train_tokenizer.rs` on `corpus/`.
//!
//! It makes prompts. It never counts the output of a model with another tokenizer.

use std::sync::{Arc, LazyLock};

use inferometer_model::tokenizer::Tokenizer;

use super::HfTokenizer;

static EMBEDDED: LazyLock<Arc<HfTokenizer>> = LazyLock::new(|| {
    let bytes = include_bytes!("../../assets/tokenizer.json");
    let tokenizer = HfTokenizer::from_bytes("embedded", bytes);
    Arc::new(tokenizer.expect("invariant: the embedded tokenizer is one"))
});

/// The binary's own tokenizer, named `embedded`.
pub fn embedded() -> Arc<dyn Tokenizer> {
    EMBEDDED.clone()
}
