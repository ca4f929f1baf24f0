//! Pictures and sounds in requests: what is sent, what is counted, and what happens if a server refuses them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::{Engine, is_generation, summary_of};
use crate::tiny_server;

const RUN: &str = "--yes --warmup 0 --input-lengths 16 --output-lengths 4 --concurrency 2 \
                   --requests 8 --plots none --out out";

/// Runs with these flags. Returns the exit code, what was printed, and the summary if there is one.
fn run(flags: &str) -> (Option<i32>, String, Value) {
    summary_of(&format!("run {RUN} {flags}"))
}

/// A server that answers chats with one token, after it has kept their bodies.
fn keeping(
    answer: impl Fn() -> String + Send + Sync + 'static,
) -> (String, Arc<Mutex<Vec<Value>>>) {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let inner = Arc::clone(&kept);
    let url = tiny_server::serve(move |asked| {
        if !is_generation(asked) {
            return tiny_server::whole("404 Not Found", "{}");
        }
        let body: Value = serde_json::from_str(&asked.body).expect("JSON");
        let has_media = body["messages"][0]["content"].is_array();
        inner.lock().expect("a list").push(body);
        match has_media {
            true => answer(),
            false => answered(json!({ "prompt_tokens": 24, "completion_tokens": 4 })),
        }
    });
    (url, kept)
}

fn answered(usage: Value) -> String {
    let choice = json!({ "index": 0, "delta": { "content": "a" }, "finish_reason": "stop" });
    let data = json!({ "choices": [choice], "usage": usage });
    tiny_server::whole(
        "200 OK\r\ncontent-type: text/event-stream",
        &format!("data: {data}\n\ndata: [DONE]\n\n"),
    )
}

#[test]
fn pictures_sent_to_the_engine_are_counted_and_their_tokens_are_known() {
    let engine = Engine::start(&[]);
    let flags = "--images 2 --image-size 56x84,112x56 --image-format png";
    let (code, told, summary) = run(&format!("--target {} {flags}", engine.url));
    assert_eq!(code, Some(0), "{told}");
    let pass = &summary["cells"][0]["passes"][0];
    let media = &pass["media"];
    assert_eq!((&media["requests"], &media["images"]), (&json!(8), &json!(16)), "{media}");
    let shown = "pictures: 2 of 56x84:1,112x56:1 (photo, png)";
    assert_eq!(media["plan"], shown);
    assert!(media["images_per_s"].as_f64() > pass["requests_per_s"].as_f64());
    // 6 or 8 tokens each, after a text of the requested length.
    let tokens = media["image_tokens"].as_u64().expect("a count");
    assert!((96..=128).contains(&tokens), "{media}");
    assert_eq!(media["prompt_tokens"], tokens + 8 * (16 + 8), "{media}");
    assert!(media["body_bytes"]["mean"].as_f64() > media["file_bytes"]["mean"].as_f64());
    let codes = summary["findings"].as_array().expect("findings").iter().map(|it| &it["code"]);
    assert!(!codes.collect::<Vec<_>>().contains(&&json!("input_length_differs")), "{told}");
    let classes = pass["classes"].as_array().expect("classes");
    assert!(classes.iter().all(|it| it["class"].as_str().is_some_and(|it| it.contains("pict"))));
    assert!(told.contains(shown) && told.contains("Pictures/s"), "{told}");
}

#[test]
fn each_picture_has_its_own_bytes_unless_some_are_to_repeat() {
    for (flags, distinct) in [("", 16..=16), ("--media-reuse 60%", 3..=13)] {
        let (url, kept) =
            keeping(|| answered(json!({ "prompt_tokens": 99, "completion_tokens": 4 })));
        let flags = format!("--target {url} --dialect openai-chat --model m --images 2 {flags}");
        let (_, told, summary) = run(&format!("{flags} --image-size 40x40"));
        let bodies = kept.lock().expect("a list");
        let contents = bodies.iter().map(|body| &body["messages"][0]["content"]);
        let parts = contents.filter_map(Value::as_array).flatten();
        let urls = parts.filter_map(|part| part["image_url"]["url"].as_str());
        let urls: Vec<&str> = urls.collect();
        assert_eq!(urls.len(), 16, "{told}");
        assert!(urls.iter().all(|url| url.starts_with("data:image/jpeg;base64,/9j/")));
        let found = urls.iter().collect::<BTreeSet<_>>().len();
        assert!(distinct.contains(&found), "{flags}: {found}");
        // The server does not state the tokens of pictures: they are absent, and no length differs.
        let media = &summary["cells"][0]["passes"][0]["media"];
        assert_eq!((&media["image_tokens"], &media["prompt_tokens"]), (&Value::Null, &json!(792)));
        assert!(!told.contains("input_length_differs"), "{told}");
    }
}

#[test]
fn sounds_have_their_seconds_and_their_tokens() {
    let engine = Engine::start(&[]);
    let (code, told, summary) = run(&format!("--target {} --audio-length 2s", engine.url));
    assert_eq!(code, Some(0), "{told}");
    let media = &summary["cells"][0]["passes"][0]["media"];
    assert_eq!((&media["audio_s"], &media["audio_tokens"]), (&json!(16.0), &json!(400)), "{media}");
    assert!(media["audio_s_per_s"].is_number() && media["request_rtf"]["p50"].is_number());
    assert!(media.get("images_per_s").is_none() && media["image_tokens"].is_null(), "{media}");
}

#[test]
fn a_refused_picture_fails_its_request_with_the_text_of_the_server() {
    for (status, why) in [
        ("500 Internal Server Error", "image input is not supported"),
        ("413 Payload Too Large", "request body too large"),
    ] {
        let body = json!({ "error": { "message": why } }).to_string();
        let (url, _) = keeping(move || tiny_server::whole(status, &body));
        let flags = "--dialect openai-chat --model m --images 1";
        let (code, told, summary) = run(&format!("--target {url} {flags}"));
        assert_eq!(code, Some(1), "{told}");
        assert!(told.contains(why) && told.contains(&status[..3]), "{told}");
        let pass = &summary["cells"][0]["passes"][0];
        assert_eq!((&pass["outcomes"]["rejected"], pass.get("media")), (&json!(8), None));
    }
}

#[test]
fn media_that_cannot_be_sent_are_one_error_before_the_run() {
    let (url, kept) = keeping(String::new);
    let target = format!("--target {url} --model m");
    for (flags, why) in [
        ("--dialect openai-completions --images 1", "openai-completions cannot send pictures"),
        ("--dialect anthropic --audio 1", "anthropic cannot send sounds"),
        ("--dialect openai-chat --image-files /no/such/folder", "/no/such/folder"),
        ("--dialect openai-chat --images 1 --token-ids", "leave out --token-ids"),
        ("--dialect openai-chat --images 1 --dump-workload x", "dump-workload"),
    ] {
        let (code, told, _) = run(&format!("{target} {flags}"));
        assert_eq!(code, Some(2), "{told}");
        assert!(told.contains(why), "{flags}: {told}");
    }
    assert!(kept.lock().expect("a list").is_empty());
}
