//! Tests of the workload `sharegpt`: the rows that are read, the selected conversations, and the notes.

use std::collections::HashSet;
use std::path::Path;

use inferometer_model::request::{Prompt, Request};
use inferometer_plan::WorkloadPlan;
use inferometer_workload::sharegpt::{Loaded, RowReason, load, read};
use inferometer_workload::{Note, OpenWorkload, PromptForm, PromptScope, WorkloadError, embedded};
use proptest::prelude::*;

use crate::support::{SHAREGPT, cell, ids, place, spec};

fn fixture() -> OpenWorkload {
    spec(&WorkloadPlan::Sharegpt { dataset: SHAREGPT.to_owned() }, "salt")
}

fn turns() -> Vec<Box<str>> {
    load(Path::new(SHAREGPT)).expect("the fixture loads").conversations
}

fn loaded(text: &str) -> Result<Loaded, WorkloadError> {
    read(text.as_bytes(), Path::new("data.json"))
}

/// The position, among the usable conversations, of the conversation in a text prompt.
fn source_of(request: &Request) -> usize {
    let Prompt::Text(text) = &request.prompt else { panic!("a text prompt") };
    let (_, body) = text.split_once('\n').expect("the prompt begins with a tag");
    let turns = turns();
    // Only the first half is compared, because the prompt may end with other words.
    let start: String = body.chars().take(body.chars().count() / 2).collect();
    turns.iter().position(|turn| turn.starts_with(&start)).expect("it is one of the turns")
}

#[test]
fn every_row_is_used_or_counted_with_its_reason() {
    let loaded = load(Path::new(SHAREGPT)).unwrap();
    assert_eq!(loaded.conversations.len(), 48);
    use RowReason as Why;
    let expected = [
        (&Why::NotAnObject, 2, "row 3"),
        (&Why::NoConversations, 2, "row 8"),
        (&Why::BrokenTurn, 2, "row 15"),
        (&Why::TooFewTurns, 3, "row 24"),
        (&Why::NoHumanTurn, 1, "row 36"),
        (&Why::EmptyTurn, 1, "row 41"),
    ];
    assert_eq!(loaded.left_out.by_reason().collect::<Vec<_>>(), expected);
    assert_eq!(loaded.left_out.total(), 11);
    let told = loaded.left_out.to_string();
    for (number, part) in [
        ("2", "an object (row 3)"),
        ("2", "`conversations` (row 8)"),
        ("2", "`from` and `value` (row 15)"),
        ("3", "two turns (row 24)"),
        ("1", "no human turn (row 36)"),
        ("1", "an empty prompt (row 41)"),
    ] {
        let is_told =
            |reason: &str| reason.starts_with(&format!("{number} x ")) && reason.ends_with(part);
        assert!(told.split("; ").any(is_told), "{part}: {told}");
    }
}

#[test]
fn all_rows_that_are_left_out_are_counted_although_only_the_first_is_named() {
    let good = r#"{"conversations":[{"from":"human","value":"a"},{"from":"gpt","value":"b"}]}"#;
    let rejected = loaded(&format!("[{}{good}]", "7,".repeat(1_000))).unwrap().left_out;
    let of_reason = (&RowReason::NotAnObject, 1_000, "row 1");
    assert_eq!(rejected.by_reason().collect::<Vec<_>>(), [of_reason]);
}

