//! The interface of a tokenizer, which other crates implement.

/// Counts, encodes and decodes tokens.
pub trait Tokenizer: Send + Sync {
    /// The name of the tokenizer in the environment of a run: a path, a hub id, the address of a server that
    /// tokenizes, or `embedded`.
    fn name(&self) -> String;

    /// SHA-256 of the tokenizer's file, in hexadecimal digits; `None` if the user named no file. The hash
    /// identifies the same file under another path or on another machine.
    fn sha256(&self) -> Option<String> {
        None
    }

    /// Number of tokens of a text, without the special tokens that a server would add.
    ///
    /// # Errors
    /// When the text cannot be tokenized, or the server that tokenizes it does not answer.
    fn count(&self, text: &str) -> Result<u32, TokenizerError> {
        Ok(self.encode(text)?.len() as u32)
    }

    /// The token ids of a text, without the special tokens that a server would add.
    ///
    /// # Errors
    /// The same errors as [`Tokenizer::count`].
    fn encode(&self, text: &str) -> Result<Vec<u32>, TokenizerError>;

    /// The text of some token ids.
    ///
    /// # Errors
    /// When an id is not in the vocabulary, or the server that decodes the ids does not answer.
    fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError>;

    /// The plain ids: the ids of the tokens from which random prompts are made.
    fn plain_ids(&self) -> &[u32];

    /// The texts of the plain ids, if prompts can be joined from these texts. `None` if it is not known
    /// whether they can; prompts are then made with [`Tokenizer::decode`].
    fn plain_words(&self) -> Option<&PlainWords> {
        None
    }

    /// How many calls of this tokenizer should run at the same time; `None` for one per processor. More
    /// calls are useful if a server tokenizes, because a call then mostly waits for the server.
    fn calls_at_once(&self) -> Option<usize> {
        None
    }
}

/// The texts of a tokenizer's plain ids, in the order of [`Tokenizer::plain_ids`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlainWords {
    /// The text of each plain id at the beginning of a text.
    pub first: Vec<Box<str>>,
    /// The text of each plain id after another word, with the space before it.
    pub behind: Vec<Box<str>>,
    /// Whether [`PlainWords::text`] is always encoded as exactly the same ids. If not, the tokens of each
    /// text must be counted.
    pub encodes_exactly: bool,
    /// Whether a test of this program shows this, so that no text is counted as a check.
    pub is_proved: bool,
}

impl PlainWords {
    /// The text of a sequence of plain ids, given by their positions in [`Tokenizer::plain_ids`].
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

/// An error of a tokenizer, with its message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tokenizer {tokenizer}: {message}")]
pub struct TokenizerError {
    /// The name of the tokenizer ([`Tokenizer::name`]).
    pub tokenizer: String,
    /// What went wrong.
    pub message: String,
}
