//! Tests of what is not output: the end of a stream, messages that are skipped, and usage.

use inferometer_model::outcome::Outcome;

use crate::support::{read, sse, streamed};

const COMPLETIONS: &str = "openai-completions";
const CHAT: &str = "openai-chat";

const TEXT: &str = r#"{"choices":[{"index":0,"text":"a","finish_reason":null}]}"#;
const FINISH: &str = r#"{"choices":[{"text":"","finish_reason":"stop"}]}"#;
const CHAT_FINISH: &str = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
const USAGE: &str = r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":5}}"#;
const DONE: &str = "[DONE]";

#[test]
fn a_stream_whose_last_line_has_no_end_is_complete_if_the_answer_has_ended() {
    let cases: &[(&[&str], &str, Outcome)] = &[
        (&[TEXT, FINISH, DONE], "TFD", Outcome::Complete),
        (&[TEXT, FINISH, USAGE], "TFU", Outcome::Complete),
        (&[TEXT, FINISH], "TF", Outcome::Complete),
        (&[TEXT, USAGE], "TU", Outcome::Complete),
        (&[TEXT, DONE], "TD", Outcome::Complete),
        (&[TEXT, TEXT], "TT", Outcome::Truncated),
    ];
    for &(data, kinds, outcome) in cases {
        let messages: Vec<String> = data.iter().map(|data| format!("data: {data}\n\n")).collect();
        let whole = messages.concat();
        let last = messages.last().expect("a message");
        for missing in [1, 2] {
            let cut = whole[..whole.len() - missing].to_owned();
            let reading = read(COMPLETIONS, true, [&streamed("text/event-stream", &[cut])[..]]);
            assert_eq!((&*reading.kinds, reading.outcome), (kinds, outcome), "{data:?} {missing}");
        }
        // A message that is cut itself is not decoded, and the answer is cut.
        let cut = whole[..whole.len() - last.len() / 2].to_owned();
        let reading = read(COMPLETIONS, true, [&streamed("text/event-stream", &[cut])[..]]);
        assert_eq!(reading.outcome, Outcome::Truncated, "{data:?}");
    }
}

#[test]
fn messages_without_output_are_skipped_and_counted_by_kind() {
    let a = r#"{"choices":[{"index":0,"delta":{"content":"a"}}]}"#;
    let azure = r#"{"choices":[{"index":0,"finish_reason":null,"content_filter_offsets":{"start_offset":4}}]}"#;
    let progress = r#"{"choices":[{"index":0,"delta":{}}],"prompt_progress":{"total":9}}"#;
    for (event, kind) in [
        ("data: {\"type\":\"ping\"}\n\n".to_owned(), "ping"),
        (
            "event: ping\ndata: {\"type\":\"ping\",\"message\":\"still here\"}\n\n".to_owned(),
            "ping",
        ),
        ("event: keepalive\ndata: {}\n\n".to_owned(), "keepalive"),
        ("event: heartbeat\ndata: alive\n\n".to_owned(), "heartbeat"),
        ("data:\n\n".to_owned(), "empty"),
        ("data: {}\n\n".to_owned(), "empty"),
        ("data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\"}\n\n".to_owned(), "empty"),
        ("data: {\"id\":\"c\",\"choices\":null}\n\n".to_owned(), "empty"),
        ("data: {\"choices\":[{\"index\":0,\"delta\":null}]}\n\n".to_owned(), "empty"),
        (format!("data: {azure}\n\n"), "content_filter_offsets"),
        (format!("data: {progress}\n\n"), "prompt_progress"),
    ] {
        let messages = [
            format!("data: {a}\n\n"),
            event.clone(),
            event.clone(),
            format!("data: {CHAT_FINISH}\n\n"),
        ];
        let reading = read(CHAT, true, [&streamed("text/event-stream", &messages)[..]]);
        assert_eq!((&*reading.kinds, reading.outcome), ("TccF", Outcome::Complete), "{event}");
        assert_eq!(reading.skipped.iter().collect::<Vec<_>>(), [(kind, 2)], "{event}");
    }
    for wrong in
        ["{", "event: message\ndata: alive", "event: note\ndata: {\"a\"", "{\"a\":1e999}", "alive"]
    {
        let line =
            if wrong.starts_with("event") { wrong.to_owned() } else { format!("data: {wrong}") };
        let messages = [format!("{line}\n\n"), format!("data: {CHAT_FINISH}\n\n")];
        let reading = read(CHAT, true, [&streamed("text/event-stream", &messages)[..]]);
        assert_eq!(reading.outcome, Outcome::Malformed, "{wrong}");
    }
}

#[test]
fn usage_states_hidden_reasoning_and_counts_it_once() {
    let with = |completion: u32, more: &str| {
        format!(
            r#"{{"choices":[],"usage":{{"prompt_tokens":3,"completion_tokens":{completion}{more}}}}}"#
        )
    };
    let detail = r#","completion_tokens_details":{"reasoning_tokens":2}"#;
    let on_top = format!(r#","total_tokens":8{detail}"#);
    let inside = format!(r#","total_tokens":6{detail}"#);
    for (events, usage, completion) in [
        (1, with(3, detail), 3),
        (1, with(3, &on_top), 5),
        (1, with(3, &inside), 3),
        // All five tokens came as events.
        (5, with(3, r#","reasoning_tokens":2"#), 5),
        (3, with(3, r#","reasoning_tokens":2"#), 3),
        // A server may cut tokens into smaller events.
        (9, with(3, r#","reasoning_tokens":2"#), 3),
        (1, with(3, r#","reasoning_tokens":0"#), 3),
    ] {
        let mut data = vec![TEXT; events];
        data.extend([FINISH, &usage, DONE]);
        let reading = read(COMPLETIONS, true, [&sse(&data)[..]]);
        assert_eq!(reading.usage.completion, Some(completion), "{events} events, {usage}");
    }
}

#[test]
fn cached_prompt_tokens_are_read_in_each_servers_words_and_absent_is_not_zero() {
    for (words, cached) in [
        (r#","prompt_tokens_details":{"cached_tokens":16}"#, Some(16)),
        (r#","prompt_tokens_details":{"cached_tokens":0}"#, Some(0)),
        // DeepSeek.
        (r#","prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":3"#, Some(64)),
        // vLLM without --enable-prompt-tokens-details.
        (r#","prompt_tokens_details":null"#, None),
        ("", None),
    ] {
        let usage = format!(
            r#"{{"choices":[],"usage":{{"prompt_tokens":67,"completion_tokens":1{words}}}}}"#
        );
        let reading = read(COMPLETIONS, true, [&sse(&[TEXT, FINISH, &usage, DONE])[..]]);
        assert_eq!(reading.usage.cached, cached, "{words}");
    }
}
