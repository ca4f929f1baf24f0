//! Conversations as they are led: each turn carries what was said before it, the server's own
//! answers word for word. What is due when is not decided here.

use inferometer_model::record::Record;
use inferometer_model::request::{Message, Prompt, Request, message};
use inferometer_model::source::{Follows, Source, Supply};

/// What a user says in one turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The words.
    pub text: String,
    /// Tokens that the plan asks for, of this turn alone.
    pub input_tokens: u32,
    /// The same as counted.
    pub counted_tokens: Option<u32>,
    /// Output tokens that the plan asks for.
    pub output_tokens: u32,
}

/// How what was said becomes a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History {
    /// As messages of users and assistants.
    Messages,
    /// As one text, each thing said on a line of its own.
    Text,
}

/// What was said so far in a conversation.
enum Said {
    Messages(Vec<Message>),
    Text(String),
}

struct Talk {
    turns: Vec<Turn>,
    /// Turns that were handed out.
    given: usize,
    said: Said,
}

impl Talk {
    /// The next turn.
    fn next(&mut self, answer: &str) -> Request {
        let turn = &self.turns[self.given];
        let prompt = match &mut self.said {
            Said::Messages(messages) => {
                if self.given > 0 {
                    messages.push(message("assistant", answer));
                }
                messages.push(message("user", &turn.text));
                Prompt::Messages(messages.clone())
            }
            Said::Text(text) => {
                if self.given > 0 {
                    text.push_str(answer);
                    text.push('\n');
                }
                text.push_str(&turn.text);
                Prompt::Text(text.clone())
            }
        };
        self.given += 1;
        self.request(prompt, self.given - 1)
    }

    /// The request of a turn with this prompt.
    fn request(&self, prompt: Prompt, number: usize) -> Request {
        let turn = &self.turns[number];
        // The answers before a later turn are the server's, and so is its length.
        let (input, counted) =
            if number == 0 { (turn.input_tokens, turn.counted_tokens) } else { (0, None) };
        Request {
            counted_tokens: counted,
            class: Some(format!("turn {}", number + 1).into()),
            ..Request::new(prompt, input, turn.output_tokens)
        }
    }

    /// The turns that were not handed out, as they are recorded when they never will be.
    fn rest(&mut self) -> Vec<Request> {
        let first = std::mem::replace(&mut self.given, self.turns.len());
        (first..self.turns.len()).map(|at| self.request(Prompt::Text(String::new()), at)).collect()
    }
}

/// The conversations of a pass.
pub struct Dialogue {
    talks: Vec<Talk>,
    begun: usize,
    /// Turns that will never be sent.
    unsent: Vec<Request>,
}

impl Dialogue {
    /// Conversations with these turns of their users, at least one in each.
    #[must_use]
    pub fn new(talks: Vec<Vec<Turn>>, history: History) -> Self {
        let said = || match history {
            History::Messages => Said::Messages(Vec::new()),
            History::Text => Said::Text(String::new()),
        };
        let talk = |turns| Talk { turns, given: 0, said: said() };
        Self { talks: talks.into_iter().map(talk).collect(), begun: 0, unsent: Vec::new() }
    }
}

impl Source for Dialogue {
    fn next(&mut self) -> Supply {
        let Some(talk) = self.talks.get_mut(self.begun) else { return Supply::Exhausted };
        self.begun += 1;
        Supply::Request(Box::new(talk.next("")))
    }

    fn ended(&mut self, conversation: u32, record: &Record, answer: &str) -> Follows {
        let talk = &mut self.talks[conversation as usize];
        if talk.given == talk.turns.len() {
            // What was said is of no use any more.
            talk.said = Said::Text(String::new());
            Follows::Nothing
        } else if record.outcome.is_complete() {
            Follows::Turn(Box::new(talk.next(answer)))
        } else {
            Follows::Skipped(talk.rest())
        }
    }

    fn unsent(&mut self) -> Option<Request> {
        if self.unsent.is_empty() {
            self.unsent = self.talks.iter_mut().flat_map(Talk::rest).rev().collect();
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
    fn answers_are_carried_word_for_word_as_messages_or_as_text() {
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
    fn what_follows_a_turn_that_failed_is_skipped_by_name() {
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
    fn every_turn_that_was_never_handed_out_is_there_when_a_pass_ends_early() {
        let mut source = dialogue(History::Messages);
        first(&mut source);
        let rest: Vec<_> = std::iter::from_fn(|| source.unsent()).collect();
        let classes: Vec<_> = rest.iter().map(|request| request.class.as_deref()).collect();
        assert_eq!(classes, [Some("turn 2"), Some("turn 3"), Some("turn 1")]);
    }
}
