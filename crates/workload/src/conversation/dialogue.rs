//! The conversations during a pass. Each turn is sent together with all earlier turns and with the server's
//! unchanged answers to them. The load model, not this module, determines when a turn is due.

use inferometer_model::record::{GapKind, JobCall};
use inferometer_model::source::{Follows, Said, Supply};
use inferometer_model::{Prompt, Record, Request, Source, load::Step};

use super::Transcript;
use crate::History;

/// One turn of a user in a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The text of the turn.
    pub text: String,
    /// The planned input tokens, without those of earlier turns. For a first turn, they include the
    /// tokens that the server adds.
    pub input_tokens: u32,
    /// The number of these input tokens as counted by the tokenizer; `None` if they were not counted.
    pub counted_tokens: Option<u32>,
    /// The planned output tokens.
    pub output_tokens: u32,
}

struct Conversation {
    /// The number of the conversation in the pass.
    number: u32,
    turns: Vec<Turn>,
    /// The think time before each turn, in nanoseconds.
    think_ns: Vec<u64>,
    /// The number of turns for which a request was already made, including requests that are never sent.
    used: usize,
    transcript: Transcript,
}

impl Conversation {
    /// Makes the request of the next turn. `answer` is the answer to the previous turn; it is ignored for
    /// a first turn.
    fn next(&mut self, answer: &str) -> Request {
        if self.used > 0 {
            self.transcript.answer(answer, "");
        }
        let prompt = self.transcript.ask(&self.turns[self.used].text);
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
            job: Some(Box::new(JobCall {
                job: self.number,
                call: number as u32,
                calls: self.turns.len() as u32,
                after: Vec::from_iter((number as u32).checked_sub(1)),
                gap_ns: if number == 0 { 0 } else { self.think_ns[number] },
                gap: if number == 0 { GapKind::Unknown } else { GapKind::Human },
                ..JobCall::default()
            })),
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
    /// Conversations with these numbers in the pass, users' turns and think times. Each conversation must have at least
    /// one turn.
    pub fn new<'a>(
        talks: impl IntoIterator<Item = (u32, Vec<Turn>, &'a [Step])>,
        history: History,
    ) -> Self {
        let conversation = |(number, turns, steps): (u32, Vec<Turn>, &[Step])| Conversation {
            number,
            turns,
            think_ns: steps.iter().map(|step| step.gap.as_nanos() as u64).collect(),
            used: 0,
            transcript: Transcript::new(history),
        };
        let conversations = talks.into_iter().map(conversation).collect();
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

    fn ended(&mut self, (number, call): (u32, u32), record: &Record, said: Said<'_>) -> Follows {
        let conversation = &mut self.conversations[number as usize];
        let (mut requests, mut skipped) = (Vec::new(), Vec::new());
        if conversation.used == conversation.turns.len() {
            // The conversation has ended, so the memory of its transcript is freed.
            conversation.transcript = Transcript::new(History::Text);
        } else if record.outcome.is_complete() {
            requests.push((call + 1, conversation.next(said.answer)));
        } else {
            skipped = conversation.rest();
        }
        Follows { requests, skipped }
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
    use std::time::Duration;

    use super::*;
    use inferometer_model::outcome::Outcome;
    use inferometer_model::request::message;
    use inferometer_model::time::Nanos;

    fn turn(text: &str) -> Turn {
        let (input_tokens, counted_tokens) = (2, Some(2));
        Turn { text: text.to_owned(), input_tokens, counted_tokens, output_tokens: 5 }
    }

    fn dialogue(history: History) -> Dialogue {
        let steps = |count| Step::turns(vec![Duration::from_millis(1); count]);
        let talks = [
            (0, vec![turn("one"), turn("two"), turn("three")], &*steps(3)),
            (1, vec![turn("hi")], &*steps(1)),
        ];
        Dialogue::new(talks, history)
    }

    fn first(source: &mut Dialogue) -> Request {
        match source.next() {
            Supply::Request(request) => *request,
            other => panic!("{other:?}"),
        }
    }

    fn after(source: &mut Dialogue, conversation: u32, outcome: Outcome, answer: &str) -> Follows {
        let record = Record { outcome, ..Record::planned(0, 0, Nanos::ZERO) };
        let call = source.conversations[conversation as usize].used as u32 - 1;
        let said = Said { answer, reasoning: "" };
        source.ended((conversation, call), &record, said)
    }

    #[test]
    fn later_prompts_contain_earlier_answers_verbatim_as_messages_or_as_text() {
        for history in [History::Messages, History::Text] {
            let mut source = dialogue(history);
            first(&mut source);
            after(&mut source, 0, Outcome::Complete, " \"42\"\n对 ");
            let follows = after(&mut source, 0, Outcome::Complete, "");
            let [(2, third)] = &follows.requests[..] else { panic!("{follows:?}") };
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
            assert_eq!(after(&mut source, 0, Outcome::Complete, "bye"), Follows::default());
        }
    }

    #[test]
    fn turns_after_a_failed_turn_are_skipped_with_their_class_names() {
        let mut source = dialogue(History::Text);
        first(&mut source);
        let rest = after(&mut source, 0, Outcome::Truncated, "half").skipped;
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
