//! Tests of the serving run: the selected conversations, their order and their lengths.

use inferometer_model::cell::CellPlan;
use inferometer_model::request::{Prompt, Request};
use inferometer_plan::{ServingLimits, WorkloadPlan};
use inferometer_workload::{Note, RequestBatch, WorkloadError, embedded};
use serde_json::json;

use crate::support::{SHAREGPT, compare_with_golden, place, spec};

fn plan(limits: ServingLimits) -> WorkloadPlan {
    WorkloadPlan::ServingRun { dataset: SHAREGPT.to_owned(), limits }
}

fn built(limits: ServingLimits, taken: u64, count: usize) -> Result<RequestBatch, WorkloadError> {
    spec(&plan(limits), "golden").requests(CellPlan::OWN, &place().after(taken), count)
}

/// The number of conversations of the fixture that are within the limits of vLLM's scripts, from a note.
fn within() -> usize {
    let all = built(ServingLimits::VLLM, 0, 60).expect("the fixture has some");
    match reused(&all) {
        Some(Note::Reused { available, .. }) => *available as usize,
        other => panic!("{other:?}"),
    }
}

/// The note on conversations that are used again. Some conversations also have a system prompt, which a note counts.
fn reused(batch: &RequestBatch) -> Option<&Note> {
    batch.notes.iter().find(|note| matches!(note, Note::Reused { .. }))
}

#[test]
fn the_first_requests_of_seed_1_equal_the_golden_file() {
    let found = built(ServingLimits::VLLM, 0, 3).unwrap().requests;
    compare_with_golden("serving-run", &found);
}

#[test]
fn prompt_and_output_lengths_come_from_the_data_set_and_respect_the_limits() {
    let count = within();
    assert!((10..48).contains(&count), "{count}");
    let batch = built(ServingLimits::VLLM, 0, count).unwrap();
    assert_eq!(reused(&batch), None);
    let requests = batch.requests;
    for request in &requests {
        let Prompt::Text(text) = &request.prompt else { panic!("a text prompt") };
        assert_eq!(Some(embedded().count(text).unwrap()), request.counted_tokens);
        assert_eq!(request.counted_tokens, Some(request.input_tokens));
        let (prompt, answer) = (request.input_tokens, request.output_tokens);
        assert!(prompt >= 4 && answer >= 4 && prompt <= 1_024 && prompt + answer <= 2_048);
    }
    let total = |request: &Request| request.input_tokens + request.output_tokens;
    let longest = requests.iter().map(total).max().unwrap();
    let shorter = ServingLimits { max_total_tokens: longest - 1, ..ServingLimits::VLLM };
    let fewer = built(shorter, 0, 60).unwrap().requests;
    assert!(fewer.iter().all(|request| total(request) < longest));
}

#[test]
fn a_given_output_length_replaces_that_of_every_answer() {
    let limits = ServingLimits { output_tokens: Some(7), ..ServingLimits::VLLM };
    let requests = built(limits, 0, 40).unwrap().requests;
    assert!(requests.iter().all(|request| request.output_tokens == 7));
    assert!(requests.iter().all(|request| (4..=1_024).contains(&request.input_tokens)));
    let none_fits = ServingLimits { output_tokens: Some(2_048), ..ServingLimits::VLLM };
    assert!(built(none_fits, 0, 1).is_err());
}

#[test]
fn the_prompt_is_the_first_human_turn_and_the_output_has_the_length_of_the_answer_after_it() {
    let (question, answer) = ("word ".repeat(12), "ans ".repeat(9));
    let turn = |from: &str, value: &str| json!({"from": from, "value": value});
    let (human, gpt) = (turn("human", &question), turn("gpt", &answer));
    let (system, earlier) =
        (turn("system", "Be a helper."), turn("gpt", "Good morning, who is it?"));
    let count = |text: &str| embedded().count(text).unwrap();
    let without_authors = [json!({"value": question}), json!({"value": answer})];
    for (turns, has_system, left_out) in [
        (&[human.clone(), gpt.clone()][..], false, ""),
        (&[turn("user", &question), turn("assistant", &answer)], false, ""),
        (&without_authors, false, ""),
        (&[turn("human", "Are you there?"), human.clone(), gpt.clone()], false, ""),
        (&[earlier.clone(), human.clone(), gpt.clone()], false, "the model's turn"),
        (&[system.clone(), human.clone(), gpt.clone()], true, "the system prompt"),
        (&[human.clone(), system, gpt.clone(), json!({"value": 7})], false, ""),
    ] {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), json!([{ "conversations": turns }]).to_string()).unwrap();
        let dataset = file.path().display().to_string();
        let mut spec =
            spec(&WorkloadPlan::ServingRun { dataset, limits: ServingLimits::VLLM }, "s");
        for accepts_messages in [false, true] {
            spec.context.accepts_messages = accepts_messages;
            let built = spec.requests(CellPlan::OWN, &place(), 1).unwrap();
            let [request] = &built.requests[..] else { panic!("one request") };
            let is_sent = has_system && accepts_messages;
            let text = match &request.prompt {
                Prompt::Messages(messages) => {
                    assert_eq!(messages[0]["content"], "Be a helper.");
                    messages[1]["content"].as_str().unwrap()
                }
                Prompt::Text(text) => text,
                other => panic!("{other:?}"),
            };
            assert_eq!(
                (text, matches!(request.prompt, Prompt::Messages(_))),
                (&*question, is_sent)
            );
            let system = if is_sent { count("Be a helper.") } else { 0 };
            assert_eq!(request.input_tokens, system + count(&question));
            assert_eq!(request.counted_tokens.is_none(), is_sent);
            assert_eq!(request.output_tokens, count(&answer));
            let told = built.notes.iter().map(ToString::to_string).collect::<String>();
            let is_told = !left_out.is_empty() && !is_sent;
            assert_eq!(
                (told.is_empty(), told.contains(left_out)),
                (!is_told, is_told || left_out.is_empty())
            );
        }
    }
}

#[test]
fn passes_share_no_conversation_until_all_have_been_used() {
    let count = within();
    let all = built(ServingLimits::VLLM, 0, count).unwrap().requests;
    let later = built(ServingLimits::VLLM, 5, count).unwrap();
    assert_eq!(later.requests[..count - 5], all[5..]);
    assert_eq!(later.requests[count - 5..], all[..5]);
    assert_eq!(reused(&later), Some(&Note::Reused { prompts: 5, available: count as u64 }));
}

#[test]
fn invalid_rows_are_counted_and_limits_that_no_conversation_meets_are_an_error() {
    let findings = spec(&plan(ServingLimits::VLLM), "s").findings();
    let told = &findings[0].message;
    assert!(told.contains("no array `conversations` (row 8)"), "{told}");
    let none = ServingLimits { min_tokens: 900, ..ServingLimits::VLLM };
    let error = built(none, 0, 1).unwrap_err().to_string();
    assert!(error.contains("900 tokens or more") && error.contains("max_total_tokens"), "{error}");
}
