//! Tests that reasoning in the text of an answer becomes events with reasoning, with their tokens and texts.

use inferometer_model::request::SplitThink::{self, Opened, Tagged};
use serde_json::json;

use crate::support::{Reading, read_split, response, sse};

/// The text of a chat's deltas, each with one token id for each of its letters.
fn chat(split: Option<SplitThink>, deltas: &[&str]) -> Reading {
    let delta = |text: &&str| {
        let ids: Vec<u32> = (0..text.len() as u32).collect();
        json!({"choices": [{"index": 0, "delta": {"content": text}, "token_ids": ids}]}).to_string()
    };
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}).to_string();
    let data: Vec<String> = deltas.iter().map(delta).chain([end]).collect();
    let data: Vec<&str> = data.iter().map(String::as_str).collect();
    read_split("openai-chat", true, split, [&sse(&data)[..]])
}

#[test]
fn the_tokens_of_a_chunk_with_reasoning_and_answer_count_once_and_no_event_is_added_for_a_tag() {
    for (split, deltas, kinds, sizes, [reasoning, text]) in [
        (
            Some(Tagged),
            &["<think>", "ab", "c</think>", "d", "e"][..],
            "GGGTTF",
            &[7, 2, 9, 1, 1][..],
            ["<think>abc</think>", "de"],
        ),
        (
            Some(Tagged),
            &["\n", "<th", "ink>ab</", "think>\nd", "e"],
            "GGGGTTF",
            &[1, 3, 8, 6, 2, 1],
            ["\n<think>ab</think>", "\nde"],
        ),
        (Some(Tagged), &["<th", "is", "</think>"], "TTTF", &[3, 2, 8], ["", "<this</think>"]),
        (Some(Opened), &["ab", "c</think>d", "e"], "GGTTF", &[2, 9, 1, 1], ["abc</think>", "de"]),
        (Some(Opened), &["ab", "c"], "GGF", &[2, 1], ["abc", ""]),
        (
            None,
            &["<think>", "ab", "</think>", "d"],
            "TTTTF",
            &[7, 2, 8, 1],
            ["", "<think>ab</think>d"],
        ),
    ] {
        let reading = chat(split, deltas);
        let found = (&*reading.kinds, &*reading.reasoning, &*reading.text);
        assert_eq!(found, (kinds, reasoning, text), "{deltas:?}");
        let chars: Vec<u32> = reading.sizes.iter().map(|size| size.0).collect();
        assert_eq!(chars, [sizes, &[0]].concat(), "{deltas:?}");
        let tokens: u32 = reading.sizes.iter().filter_map(|size| size.1).sum();
        assert_eq!(tokens, deltas.concat().len() as u32, "{deltas:?}");
    }
}

#[test]
fn a_whole_body_is_split_and_reasoning_in_a_field_of_its_own_stays() {
    for (message, kinds, reasoning, text) in [
        (json!({"content": "<think>a</think>b"}), "GTF", "<think>a</think>", "b"),
        (json!({"reasoning": "a", "content": "b</think>"}), "GTF", "a", "b</think>"),
    ] {
        let body = json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
        let bytes = response(200, "application/json", &body.to_string());
        let reading = read_split("openai-chat", false, Some(Tagged), [&bytes[..]]);
        let found = (&*reading.kinds, &*reading.reasoning, &*reading.text);
        assert_eq!(found, (kinds, reasoning, text), "{message}");
    }
}
