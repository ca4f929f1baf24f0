//! Tests of conversations. They call the load model step by step, without a server.

use std::time::Duration;

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
    script.write(think.map(|talk| Step::turns(talk.iter().map(|&ms| span(ms)))));
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
        let next_end: Option<(Nanos, (u32, u32), bool)> = in_flight.first().copied();
        match load.next_due() {
            // The end of a request at the same instant is processed first, because it frees a place.
            Due::At(at) if next_end.is_none_or(|(end, ..)| at < end) => {
                let which = load.continues().unwrap_or_else(|| {
                    conversations += 1;
                    (conversations - 1, 0)
                });
                load.take();
                in_flight.insert((at + span(100), which, !fails.contains(&begun.len())));
                begun.push((which.0, at.0 / 1_000_000));
            }
            due => {
                let Some((end, (conversation, call), complete)) = in_flight.pop_first() else {
                    assert_eq!(due, Due::Never);
                    return begun;
                };
                load.ended(end, EndedRequest { conversation, call, complete });
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
        script.write(think.iter().map(|talk| Step::turns(talk.iter().map(|&ms| span(ms)))));
        script
    };
    let (one, same) = (script(&[&[0, 5], &[0]]), script(&[&[0, 5], &[0]]));
    assert_eq!(one, same);
    assert_eq!((one.conversations, one.turns), (2, 3));
    for other in [script(&[&[0], &[5, 0]]), script(&[&[0, 6], &[0]])] {
        assert_ne!(one.sha256, other.sha256);
    }
}

/// A job in which two calls wait for the first, and a third for both; a fifth begins beside the first.
fn fan_out() -> Vec<Step> {
    let call = |after: &[u32], gap| Step::new(after, span(gap));
    vec![call(&[], 9), call(&[], 30), call(&[0], 10), call(&[0], 60), call(&[2, 3], 5)]
}

#[test]
fn calls_of_a_job_start_when_the_calls_that_they_wait_for_have_ended() {
    let mut script = Script::of(0);
    script.write([fan_out(), fan_out()]);
    for (of, second) in [(CountOf::Conversations, 365), (CountOf::Requests, 0)] {
        let begin = Box::new(closed(if of == CountOf::Requests { 9 } else { 1 }));
        let pass = PassPlan::Conversations(ConversationsPlan { script: script.clone(), begin, of });
        // Each request takes 100 ms: the last call waits for the later one of the two before it, from 160 to 260 ms.
        let job = |number, begin: u64| [0, 30, 110, 160, 265].map(|at| (number, begin + at));
        let mut expected = [job(0, 0), job(1, second)].concat();
        expected.sort_by_key(|(_, at)| *at);
        assert_eq!(played(&pass, &[]), expected);
    }
}

#[test]
fn the_calls_that_wait_for_a_failed_one_never_start_and_the_others_go_on() {
    let begin = Box::new(closed(1));
    let mut script = Script::of(0);
    script.write([fan_out(), Step::turns([span(0)])]);
    let of = CountOf::Conversations;
    let pass = PassPlan::Conversations(ConversationsPlan { script, begin, of });
    // The third request is one of the two for which the last one waits.
    assert_eq!(played(&pass, &[2]), [(0, 0), (0, 30), (0, 110), (0, 160), (1, 260)]);
    assert_eq!(played(&pass, &[0]), [(0, 0), (0, 30), (1, 130)]);
}

#[test]
fn the_hash_of_a_script_tells_what_calls_wait_for() {
    let hash = |steps: Vec<Step>| {
        let mut script = Script::of(0);
        script.write([steps]);
        script.sha256
    };
    let call = |after: &[u32]| Step::new(after, span(5));
    let chain = hash(vec![call(&[]), call(&[0]), call(&[1])]);
    assert_eq!(chain, hash(Step::turns([span(5); 3])));
    assert_ne!(chain, hash(vec![call(&[]), call(&[0]), call(&[0])]));
}