#[test]
fn the_prompt_is_the_first_human_turn_even_after_system_or_other_turns() {
    let turns = |turns: &[(&str, &str)]| {
        let turns: Vec<String> = turns
            .iter()
            .map(|(from, value)| format!(r#"{{"from":"{from}","value":"{value}"}}"#))
            .collect();
        loaded(&format!(r#"[{{"conversations":[{}]}}]"#, turns.join(","))).unwrap().conversations
    };
    let found = turns(&[("system", "s"), ("human", "first"), ("gpt", "g"), ("human", "second")]);
    assert_eq!(found, ["first".into()]);
    assert_eq!(turns(&[("user", "first"), ("assistant", "a")]), ["first".into()]);
    assert_eq!(turns(&[("gpt", "g"), ("human", "later")]), ["later".into()]);
}

#[test]
fn a_file_that_is_not_an_array_of_conversations_is_refused_with_row_and_line() {
    let one = r#"{"conversations":[{"from":"human","value":"a"},{"from":"gpt","value":"b"}]}"#;
    let cases = [
        (String::new(), 1, 1, "EOF"),
        (one.to_owned(), 1, 1, "expected an array of conversations"),
        (format!("[{one},\n{one},\n{{\"conversations\": oops}}]"), 3, 3, "expected value"),
        (format!("[{one},\n{one}"), 3, 2, "EOF"),
        (format!("[{one}]\n{one}"), 2, 2, "trailing characters"),
    ];
    for (text, row, line, reason) in cases {
        let error = loaded(&text).unwrap_err();
        let WorkloadError::MalformedDataSet { row: at_row, line: at, reason: why, .. } = &error
        else {
            panic!("{error}")
        };
        assert!(why.contains(reason), "{text}: {error}");
        assert_eq!((*at_row, (*at).max(1)), (row, line), "{text}: {error}");
        assert!(error.to_string().starts_with("data set data.json: row "), "{error}");
    }
}

#[test]
fn a_file_that_is_missing_or_has_no_usable_row_is_refused() {
    let error = load(Path::new("/no/such.json")).unwrap_err().to_string();
    assert!(error.contains("data set /no/such.json: No such file"), "{error}");
    let error = loaded("[]").unwrap_err().to_string();
    assert!(error.ends_with(": the array is empty"), "{error}");
    let error = loaded("[1, {}]").unwrap_err().to_string();
    let reasons = "1 x not an object (row 1); 1 x no array `conversations` (row 2)";
    assert!(error.contains(reasons), "{error}");
}

#[test]
fn prompts_come_from_turns_less_than_one_and_a_half_times_as_long_and_split_no_character() {
    let turns = turns();
    let mut multibyte = 0;
    for length in [48, 64, 96] {
        for request in fixture().requests(cell(length), &place(), 6).unwrap().requests {
            let turn = &turns[source_of(&request)];
            let tokens = embedded().count(turn).unwrap();
            assert!((length..length * 3 / 2).contains(&tokens), "{length}: {tokens}");
            let Prompt::Text(text) = &request.prompt else { panic!("a text prompt") };
            assert!(!text.contains('\u{fffd}'), "{text}");
            multibyte += usize::from(!text.is_ascii());
        }
    }
    assert!(multibyte > 3, "Chinese turns are among them");
}

#[test]
fn a_prompt_that_ends_inside_a_multi_token_character_has_no_partial_character() {
    // The embedded tokenizer has no token for these characters: each is three or four tokens.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data.json");
    let turn = "🧑🚀🇩🇪ꙮ".repeat(2);
    let row = serde_json::json!({"conversations": [
        {"from": "human", "value": turn}, {"from": "gpt", "value": "Yes."}
    ]});
    std::fs::write(&file, format!("[{row}]")).unwrap();
    let tokens = embedded().count(&turn).unwrap();
    let plan = WorkloadPlan::Sharegpt { dataset: file.to_str().unwrap().to_owned() };
    let spec = spec(&plan, "salt");
    for length in tokens * 2 / 3 + 1..=tokens {
        let request = &spec.requests(cell(length), &place(), 1).unwrap().requests[0];
        let Prompt::Text(text) = &request.prompt else { panic!("a text prompt") };
        assert!(text.contains('🧑') && !text.contains('\u{fffd}'), "{length}: {text}");
        assert_eq!(ids(&embedded(), request).len() as u32, length, "{text}");
    }
}

#[test]
fn token_ids_of_a_prompt_are_the_tag_followed_by_the_start_of_the_turn() {
    let mut spec = fixture();
    let texts = spec.requests(cell(48), &place(), 6).unwrap().requests;
    spec.context.form = PromptForm::TokenIds;
    let turns = turns();
    for (text, request) in texts.iter().zip(spec.requests(cell(48), &place(), 6).unwrap().requests)
    {
        let ids = ids(&embedded(), &request);
        let turn = embedded().encode(&turns[source_of(text)]).unwrap();
        assert_eq!(ids[6..], turn[..42]);
        assert!(ids[..6].iter().all(|id| embedded().plain_ids().contains(id)));
    }
}

#[test]
fn passes_share_no_conversation_while_there_are_enough_and_then_reuse_them_in_order() {
    let spec = fixture();
    let of = |place: &PromptScope, count| {
        let built = spec.requests(cell(80), place, count).unwrap();
        let sources: Vec<usize> = built.requests.iter().map(source_of).collect();
        (sources, built.notes)
    };
    let (first, notes) = of(&place(), 9);
    assert_eq!(notes, []);
    let second_place = PromptScope::new("0", "saturated", 0).after(9);
    let (second, _) = of(&second_place, 7);
    let distinct: HashSet<&usize> = first.iter().chain(&second).collect();
    assert_eq!(distinct.len(), 16);

    // There are fewer conversations than prompts, so the conversations repeat in the same order, with
    // other tags and a note.
    let (all, notes) = of(&place(), 40);
    let available = all.iter().collect::<HashSet<_>>().len();
    assert_eq!(available, 16);
    assert_eq!(notes, [Note::Reused { prompts: 24, available: 16 }]);
    let in_turn: Vec<usize> = (0..40).map(|at| all[at % available]).collect();
    assert_eq!(all, in_turn);
}

#[test]
fn the_seed_and_not_the_salt_selects_the_conversations() {
    let plan = WorkloadPlan::Sharegpt { dataset: SHAREGPT.to_owned() };
    let of = |seed, salt| {
        let spec = OpenWorkload::open(&plan, embedded(), seed, salt).unwrap();
        let built = spec.requests(cell(80), &place(), 5).unwrap();
        built.requests.iter().map(source_of).collect::<Vec<_>>()
    };
    assert_eq!(of(1, "one salt"), of(1, "another salt"));
    assert_ne!(of(1, "one salt"), of(2, "one salt"));
}

#[test]
fn a_length_that_no_turn_has_is_an_error_that_states_the_longest_turn() {
    let error = fixture().requests(cell(5_000), &place(), 1).unwrap_err();
    let message = error.to_string();
    let says = "turn of 5000 to 7499 tokens (the longest";
    assert!(message.contains(says), "{message}");
}

proptest! {
    #[test]
    fn the_reader_does_not_panic_on_arbitrary_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(bytes.as_slice(), Path::new("data.json"));
    }
}
