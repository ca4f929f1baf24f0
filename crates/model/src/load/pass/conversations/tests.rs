//! Tests of conversations. They call the load model step by step, without a server.

use super::*;
use crate::load::Level;
use crate::load::arrival::Arrivals;
use crate::{Bound, OverLimit, load_model};

fn span(value: u64) -> Duration {
    Duration::from_millis(value)
}

/// A pass of conversations with these think times, in milliseconds, before each turn.
fn conversations<const N: usize>(begin: PassPlan, of: CountOf, think: [&[u64]; N]) -> PassPlan {
    let mut script = Script::of(N as u32);
    script.write(think.map(|talk| talk.iter().map(|&ms| span(ms)).collect()));
    PassPlan::Conversations(ConversationsPlan { script, begin: Box::new(begin), of })
}

fn closed(concurrency: u32) -> PassPlan {
    PassPlan::closed(concurrency, Bound::none())
}

/// Runs a pass, and returns the start of each request as (conversation, milliseconds). Each request takes
/// 100 ms. The requests whose indices are in `fails` fail.
fn played(pass: &PassPlan, fails: &[usize]) -> Vec<(u32, u64)> {
    let mut load = load_model(pass, 1);
    let (mut begun, mut in_flight) = (Vec::new(), BTreeSet::new());
    let mut conversations = 0;
    loop {
        let next_end: Option<(Nanos, u32, bool)> = in_flight.first().copied();
        match load.next_due() {
            // The end of a request at the same instant is processed first, because it frees a place.
            Due::At(at) if next_end.is_none_or(|(end, ..)| at < end) => {
                let which = load.continues().unwrap_or_else(|| {
                    conversations += 1;
                    conversations - 1
                });
                load.take();
                in_flight.insert((at + span(100), which, !fails.contains(&begun.len())));
                begun.push((which, at.0 / 1_000_000));
            }
            due => {
                let Some((end, conversation, complete)) = in_flight.pop_first() else {
                    assert_eq!(due, Due::Never);
                    return begun;
                };
                load.ended(end, EndedRequest { conversation, complete });
            }
        }
    }
}

#[test]
fn each_turn_is_due_its_think_time_after_the_end_of_the_previous_turn() {
    let pass = conversations(closed(1), CountOf::Conversations, [&[0, 50, 300], &[0, 20]]);
    assert_eq!(played(&pass, &[]), [(0, 0), (0, 150), (0, 550), (1, 650), (1, 770)]);
    assert_eq!(pass.requests(), Some(5));
    assert!(pass.to_string().starts_with("closed loop, 1 conversations"), "{pass}");
}

#[test]
fn during_think_time_a_conversation_holds_a_conversation_slot_but_no_request_slot() {
    let think: [&[u64]; 3] = [&[0, 250], &[0, 10], &[0]];
    let pass = conversations(closed(1), CountOf::Conversations, think);
    assert_eq!(played(&pass, &[]), [(0, 0), (0, 350), (1, 450), (1, 560), (2, 660)]);
    let pass = conversations(closed(1), CountOf::Requests, think);
    // At 100 ms, the first conversation thinks until 350 ms, so the second begins. At 200 ms, the second
    // thinks until 210 ms, so the third begins. The second continues at 300 ms, when the third has ended.
    assert_eq!(played(&pass, &[]), [(0, 0), (1, 100), (2, 200), (1, 300), (0, 400)]);
}

#[test]
fn a_failed_turn_ends_its_conversation_and_frees_its_slot() {
    let think: [&[u64]; 2] = [&[0, 50, 50], &[0, 20]];
    let pass = conversations(closed(1), CountOf::Conversations, think);
    assert_eq!(played(&pass, &[1]), [(0, 0), (0, 150), (1, 250), (1, 370)]);
    let pass = conversations(closed(1), CountOf::Requests, think);
    assert_eq!(played(&pass, &[0]), [(0, 0), (1, 100), (1, 220)]);
}

#[test]
fn in_an_open_loop_conversations_start_at_arrivals_and_continue_after_their_own_turns() {
    let rate = Level::Constant(10.0);
    let begin = PassPlan::Open(OpenPlan {
        rate,
        arrivals: Arrivals::Constant,
        scaled: false,
        bound: Bound::requests(3),
        max_in_flight: None,
        over_limit: OverLimit::Queue,
    });
    let pass = conversations(begin, CountOf::Conversations, [&[0, 50], &[0, 300], &[0]]);
    assert_eq!(played(&pass, &[]), [(0, 0), (1, 100), (0, 150), (2, 200), (1, 500)]);
    assert_eq!(pass.to_string(), "open loop, 10 conversations/s");
}

#[test]
fn after_the_time_bound_no_turn_begins() {
    let duration = Some(span(200));
    let begin = PassPlan::closed(2, Bound { requests: None, duration });
    let pass = conversations(begin, CountOf::Conversations, [&[0, 50, 20], &[0, 100], &[0]]);
    assert_eq!(played(&pass, &[]), [(0, 0), (1, 0), (0, 150)]);
    assert_eq!(pass.requests(), None);
}

#[test]
fn the_hash_of_a_script_depends_on_its_turns_and_think_times() {
    let script = |think: &[&[u64]]| {
        let mut script = Script::of(0);
        script.write(think.iter().map(|talk| talk.iter().map(|&ms| span(ms)).collect()));
        script
    };
    let (one, same) = (script(&[&[0, 5], &[0]]), script(&[&[0, 5], &[0]]));
    assert_eq!(one, same);
    assert_eq!((one.conversations, one.turns), (2, 3));
    for other in [script(&[&[0], &[5, 0]]), script(&[&[0, 6], &[0]])] {
        assert_ne!(one.sha256, other.sha256);
    }
}
