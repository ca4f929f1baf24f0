//! The text of simulated outputs: single tokens of a tokenizer, chosen by a hash. The same prompt
//! always gets the same text.

use inferometer_model::{Tokenizer, TokenizerError};

/// The maximum number of tokens to choose from: decoding a whole vocabulary would delay the start.
const MAX_TOKENS: usize = 4096;

/// Tokens with their texts.
pub(super) struct Words(Vec<(u32, String)>);

impl Words {
    /// A sample of the tokenizer's ordinary tokens, evenly distributed over its vocabulary.
    pub(super) fn new(tokenizer: &dyn Tokenizer) -> Result<Self, TokenizerError> {
        let ids = tokenizer.plain_ids();
        let stride = ids.len().div_ceil(MAX_TOKENS).max(1);
        let mut words = Vec::with_capacity(MAX_TOKENS);
        for &id in ids.iter().step_by(stride) {
            let text = tokenizer.decode(&[id])?;
            // Tokens with incomplete characters or control characters are left out, because a client that tokenizes the
            // text again could get other tokens.
            if !text.is_empty() && !text.contains(|c: char| c.is_control() || c == '\u{fffd}') {
                words.push((id, text));
            }
        }
        if words.is_empty() {
            let message = "none of its ordinary tokens is printable text".to_owned();
            return Err(TokenizerError { tokenizer: tokenizer.name(), message });
        }
        Ok(Self(words))
    }

    /// The token at an index of an output: its id and text.
    pub(super) fn at(&self, seed: u64, index: u32) -> (u32, &str) {
        let chosen = mix(seed ^ mix(u64::from(index) + 1)) % self.0.len() as u64;
        let (id, text) = &self.0[chosen as usize];
        (*id, text)
    }
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
pub(crate) fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// The seed of a prompt's output: FNV-1a over its bytes.
pub(crate) fn seed(prompt: &[u8]) -> u64 {
    prompt.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
