//! What was said in a session so far.

use inferometer_model::Prompt;
use inferometer_model::request::{Message, message};

use crate::History;

/// The turns and answers of a session so far.
#[derive(Clone, Debug)]
pub enum Transcript {
    /// As messages.
    Messages(Vec<Message>),
    /// As one text, and whether its end is an answer.
    Text(String, bool),
}

impl Transcript {
    /// A session without turns.
    pub fn new(history: History) -> Self {
        match history {
            History::Messages => Self::Messages(Vec::new()),
            History::Text => Self::Text(String::new(), false),
        }
    }

    /// Adds a turn of the user, and returns the prompt that it ends.
    pub fn ask(&mut self, turn: &str) -> Prompt {
        match self {
            Self::Messages(messages) => {
                messages.push(message("user", turn));
                Prompt::Messages(messages.clone())
            }
            Self::Text(text, is_answered) => {
                if std::mem::take(is_answered) {
                    text.push('\n');
                }
                text.push_str(turn);
                Prompt::Text(text.clone())
            }
        }
    }

    /// Adds the answer to the last turn, with the reasoning before it unless this is empty.
    pub fn answer(&mut self, answer: &str, reasoning: &str) {
        match self {
            Self::Messages(messages) => {
                let mut said = message("assistant", answer);
                if !reasoning.is_empty() {
                    said.insert("reasoning_content".to_owned(), reasoning.into());
                }
                messages.push(said);
            }
            Self::Text(text, is_answered) => {
                text.push_str(reasoning);
                text.push_str(answer);
                *is_answered = true;
            }
        }
    }
}
