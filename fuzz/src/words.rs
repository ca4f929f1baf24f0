//! A tokenizer with one token for each word, for targets that do not test tokenizers.

use inferometer_model::tokenizer::{Tokenizer, TokenizerError};

pub struct Words(Vec<u32>);

impl Words {
    pub fn new() -> Self {
        Self((0..100).collect())
    }
}

impl Tokenizer for Words {
    fn name(&self) -> String {
        "words".to_owned()
    }

    fn encode(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        Ok(text.split_whitespace().map(|word| word.len() as u32).collect())
    }

    fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError> {
        Ok(ids.iter().map(|id| format!(" w{id}")).collect())
    }

    fn plain_ids(&self) -> &[u32] {
        &self.0
    }
}
