//! What a tokenizer has to offer. The tokenizers themselves are elsewhere.

/// Counts, makes and takes apart tokens.
pub trait Tokenizer: Send + Sync {
    /// What it is, for the environment record: a path, a hub id, `embedded`.
    fn name(&self) -> String;

    /// SHA-256 of the file that it was read from, in hexadecimal digits, if the user named one: the same
    /// tokenizer lies at several paths.
    fn sha256(&self) -> Option<String> {
        None
    }

    /// Number of tokens of a text, special tokens that a server would add not included.
    ///
    /// # Errors
    /// When the text cannot be tokenised, or a server that does it cannot be asked.
    fn count(&self, text: &str) -> Result<u32, TokenizerError> {
        Ok(self.encode(text)?.len() as u32)
    }

    /// The token ids of a text, special tokens that a server would add not included.
    ///
    /// # Errors
    /// As [`Tokenizer::count`].
    fn encode(&self, text: &str) -> Result<Vec<u32>, TokenizerError>;

    /// The text of some token ids.
    ///
    /// # Errors
    /// When an id is none of the vocabulary's, or a server that does it cannot be asked.
    fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError>;

    /// Ids of ordinary tokens that make good random prompts.
    fn plain_ids(&self) -> &[u32];

    /// The plain ids as text, where they can be written one behind another. Absent where that is
    /// not known: text is then what [`Tokenizer::decode`] makes of them.
    fn plain_words(&self) -> Option<&PlainWords> {
        None
    }

    /// Calls that are worth making at once; absent: as many as there are processors. One that asks
    /// a server waits more than it works.
    fn calls_at_once(&self) -> Option<usize> {
        None
    }
}

/// The texts of a tokenizer's plain ids, in the order of [`Tokenizer::plain_ids`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlainWords {
    /// Each as the first word of a text.
    pub first: Vec<Box<str>>,
    /// Each behind another word, the space before it included.
    pub behind: Vec<Box<str>>,
    /// Whether the tokenizer is known to keep them apart: any sequence of them, written by
    /// [`PlainWords::text`], is encoded as these very ids. Otherwise each text has to be counted.
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

/// A tokenizer that failed, with what it said.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tokenizer {tokenizer}: {message}")]
pub struct TokenizerError {
    /// [`Tokenizer::name`]
    pub tokenizer: String,
    /// What went wrong.
    pub message: String,
}
