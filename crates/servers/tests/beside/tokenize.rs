//! Tests the tokenizers inside servers: the requests to them, and the parsing of their answers.

use inferometer_model::tokenizer::Tokenizer;
use inferometer_servers::tokenize::ServerTokenizer;
use serde_json::{Value, json};

use crate::support::server;

/// The tokenizer of a server whose tokens are bytes; `None` if it is not found. `paths` encode and decode,
/// `text_key` is the key of a text to encode, and `answer_key` is the key of a decoded text. The server adds
/// the ids `lead` before the ids of a text.
fn tokenizer(
    paths: [&'static str; 2],
    text_key: &'static str,
    answer_key: &'static str,
    lead: &'static [u32],
) -> Option<ServerTokenizer> {
    let client = server(move |path, body| {
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let answer = if path == paths[0] && body[text_key].is_string() {
            let text = body[text_key].as_str().unwrap();
            let ids: Vec<u32> = lead.iter().copied().chain(text.bytes().map(u32::from)).collect();
            json!({ "tokens": ids })
        } else if path == paths[1] {
            let ids = body["tokens"].as_array().unwrap().iter();
            let bytes = ids.map(|id| u8::try_from(id.as_u64().unwrap()).unwrap()).collect();
            json!({ answer_key: String::from_utf8(bytes).unwrap() })
        } else {
            return "404 Not Found\r\n\r\n{}".to_owned();
        };
        format!("200 OK\r\n\r\n{answer}")
    });
    ServerTokenizer::of(&client, "m")
}

#[test]
fn the_tokenizer_endpoints_of_each_engine_are_found_and_used() {
    let plain = ["/tokenize", "/detokenize"];
    let extras = ["/extras/tokenize", "/extras/detokenize"];
    for (engine, paths, text_key, answer_key, lead) in [
        ("vllm", plain, "prompt", "prompt", &[][..]),
        ("sglang", plain, "prompt", "text", &[]),
        ("llama.cpp", plain, "content", "content", &[]),
        ("llama-cpp-python", extras, "input", "text", &[1]),
        ("llama-cpp-python without a first token", extras, "input", "text", &[]),
    ] {
        let tokenizer = tokenizer(paths, text_key, answer_key, lead);
        let tokenizer = tokenizer.unwrap_or_else(|| panic!("{engine}: none was found"));
        // Some servers add a first token to each sequence. This token is not part of the text.
        assert_eq!(tokenizer.encode("ab").unwrap(), [97, 98], "{engine}");
        assert_eq!(tokenizer.decode(&[98, 97]).unwrap(), "ba", "{engine}");
        assert!(tokenizer.name().ends_with(paths[0]), "{engine}: {}", tokenizer.name());
    }
    assert!(tokenizer(plain, "else", "prompt", &[]).is_none());
}
