//! The interface of a tokenizer. Other crates implement it.

/// Counts, encodes and decodes tokens.
pub trait Tokenizer: Send + Sync {
    /// Its name, for the environment record: a path, a hub id, `embedded`.
    fn name(&self) -> String;

    /// SHA-256 of its file, in hexadecimal digits; `None` if the user named no file. It identifies a
    /// tokenizer whose file has another path on another machine.
    fn sha256(&self) -> Option<String> {
        None
    }

    /// Number of tokens of a text, without the special tokens that a server would add.
    ///
    /// # Errors
    /// When the text cannot be tokenised, or the server that tokenises it does not answer.
    fn count(&self, text: &str) -> Result<u32, TokenizerError> {
        Ok(self.encode(text)?.len() as u32)
    }

    /// The token ids of a text, without the special tokens that a server would add.
    ///
    /// # Errors
    /// As [`Tokenizer::count`].
    fn encode(&self, text: &str) -> Result<Vec<u32>, TokenizerError>;

    /// The text of some token ids.
    ///
    /// # Errors
    /// When an id is not in the vocabulary, or the server that decodes it does not answer.
    fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError>;

    /// Ids of ordinary tokens for random prompts.
    fn plain_ids(&self) -> &[u32];

    /// The texts of the plain ids, if they can be joined to a prompt; `None` if that is not known:
    /// [`Tokenizer::decode`] then makes the prompt.
    fn plain_words(&self) -> Option<&PlainWords> {
        None
    }

    /// How many calls to make at the same time; `None`: one per processor. A tokenizer inside a server mostly
    /// waits, so more calls are useful.
    fn calls_at_once(&self) -> Option<usize> {
        None
    }
}

/// The texts of a tokenizer's plain ids, in the order of [`Tokenizer::plain_ids`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlainWords {
    /// Each word at the beginning of a text.
    pub first: Vec<Box<str>>,
    /// Each word after another word, with the space before it.
    pub behind: Vec<Box<str>>,
    /// Whether any sequence of them, joined by [`PlainWords::text`], is certainly encoded as exactly these
    /// ids. If not, the tokens of each text must be counted.
    pub apart: bool,
}

impl PlainWords {
    /// The text of these words, given by their positions among the plain ids.
    pub fn text(&self, positions: &[usize]) -> String {
        let words = || {
            positions.iter().enumerate().map(|(at, word)| match at {
                0 => &*self.first[*word],
                _ => &*self.behind[*word],
            })
        };
        let mut text = String::with_capacity(words().map(str::len).sum());
        words().for_each(|word| text.push_str(word));
        text
    }
}

/// The failure of a tokenizer, with its message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tokenizer {tokenizer}: {message}")]
pub struct TokenizerError {
    /// [`Tokenizer::name`]
    pub tokenizer: String,
    /// What went wrong.
    pub message: String,
}
