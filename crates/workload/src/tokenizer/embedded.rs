//! The tokenizer inside the binary, so that no network is needed. It is a byte-level BPE for English and
//! Chinese, trained by `examples/train_tokenizer.rs` on `corpus/`.
//!
//! It is used to make prompts. It does not count the output of a model, because the model has another
//! tokenizer.

use std::sync::{Arc, LazyLock};

use inferometer_model::tokenizer::Tokenizer;

use super::HfTokenizer;

static EMBEDDED: LazyLock<Arc<HfTokenizer>> = LazyLock::new(|| {
    let bytes = include_bytes!("../../assets/tokenizer.json");
    let tokenizer = HfTokenizer::from_bytes("embedded", bytes);
    Arc::new(tokenizer.expect("invariant: the embedded file is a valid tokenizer"))
});

/// The tokenizer inside the binary, named `embedded`.
pub fn embedded() -> Arc<dyn Tokenizer> {
    EMBEDDED.clone()
}
