//! Tests of findings on the prompt tokens of pictures and of inputs of embeddings.

use inferometer_model::Pooled;
use inferometer_model::record::ServerTime;

use super::*;

#[test]
fn tokens_of_media_are_no_difference_and_a_prompt_whose_media_are_not_counted_is_not_compared() {
    for (stated, tokens, is_found) in
        [(Some(100), 108, false), (Some(100), 110, true), (None, 108, false)]
    {
        let mut record = good();
        record.usage.prompt = Some(tokens);
        record.media.images = 1;
        record.usage.image = stated;
        let found = inspect(&[record]);
        let is = found.iter().any(|finding| finding.code == "input_length_differs");
        assert_eq!(is, is_found, "{stated:?} {tokens}: {found:?}");
    }
}

#[test]
fn inputs_of_embeddings_that_a_server_cut_are_a_finding_and_no_other_length() {
    let with = |tokens, dimension| {
        let mut record = good();
        record.streamed = false;
        record.pooled = Pooled { inputs: 4, dimension };
        (record.asked_output, record.asked_input) = (0, 32);
        record.events.clear();
        record.usage = Usage { prompt: Some(tokens), ..Usage::default() };
        record
    };
    let sampling = sampling(false, false);
    for (records, expected) in [
        (vec![with(32, 64), with(32, 64)], vec![]),
        (vec![with(32, 64), with(20, 64)], vec!["inputs_cut"]),
        (vec![with(32, 64), with(32, 32)], vec!["dimensions_differ"]),
        (vec![with(36, 64)], vec!["input_length_differs"]),
    ] {
        let found = inspect_with(&sampling, &records);
        let codes: Vec<&str> = found.iter().map(|finding| &*finding.code).collect();
        assert_eq!(codes, expected, "{found:?}");
    }
}

#[test]
fn a_context_of_ollama_is_full_if_its_answer_was_cut() {
    for (prompt, completion, is_ollama, is_found) in [
        (924, 100, true, false),
        (924, 99, true, false),
        (925, 99, true, true),
        (925, 99, false, false),
        (925, 100, true, true),
    ] {
        let mut sampling = sampling(true, true);
        sampling.set_num_ctx(1_024);
        let mut record = good();
        (record.usage.prompt, record.usage.completion) = (Some(prompt), Some(completion));
        let load_us = is_ollama.then_some(2_000);
        record.server_times = record.server_times.with(ServerTime::Load, load_us);
        let found = inspect_with(&sampling, &[record]);
        let is = found.iter().any(|finding| finding.code == "context_full");
        assert_eq!(is, is_found, "{prompt} {completion} {is_ollama}: {found:?}");
    }
}
