//! The conversations during a pass. Each turn is sent together with all earlier turns and with the server's
//! unchanged answers to them. The load model, not this module, determines when a turn is due.

use inferometer_model::request::{Message, message};
use inferometer_model::source::{Follows, Supply};
use inferometer_model::{Prompt, Record, Request, Source};

use crate::Turn;

/// How earlier turns and answers become part of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History {
    /// As messages of the user and the assistant.
    Messages,
    /// As one text: each answer directly follows its turn, and the next turn begins on a new line.
    Text,
}

/// The turns and answers of a conversation so far.
enum Transcript {
    Messages(Vec<Message>),
    Text(String),
}

struct Conversation {
    turns: Vec<Turn>,
    /// The number of turns for which a request was already made, including requests that are never sent.
    used: usize,
    transcript: Transcript,
}

impl Conversation {
    /// Makes the request of the next turn. `answer` is the answer to the previous turn; it is ignored for
    /// a first turn.
    fn next(&mut self, answer: &str) -> Request {
        let turn = &self.turns[self.used];
        let prompt = match &mut self.transcript {
            Transcript::Messages(messages) => {
                if self.used > 0 {
                    messages.push(message("assistant", answer));
                }
                messages.push(message("user", &turn.text));
                Prompt::Messages(messages.clone())
            }
            Transcript::Text(text) => {
                if self.used > 0 {
                    text.push_str(answer);
                    text.push('\n');
                }
                text.push_str(&turn.text);
                Prompt::Text(text.clone())
            }
        };
        self.used += 1;
        self.request(prompt, self.used - 1)
    }

    /// The request of the turn with index `number`, with this prompt.
    fn request(&self, prompt: Prompt, number: usize) -> Request {
        let turn = &self.turns[number];
        // The prompt of a later turn contains the server's answers, so its length is not planned.
        let (input, counted) =
            if number == 0 { (turn.input_tokens, turn.counted_tokens) } else { (0, None) };
        Request {
            counted_tokens: counted,
            class: Some(format!("turn {}", number + 1).into()),
            ..Request::new(prompt, input, turn.output_tokens)
        }
    }

    /// The requests of the remaining turns, which are recorded but never sent. Their prompts are empty.
    fn rest(&mut self) -> Vec<Request> {
        let first = std::mem::replace(&mut self.used, self.turns.len());
        (first..self.turns.len()).map(|at| self.request(Prompt::Text(String::new()), at)).collect()
    }
}

/// The conversations of a pass.
pub struct Dialogue {
    conversations: Vec<Conversation>,
    begun: usize,
    /// The requests that will never be sent and are not yet recorded, the last one first.
    unsent: Vec<Request>,
}

impl Dialogue {
    /// Conversations with these users' turns. Each conversation must have at least one turn.
    pub fn new(turns: Vec<Vec<Turn>>, history: History) -> Self {
        let transcript = || match history {
            History::Messages => Transcript::Messages(Vec::new()),
            History::Text => Transcript::Text(String::new()),
        };
        let conversation = |turns| Conversation { turns, used: 0, transcript: transcript() };
        let conversations = turns.into_iter().map(conversation).collect();
        Self { conversations, begun: 0, unsent: Vec::new() }
    }
}

impl Source for Dialogue {
    fn next(&mut self) -> Supply {
        let Some(conversation) = self.conversations.get_mut(self.begun) else {
            return Supply::Exhausted;
        };
        self.begun += 1;
        Supply::Request(Box::new(conversation.next("")))
    }

    fn ended(&mut self, number: u32, record: &Record, answer: &str) -> Follows {
        let conversation = &mut self.conversations[number as usize];
        if conversation.used == conversation.turns.len() {
            // The conversation has ended, so the memory of its transcript is freed.
            conversation.transcript = Transcript::Text(String::new());
            Follows::Nothing
        } else if record.outcome.is_complete() {
            Follows::Turn(Box::new(conversation.next(answer)))
        } else {
            Follows::Skipped(conversation.rest())
        }
    }

    fn unsent(&mut self) -> Option<Request> {
        if self.unsent.is_empty() {
            self.unsent =
                self.conversations.iter_mut().flat_map(Conversation::rest).rev().collect();
        }
        self.unsent.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_model::outcome::Outcome;
    use inferometer_model::time::Nanos;

    fn turn(text: &str) -> Turn {
        let (input_tokens, counted_tokens) = (2, Some(2));
        Turn { text: text.to_owned(), input_tokens, counted_tokens, output_tokens: 5 }
    }

    fn dialogue(history: History) -> Dialogue {
        Dialogue::new(
            vec![vec![turn("one"), turn("two"), turn("three")], vec![turn("hi")]],
            history,
        )
    }

    fn first(source: &mut Dialogue) -> Request {
        match source.next() {
            Supply::Request(request) => *request,
            other => panic!("{other:?}"),
        }
    }

    fn after(source: &mut Dialogue, conversation: u32, outcome: Outcome, answer: &str) -> Follows {
        let record = Record { outcome, ..Record::planned(0, 0, Nanos::ZERO) };
        source.ended(conversation, &record, answer)
    }

    #[test]
    fn later_prompts_contain_earlier_answers_verbatim_as_messages_or_as_text() {
        for history in [History::Messages, History::Text] {
            let mut source = dialogue(history);
            first(&mut source);
            after(&mut source, 0, Outcome::Complete, " \"42\"\n对 ");
            let Follows::Turn(third) = after(&mut source, 0, Outcome::Complete, "") else {
                panic!("a third turn")
            };
            let expected = match history {
                History::Text => Prompt::Text("one \"42\"\n对 \ntwo\nthree".to_owned()),
                History::Messages => Prompt::Messages(vec![
                    message("user", "one"),
                    message("assistant", " \"42\"\n对 "),
                    message("user", "two"),
                    message("assistant", ""),
                    message("user", "three"),
                ]),
            };
            assert_eq!(third.prompt, expected);
            assert_eq!(third.class.as_deref(), Some("turn 3"));
            assert_eq!(
                (third.input_tokens, third.counted_tokens, third.output_tokens),
                (0, None, 5)
            );
            assert_eq!(after(&mut source, 0, Outcome::Complete, "bye"), Follows::Nothing);
        }
    }

    #[test]
    fn turns_after_a_failed_turn_are_skipped_with_their_class_names() {
        let mut source = dialogue(History::Text);
        first(&mut source);
        let Follows::Skipped(rest) = after(&mut source, 0, Outcome::Truncated, "half") else {
            panic!("skipped turns")
        };
        let classes: Vec<_> = rest.iter().map(|request| request.class.as_deref()).collect();
        assert_eq!(classes, [Some("turn 2"), Some("turn 3")]);
        assert_eq!(first(&mut source).class.as_deref(), Some("turn 1"));
        assert_eq!(source.next(), Supply::Exhausted);
    }

    #[test]
    fn every_unsent_turn_is_returned_when_a_pass_ends_early() {
        let mut source = dialogue(History::Messages);
        first(&mut source);
        let rest: Vec<_> = std::iter::from_fn(|| source.unsent()).collect();
        let classes: Vec<_> = rest.iter().map(|request| request.class.as_deref()).collect();
        assert_eq!(classes, [Some("turn 2"), Some("turn 3"), Some("turn 1")]);
    }
}
