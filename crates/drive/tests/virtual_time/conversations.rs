//! Conversations: when turns are due, what they contain, and what happens after a failure.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use inferometer_model::load::{Bound, ConversationsPlan, CountOf, PassPlan, Script, Step};
use inferometer_model::outcome::Outcome;
use inferometer_model::record::{Detail, Record};
use inferometer_model::request::{Prompt, Request};
use inferometer_model::source::{Follows, Said, Source, Supply};
use inferometer_model::time::Nanos;

use crate::support::{Server, Setup, ms, request};

/// A source of conversations; `turns` has the number of turns of each conversation. The prompt of a turn is the
/// conversation before the turn, and the name of the turn.
struct Conversations {
    turns: Vec<u32>,
    begun: u32,
    at: BTreeMap<u32, (u32, String)>,
    tokens: u32,
    /// The conversation whose later turns the dialect does not support.
    unsupported: Option<u32>,
}

impl Conversations {
    fn turn(&mut self, conversation: u32, turn: u32, before: &str) -> Request {
        let prompt = format!("{before}<{conversation}.{turn}>");
        self.at.insert(conversation, (turn, prompt.clone()));
        request(prompt, self.tokens)
    }
}

impl Source for Conversations {
    fn next(&mut self) -> Supply {
        if self.begun as usize == self.turns.len() {
            return Supply::Exhausted;
        }
        self.begun += 1;
        Supply::Request(Box::new(self.turn(self.begun - 1, 0, "")))
    }

    fn ended(&mut self, (conversation, _): (u32, u32), record: &Record, said: Said<'_>) -> Follows {
        let (turn, prompt) = self.at[&conversation].clone();
        let rest = turn + 1..self.turns[conversation as usize];
        if rest.is_empty() {
            Follows::default()
        } else if record.outcome.is_complete() {
            let mut request = self.turn(conversation, turn + 1, &(prompt + said.answer));
            if self.unsupported == Some(conversation) {
                request.prompt = Prompt::Messages(Vec::new());
            }
            Follows { requests: vec![(turn + 1, request)], ..Follows::default() }
        } else {
            let skipped = rest.map(|_| request("never".into(), self.tokens)).collect();
            Follows { skipped, ..Follows::default() }
        }
    }
}

/// Runs conversations with these think times in milliseconds, one at a time, against a server that takes 30
/// ms for the answer " w w". Returns their records, the start, and the prompts.
fn converse(think: &[&[u64]], refuses: Option<usize>, stop: bool) -> Played {
    let turns = think.iter().map(|talk| talk.len() as u32).collect();
    let source =
        Conversations { turns, begun: 0, at: BTreeMap::new(), tokens: 2, unsupported: None };
    converse_from(source, think, refuses, stop)
}

/// Like [`converse`], with these conversations.
fn converse_from(
    source: Conversations,
    think: &[&[u64]],
    refuses: Option<usize>,
    stop: bool,
) -> Played {
    let mut script = Script::of(0);
    script.write(think.iter().map(|talk| Step::turns(talk.iter().map(|&span| ms(span)))));
    let begin = Box::new(PassPlan::closed(1, Bound::none()));
    let pass =
        PassPlan::Conversations(ConversationsPlan { script, begin, of: CountOf::Conversations });
    let setup = Setup { keep_text: true, ..Setup::of(pass, 0) };
    setup.stop.store(stop, Ordering::Relaxed);
    let server = Server { refuses, ..Server::new(ms(20), ms(10), 2) };
    let prompts = server.prompts.clone();
    let (records, start) = setup.play_source(Box::new(source), server, true);
    let prompts = prompts.lock().expect("one thread").clone();
    Played { records, start, prompts }
}

struct Played {
    records: Vec<Record>,
    start: Nanos,
    prompts: Vec<String>,
}

#[test]
fn every_turn_is_due_its_think_time_after_the_end_of_the_previous_turn() {
    let played = converse(&[&[0, 50, 7], &[0, 20]], None, false);
    let truth = [0, 80, 117, 147, 197].map(|at| played.start + ms(at));
    assert_eq!(played.records.len(), truth.len());
    for (record, due) in played.records.iter().zip(truth) {
        assert_eq!((record.due, record.send_start), (due, Some(due)));
        assert_eq!(record.ended, Some(due + ms(30)));
        assert_eq!(record.outcome, Outcome::Complete);
    }
}

#[test]
fn every_turn_contains_the_earlier_answers_verbatim() {
    let prompts = converse(&[&[0, 50, 7], &[0, 20]], None, false).prompts;
    let second = "<0.0> w w<0.1>";
    assert_eq!(
        prompts,
        ["<0.0>", second, &format!("{second} w w<0.2>"), "<1.0>", "<1.0> w w<1.1>"]
    );
}

#[test]
fn a_failed_turn_ends_its_conversation_and_its_later_turns_are_recorded_as_skipped() {
    let played = converse(&[&[0, 50, 7], &[0, 20]], Some(0), false);
    let outcomes: Vec<_> = played.records.iter().map(|record| record.outcome).collect();
    let (skipped, complete) = (Outcome::Skipped, Outcome::Complete);
    assert_eq!(outcomes[1..], [skipped, skipped, complete, complete]);
    assert_eq!(outcomes[0], Outcome::Rejected { status: 503 });
    for record in &played.records[1..3] {
        assert_eq!(record.due, played.start);
        assert_eq!(record.detail, Some(Detail::earlier_turn(outcomes[0])));
    }
    assert_eq!(played.records[3].due, played.start);
    assert_eq!(played.prompts, ["<0.0>", "<1.0>", "<1.0> w w<1.1>"]);
}

#[test]
fn interrupted_conversations_leave_one_record_for_every_planned_turn() {
    let played = converse(&[&[0, 50, 7], &[0, 20]], None, true);
    assert_eq!(played.records.len(), 5);
    assert!(played.records.iter().all(|record| record.outcome == Outcome::Skipped));
}

#[test]
fn after_a_turn_that_the_dialect_does_not_support_all_remaining_turns_are_skipped() {
    let think: [&[u64]; 2] = [&[0, 50, 7], &[0, 20]];
    let (turns, at, unsupported) = (vec![3, 2], BTreeMap::new(), Some(0));
    let source = Conversations { turns, begun: 0, at, tokens: 2, unsupported };
    let played = converse_from(source, &think, None, false);
    assert_eq!(played.prompts, ["<0.0>"]);
    let outcomes: Vec<_> = played.records.iter().map(|record| record.outcome).collect();
    let skipped = Outcome::Skipped;
    assert_eq!(outcomes, [Outcome::Complete, skipped, skipped, skipped, skipped]);
    assert_eq!(played.records[1].asked_output, 2);
}
