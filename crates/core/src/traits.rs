//! What the rooms around the core provide to one another.

use crate::record::Record;
use crate::request::Request;

/// Counts, makes and takes apart tokens.
pub trait Tokenizer: Send + Sync {
    /// What it is, for the environment record: a path, a hub id, `embedded`.
    fn name(&self) -> String;

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
    #[must_use]
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

/// What a [`Source`] has to say when it is asked for a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Supply {
    /// The next request.
    Request(Box<Request>),
    /// None until a request in flight has ended.
    Wait,
    /// No more.
    Exhausted,
}

/// What follows a request that has ended, in its conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Follows {
    /// Nothing.
    Nothing,
    /// The next turn.
    Turn(Box<Request>),
    /// Turns that were planned and never will be sent.
    Skipped(Vec<Request>),
}

/// Where the requests of one pass come from.
pub trait Source: Send {
    /// The next request that follows no other: of a conversation, the first turn. The n-th of them
    /// begins the conversation n, counted from 0.
    fn next(&mut self) -> Supply;

    /// Tells that a request of a conversation ended, with its answer where that was kept, and asks
    /// what follows it.
    fn ended(&mut self, _conversation: u32, _record: &Record, _answer: &str) -> Follows {
        Follows::Nothing
    }

    /// A request that is planned and will never be sent, because the pass ends early.
    fn unsent(&mut self) -> Option<Request> {
        match self.next() {
            Supply::Request(request) => Some(*request),
            Supply::Wait | Supply::Exhausted => None,
        }
    }
}

/// A source that holds its requests, in order.
#[derive(Debug)]
pub struct Prepared(std::vec::IntoIter<Request>);

impl Prepared {
    /// A source that hands out these requests.
    #[must_use]
    pub fn new(requests: Vec<Request>) -> Self {
        Self(requests.into_iter())
    }
}

impl Source for Prepared {
    fn next(&mut self) -> Supply {
        self.0.next().map_or(Supply::Exhausted, |request| Supply::Request(Box::new(request)))
    }
}
