//! Calls are recorded as they pass; their rows, read as a trace, have the same graph, times and common beginnings.

use inferometer_workload::jobs::record::{Answered, Counts, Recorder};
use inferometer_workload::jobs::{Content, GapKind, Trace, read_bytes};
use serde_json::{Value, json};

const MS: i64 = 1_000_000;

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

fn assistant(text: &str) -> Value {
    json!({ "role": "assistant", "content": text })
}

fn result(text: &str) -> Value {
    json!({ "role": "tool", "tool_call_id": "t", "content": text })
}

/// One call: its name, begin and end in milliseconds, tokens of prompt and answer, whether the answer calls tools, and
/// the messages.
struct Call(&'static str, i64, i64, (u32, u32), bool, Vec<Value>);

/// A main agent of three calls. Tools of the first start two sub-agents side by side, one with two calls. Then a person
/// writes.
fn calls() -> Vec<Call> {
    let system = json!({"role": "system", "content": "You are careful. ".repeat(40)});
    let helper = json!({"role": "system", "content": "You look things up. ".repeat(30)});
    let task = vec![system, user("Compare both files.")];
    let joined = [&task[..], &[assistant("reading"), result("both are short")]].concat();
    let more = [&joined[..], &[assistant("they agree"), user("And the third one?")]].concat();
    let one = vec![helper.clone(), user("Read the first file.")];
    let goes_on = [&one[..], &[assistant("opening"), result("first text")]].concat();
    let other = vec![helper, user("Read the second file.")];
    vec![
        Call("main 1", 1_000, 1_400, (230, 20), true, task),
        Call("one 1", 1_450, 1_700, (170, 10), true, one),
        Call("other", 1_460, 2_500, (171, 30), false, other),
        Call("one 2", 1_950, 2_300, (200, 15), false, goes_on),
        Call("main 2", 2_600, 3_000, (300, 25), false, joined),
        Call("main 3", 9_000, 9_500, (340, 5), false, more),
    ]
}

/// The rows of the calls: each begins and ends at its time.
fn recorded(calls: &[Call], with_texts: bool, states_tokens: bool) -> (String, Counts) {
    let mut recorder = Recorder::new(with_texts);
    let mut events: Vec<(i64, bool, usize)> = Vec::new();
    for (at, call) in calls.iter().enumerate() {
        events.extend([(call.1, false, at), (call.2, true, at)]);
    }
    events.sort_unstable();
    let mut text = String::new();
    for (ms, is_end, at) in events {
        let Call(_, _, _, tokens, calls_tools, messages) = &calls[at];
        if !is_end {
            let mut messages = messages.clone();
            // Clients mark where a cache may begin, in each call elsewhere.
            messages.last_mut().expect("a message")["cache_control"] = json!({"type": "ephemeral"});
            let body = json!({ "model": "m", "messages": messages });
            assert!(recorder.begin(at as u64, ms * MS, None, body), "a prompt");
            continue;
        }
        let answer = Answered {
            end_ns: ms * MS,
            tokens: states_tokens.then_some(*tokens),
            parts: tokens.1,
            cached: Some(16),
            calls_tools: *calls_tools,
            ..Answered::default()
        };
        text += &format!("{}\n", recorder.end(at as u64, &answer).expect("a row"));
    }
    (text, recorder.counts())
}

fn read(text: &str) -> Trace {
    read_bytes(text.as_bytes(), "recorded".as_ref(), None).expect("a trace")
}

#[test]
fn recorded_calls_have_the_graph_the_gaps_and_the_lengths_of_what_passed() {
    let calls = calls();
    let (text, counts) = recorded(&calls, false, true);
    assert_eq!(counts, Counts { rows: 6, estimated: 0, by_time: 2 });
    assert!(!text.contains("careful"), "no text without asking: {text}");
    let trace = read(&text);
    assert_eq!(trace.format, "agentic-mooncake");
    // In the order of their ends: name, what it waits for, gap, and what happened in it.
    let expected: [(&str, &[&str], i64, GapKind); 6] = [
        ("main 1", &[], 0, GapKind::Unknown),
        ("one 1", &["main 1"], 50, GapKind::Agent),
        ("one 2", &["one 1"], 250, GapKind::Tool),
        ("other", &["main 1"], 60, GapKind::Agent),
        ("main 2", &["main 1", "one 2", "other"], 100, GapKind::Agent),
        ("main 3", &["main 2"], 6_000, GapKind::Human),
    ];
    let name = |at: u32| expected[at as usize].0;
    for (call, (own, parents, gap, kind)) in trace.calls.iter().zip(expected) {
        let mut found: Vec<&str> = call.parents.iter().map(|at| name(*at)).collect();
        found.sort_unstable();
        let planned = calls.iter().find(|call| call.0 == own).expect("a call");
        assert_eq!(found, parents, "{own}");
        assert_eq!((call.prompt.get(), call.output.get()), (Some(planned.3.0), Some(planned.3.1)));
        assert_eq!(call.cached.get(), Some(16), "{own}");
        if !parents.is_empty() {
            assert_eq!(call.gap_ns.get(), Some(gap * MS), "{own}");
        }
        let is_known = kind == GapKind::Tool;
        assert_eq!(call.tool_ns.get().is_some(), is_known, "{own}");
    }
}

#[test]
fn recorded_blocks_are_shared_exactly_as_far_as_the_messages_are_the_same() {
    let calls = calls();
    let trace = read(&recorded(&calls, false, true).0);
    let node = |at: usize| match trace.calls[at].content.get() {
        Some(Content::Blocks(node)) => node,
        other => panic!("no blocks: {other:?}"),
    };
    let shared = |one, other| trace.blocks.shared(node(one), node(other)) * 16;
    // A call that goes on has all whole blocks of the prompt before it; other agents share nothing; sub-agents share
    // their system prompt, which is most of 170 tokens.
    assert_eq!(shared(0, 4), 230 / 16 * 16);
    assert_eq!(shared(4, 5), 300 / 16 * 16);
    assert_eq!(shared(1, 2), 170 / 16 * 16);
    assert_eq!(shared(0, 1), 0);
    assert!((128..170).contains(&shared(1, 3)), "{}", shared(1, 3));
}

#[test]
fn rows_with_texts_have_the_same_graph_and_lengths_that_no_server_states_are_counted() {
    let (text, _) = recorded(&calls(), true, true);
    let trace = read(&text);
    assert_eq!(trace.format, "openai");
    assert!(text.contains("careful") && !text.contains("cache_control\":null"));
    let parents: Vec<usize> = trace.calls.iter().map(|call| call.parents.len()).collect();
    assert_eq!(parents, [0, 1, 1, 1, 3, 1]);
    assert_eq!(trace.calls[5].gap_ns.get(), Some(6_000 * MS));
    assert_eq!(trace.calls[5].prompt.get(), Some(340));
    let (text, counts) = recorded(&calls(), false, false);
    assert_eq!(counts.estimated, 6);
    // Four bytes a token, and the parts that arrived.
    let first = &read(&text).calls[0];
    assert!((150..250).contains(&first.prompt.get().unwrap_or(0)), "{:?}", first.prompt);
    assert_eq!(first.output.get(), Some(20));
}

#[test]
fn a_completion_goes_on_only_if_it_begins_with_a_whole_earlier_prompt() {
    let template = "Answer in one word, and give no reason for it. ".repeat(5);
    let text = |rest: &str| json!({ "prompt": format!("{template}{rest}") });
    let ids = |upto: u32| json!({ "prompt": (0..upto).collect::<Vec<_>>() });
    // The prompts in order, and the earlier one that each goes on from.
    let cases = [
        (text("How is the sky?"), None),
        (text("How deep is the sea?"), None),
        (text("How is the sky? Blue. And at night?"), Some(0)),
        (text("How is the sky? Blue."), Some(0)),
        (text(&"Where? ".repeat(40)), None),
        (text(&"Where? ".repeat(50)), Some(4)),
        (json!({ "prompt": "Hi" }), None),
        (json!({ "prompt": "Hi there" }), Some(6)),
        (ids(40), None),
        (ids(60), Some(8)),
    ];
    let mut recorder = Recorder::new(false);
    for (at, (body, before)) in cases.into_iter().enumerate() {
        let now = at as i64 * MS;
        assert!(recorder.begin(at as u64, now, None, body));
        let answer = Answered { end_ns: now + 1, tokens: Some((60, 1)), ..Answered::default() };
        let row = recorder.end(at as u64, &answer).expect("a row");
        let waits = before.map(|at: usize| format!("call-{}", at + 1));
        assert_eq!(row["wait_for"], json!(waits.into_iter().collect::<Vec<_>>()), "prompt {at}");
    }
}

/// A call of a named task: key, task, begin and end in milliseconds, messages, and whether its answer calls tools.
type Named = (u64, Option<&'static str>, i64, i64, Vec<Value>, bool);
/// What a case is about, its calls, and in the order of their ends the calls that each waits for.
type Case = (&'static str, Vec<Named>, &'static [&'static [&'static str]]);

#[test]
fn calls_of_other_tasks_and_models_are_kept_apart_and_late_answers_are_still_found() {
    let begin = vec![user("hi")];
    let next = [&begin[..], &[assistant("hello"), user("more")]].concat();
    let other = vec![user("something else")];
    let cases: [Case; 4] = [
        (
            "equal prompts of two tasks, of which the first goes on",
            vec![
                (0, Some("a"), 0, 10, begin.clone(), false),
                (1, Some("b"), 1, 11, begin.clone(), false),
                (2, Some("a"), 20, 30, next.clone(), false),
            ],
            &[&[], &[], &["call-1"]],
        ),
        (
            "equal prompts without a task: each is gone on from once",
            vec![
                (0, None, 0, 10, begin.clone(), false),
                (1, None, 1, 11, begin.clone(), false),
                (2, None, 20, 30, next.clone(), false),
                (3, None, 21, 31, next.clone(), false),
            ],
            &[&[], &[], &["call-1"], &["call-2"]],
        ),
        (
            "a call that goes on before the end of the answer before it is seen",
            vec![(0, None, 0, 12, begin.clone(), true), (1, None, 11, 30, next, false)],
            &[&[], &["call-1"]],
        ),
        (
            "a new session long after the tools of another one",
            vec![(0, None, 0, 10, begin, true), (1, None, 700_000, 700_010, other, false)],
            &[&[], &[]],
        ),
    ];
    for (what, calls, expected) in cases {
        let mut recorder = Recorder::new(false);
        let mut events: Vec<(i64, bool, &Named)> = Vec::new();
        for call in &calls {
            events.extend([(call.2, false, call), (call.3, true, call)]);
        }
        events.sort_by_key(|event| event.0);
        let mut waits = Vec::new();
        for (ms, is_end, (key, task, _, _, messages, calls_tools)) in events {
            if is_end {
                let answer = Answered {
                    end_ns: ms * MS,
                    tokens: Some((40, 2)),
                    calls_tools: *calls_tools,
                    ..Answered::default()
                };
                waits.push(recorder.end(*key, &answer).expect("a row")["wait_for"].clone());
            } else {
                let body = json!({ "model": "m", "messages": messages });
                assert!(recorder.begin(*key, ms * MS, *task, body));
            }
        }
        assert_eq!(json!(waits), json!(expected), "{what}");
    }
    let mut recorder = Recorder::new(false);
    let mut ids = |key: u64, model: &str| {
        let body = json!({ "model": model, "messages": [user(&"hi ".repeat(100))] });
        recorder.begin(key, 0, None, body);
        let answer = Answered { end_ns: 1, tokens: Some((64, 2)), ..Answered::default() };
        recorder.end(key, &answer).expect("a row")["hash_ids"].clone()
    };
    let one = ids(0, "large");
    assert_ne!(one, ids(1, "small"));
    assert_eq!(one, ids(2, "large"));
    assert!(!recorder.begin(3, 0, None, json!({ "model": "m", "prompt": "" })));
}
