//! Tests of recorded responses of real servers: each must be decoded to the expected content, however its
//! bytes are cut into reads.

use crate::support::{Reading, fixture, read};
use inferometer_model::outcome::Outcome;
use inferometer_model::record::Usage;
use proptest::prelude::*;

const CHAT: &str = "openai-chat";
const COMPLETIONS: &str = "openai-completions";
const TGI: &str = "tgi";
const SGLANG: &str = "sglang";
const LLAMA_CPP: &str = "llama-cpp";
const MESSAGES: &str = "anthropic";
const RESPONSES: &str = "openai-responses";

/// A complete answer: fixture, dialect, kinds of events, finish reason, token counts (prompt, completion,
/// cached), numbers of tokens of the events that state them, text.
type Complete = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    [Option<u32>; 3],
    Option<&'static [u32]>,
    &'static str,
);

const NONE: [Option<u32>; 3] = [None; 3];

const fn usage(prompt: u32, completion: u32) -> [Option<u32>; 3] {
    [Some(prompt), Some(completion), None]
}

const fn cached(prompt: u32, completion: u32, cached: u32) -> [Option<u32>; 3] {
    [Some(prompt), Some(completion), Some(cached)]
}

const SPECULATIVE: &str = "�op Redistributions Redistributions RedistributionsWrayac means \
                           CONNECTIONac means CONNECTIONac";

const COMPLETE: &[Complete] = &[
    ("vllm/completions-stream", COMPLETIONS, "TeTeTFUD", "length", usage(6, 5), None, "W�W�W"),
    (
        "vllm/completions-stream-continuous-usage",
        COMPLETIONS,
        "TUeUTFUUD",
        "length",
        usage(6, 3),
        Some(&[1, 1, 1]),
        "W�W",
    ),
    (
        "vllm/completions-stream-token-ids",
        COMPLETIONS,
        "TTFD",
        "length",
        NONE,
        Some(&[1, 1]),
        "Wect",
    ),
    ("vllm/completions-stream-logprobs", COMPLETIONS, "TTFD", "length", NONE, None, "Wect"),
    (
        "vllm/completions-stream-speculative",
        COMPLETIONS,
        "eUTUTUTUTUTUTUTUTUTUTUTUTUTFUUD",
        "length",
        usage(18, 14),
        Some(&[1; 14]),
        SPECULATIVE,
    ),
    ("vllm/completions-whole", COMPLETIONS, "TFU", "length", usage(6, 5), Some(&[5]), "W�W�W"),
    ("vllm/chat-stream", CHAT, "RTTTTTFUD", "length", usage(17, 5), None, "ook]?ueproduceook"),
    ("vllm/chat-whole", CHAT, "TFU", "length", usage(17, 5), Some(&[5]), "ook]?ueproduceook"),
    (
        "llama-cpp/completions-stream",
        COMPLETIONS,
        "TTTTTFUD",
        "length",
        cached(6, 5, 0),
        None,
        "W�W�W",
    ),
    (
        "llama-cpp/completions-stream-no-usage",
        COMPLETIONS,
        "TTTFUD",
        "length",
        cached(6, 3, 5),
        None,
        "W�W",
    ),
    (
        "llama-cpp/completions-whole",
        COMPLETIONS,
        "TFU",
        "length",
        cached(4, 3, 3),
        Some(&[3]),
        "UTH\":UTH",
    ),
    (
        "llama-cpp/chat-stream",
        CHAT,
        "RTTTTTFUD",
        "length",
        cached(17, 5, 0),
        None,
        "ook]?ueproduceook",
    ),
    ("llama-cpp/chat-stream-no-usage", CHAT, "RTTFD", "length", NONE, None, "ook]?"),
    ("sglang/completions-stream", COMPLETIONS, "TTTFUD", "length", usage(6, 5), None, "W�W�W"),
    ("sglang/completions-whole", COMPLETIONS, "TFU", "length", usage(2, 1), Some(&[1]), "ble"),
    (
        "sglang/chat-stream",
        CHAT,
        "RTUTUTUTUFUD",
        "length",
        usage(17, 4),
        Some(&[1; 4]),
        "ook]?ueproduce",
    ),
    ("transformers/completions-stream", COMPLETIONS, "TTTFU", "length", usage(6, 5), None, "W�W�W"),
    (
        "transformers/completions-whole",
        COMPLETIONS,
        "TFU",
        "length",
        usage(6, 5),
        Some(&[5]),
        "W�W�W",
    ),
    (
        "transformers/chat-stream",
        CHAT,
        "RTTTTTFU",
        "length",
        usage(17, 5),
        None,
        "ook]?ueproduceook",
    ),
    ("tgi/completions-stream", COMPLETIONS, "TeTeFUD", "length", usage(6, 4), None, "W�W"),
    // The first chunk is a token that does not complete a character. Only the usage counts this token.
    ("tgi/chat-stream", CHAT, "RTTTFUD", "length", usage(17, 4), None, "�\n\n ublic see"),
    ("tgi/chat-stream-no-usage", CHAT, "TTFD", "length", NONE, None, "OFTWAREac"),
    ("tgi/chat-whole", CHAT, "TFU", "length", usage(17, 2), Some(&[2]), " SHVISE"),
    ("tgi/generate-stream", TGI, "TeTeFU", "length", usage(6, 4), Some(&[1; 4]), "W�W"),
    (
        "tgi/generate-stream-sampled",
        TGI,
        "TTTFU",
        "length",
        usage(6, 3),
        Some(&[1; 3]),
        "mbIDENTay",
    ),
    ("tgi/generate-stream-no-details", TGI, "Te", "", NONE, Some(&[1; 2]), "W"),
    ("sglang/generate-stream", SGLANG, "TeTFUD", "length", cached(6, 3, 5), Some(&[1; 3]), "W�W"),
    (
        "llama-cpp/completion-stream",
        LLAMA_CPP,
        "TTTFU",
        "limit",
        cached(6, 3, 5),
        Some(&[1; 3]),
        "W�W",
    ),
    (
        "llama-cpp/completion-stream-progress",
        LLAMA_CPP,
        "TTFU",
        "limit",
        cached(6, 2, 5),
        Some(&[1; 2]),
        "W�",
    ),
    (
        "llama-cpp/completion-whole",
        LLAMA_CPP,
        "TFU",
        "limit",
        cached(2, 3, 0),
        Some(&[3]),
        " of the future",
    ),
    (
        "llama-cpp/messages-stream",
        MESSAGES,
        "RcTTTTcFUD",
        "max_tokens",
        cached(32, 4, 0),
        None,
        "Hello world! I",
    ),
    (
        "llama-cpp/messages-whole",
        MESSAGES,
        "TFU",
        "max_tokens",
        cached(32, 4, 31),
        Some(&[4]),
        "Hello world! I",
    ),
    (
        "llama-cpp/responses-stream",
        RESPONSES,
        "ccccTTTTcccFU",
        "completed",
        cached(32, 4, 31),
        None,
        "Hello world! I",
    ),
    (
        "llama-cpp/responses-whole",
        RESPONSES,
        "TFU",
        "completed",
        cached(32, 4, 31),
        Some(&[4]),
        "Hello world! I",
    ),
    ("tgi/generate-whole", TGI, "TFU", "length", usage(6, 3), Some(&[3]), "W�W"),
    ("tgi/generate-whole-no-details", TGI, "e", "", usage(6, 2), Some(&[2]), ""),
];

/// A failure: fixture, dialect, kinds of events, status, beginning of the server's message.
const FAILED: &[(&str, &str, &str, u16, &str)] = &[
    ("vllm/completions-stream-busy", COMPLETIONS, "XD", 200, "The engine is currently busy and "),
    ("vllm/error-busy", COMPLETIONS, "", 503, "The engine is currently busy and cannot accept "),
    ("vllm/error-404", COMPLETIONS, "", 404, "Not Found"),
    ("vllm/error-bad-field", COMPLETIONS, "", 400, "max_tokens must be at least 1, got -5. "),
    ("vllm/error-too-long", CHAT, "", 400, "This model's maximum context length is 2048 tokens. "),
    ("vllm/error-wrong-model", CHAT, "", 404, "The model `nope` does not exist. Valid aliases: "),
    ("llama-cpp/error-404", COMPLETIONS, "", 404, "File Not Found"),
    ("llama-cpp/error-no-prompt", COMPLETIONS, "", 400, "[json.exception.out_of_range.403] key "),
    ("llama-cpp/error-too-long", COMPLETIONS, "", 400, "request (9001 tokens) exceeds the "),
    ("sglang/error-too-long", COMPLETIONS, "", 400, "The input (9001 tokens) is longer than the "),
    ("tgi/chat-stream-too-long", CHAT, "XD", 200, "Input validation error: `inputs` tokens + "),
    ("tgi/generate-stream-too-long", TGI, "X", 200, "Input validation error: `inputs` tokens + "),
    ("tgi/error-temperature", TGI, "", 422, "Input validation error: `temperature` must be "),
    ("tgi/error-token-ids", COMPLETIONS, "", 422, "Failed to deserialize the JSON body into "),
    ("tgi/error-too-long", TGI, "", 422, "Input validation error: `inputs` tokens + "),
    ("transformers/error-ignore-eos", CHAT, "", 422, "Unexpected fields in the request: "),
    ("transformers/error-token-ids", COMPLETIONS, "", 400, "prompt must be a string."),
    ("transformers/error-validation", CHAT, "", 422, "JSON decode error"),
];

/// Every fixture with its dialect.
fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    let complete = COMPLETE.iter().map(|row| (row.0, row.1));
    complete.chain(FAILED.iter().map(|row| (row.0, row.1)))
}

/// Every complete stream of server-sent events: its name, dialect and bytes.
pub fn streams() -> impl Iterator<Item = (&'static str, &'static str, Vec<u8>)> {
    let streamed = COMPLETE.iter().filter(|row| row.0.contains("stream") && row.1 != "vllm");
    streamed.map(|row| (row.0, row.1, bytes(row.0)))
}

fn bytes(name: &str) -> Vec<u8> {
    fixture(&format!("{name}.http"))
}

fn is_stream(name: &str) -> bool {
    !name.contains("whole")
}

/// Reads a fixture in one piece.
pub fn read_fixture(name: &str, dialect: &str) -> Reading {
    read_whole(name, dialect, &bytes(name))
}

fn read_whole(name: &str, dialect: &str, bytes: &[u8]) -> Reading {
    read(dialect, is_stream(name), [bytes])
}

#[test]
fn recorded_complete_responses_are_parsed_with_the_expected_events_usage_and_text() {
    for &(name, dialect, kinds, finish, [prompt, completion, cached], tokens, text) in COMPLETE {
        let reading = read_whole(name, dialect, &bytes(name));
        assert_eq!(reading.outcome, Outcome::Complete, "{name}: {:?}", reading.detail);
        assert_eq!(reading.kinds, kinds, "{name}");
        assert_eq!(reading.finish.as_deref().unwrap_or(""), finish, "{name}");
        let Usage { reasoning, image, audio, .. } = reading.usage;
        let expected = Usage { prompt, completion, cached, reasoning, image, audio };
        assert_eq!(reading.usage, expected, "{name}");
        assert!(reading.skipped.is_empty(), "{name}: {:?}", reading.skipped);
        assert_eq!(reading.text, text, "{name}");
        assert_eq!((reading.status, reading.detail), (Some(200), None), "{name}");
        let stated: Vec<u32> = reading.sizes.iter().filter_map(|size| size.1).collect();
        assert_eq!(stated, tokens.unwrap_or_default(), "{name}");
        let chars: u32 = reading.sizes.iter().map(|size| size.0).sum();
        assert_eq!(chars as usize, text.chars().count(), "{name}");
        assert!(!reading.keep_alive, "{name}: the client requested to close");
    }
}

#[test]
fn failed_responses_have_the_error_message_of_the_server() {
    for &(name, dialect, kinds, status, words) in FAILED {
        let reading = read_whole(name, dialect, &bytes(name));
        let outcome =
            if status == 200 { Outcome::ServerError } else { Outcome::Rejected { status } };
        assert_eq!(reading.outcome, outcome, "{name}");
        assert_eq!(reading.kinds, kinds, "{name}");
        assert_eq!(reading.status, Some(status), "{name}");
        let detail = reading.detail.expect("an error message");
        assert!(detail.starts_with(words), "{name}: {detail}");
    }
}

#[test]
fn every_fixture_has_an_expectation() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut count = 0;
    for folder in std::fs::read_dir(root).expect("fixtures").flatten() {
        let Ok(files) = std::fs::read_dir(folder.path()) else { continue };
        for file in files.flatten() {
            let folder = folder.file_name().into_string().expect("a name");
            let name = file.file_name().into_string().expect("a name").replace(".http", "");
            let name = format!("{folder}/{name}");
            assert!(all().any(|(known, _)| known == name), "{name} has no expected content");
            count += 1;
        }
    }
    assert_eq!(count, all().count());
}

#[test]
fn splitting_a_response_at_any_byte_gives_the_same_events() {
    for (name, dialect) in all() {
        let bytes = bytes(name);
        let expected = read_whole(name, dialect, &bytes);
        for at in 0..=bytes.len() {
            let (left, right) = bytes.split_at(at);
            let reading = read(dialect, is_stream(name), [left, right]);
            assert_eq!(reading, expected, "{name} cut at {at}");
        }
        let reading = read(dialect, is_stream(name), bytes.chunks(1));
        assert_eq!(reading, expected, "{name} byte by byte");
    }
}

#[test]
fn a_truncated_response_is_complete_only_if_nothing_but_framing_is_missing() {
    for (name, dialect) in all() {
        let bytes = bytes(name);
        let expected = read_whole(name, dialect, &bytes);
        for length in 0..bytes.len() {
            let reading = read_whole(name, dialect, &bytes[..length]);
            let rejected = matches!(reading.outcome, Outcome::Rejected { .. });
            match reading.outcome {
                // A response that is cut after its last event lacks only framing.
                Outcome::Complete => {
                    assert_eq!(reading.kinds, expected.kinds, "{name} {length}");
                    assert_eq!(reading.usage, expected.usage, "{name} {length}");
                    let has_last_word = [TGI, LLAMA_CPP, RESPONSES].contains(&dialect);
                    assert!(expected.kinds.ends_with('D') || has_last_word, "{name} {length}");
                }
                Outcome::Connection { .. } => assert_eq!(length, 0, "{name}"),
                Outcome::Truncated => {}
                outcome => assert_eq!(outcome, expected.outcome, "{name} {length}"),
            }
            assert_eq!(reading.detail.is_none(), reading.outcome == Outcome::Complete, "{name}");
            assert!(!rejected || reading.status == expected.status, "{name} {length}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn splitting_a_response_into_any_pieces_gives_the_same_events(
        which in any::<prop::sample::Index>(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        let fixtures: Vec<_> = all().collect();
        let (name, dialect) = fixtures[which.index(fixtures.len())];
        let bytes = bytes(name);
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        let pieces = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
        let reading = read(dialect, is_stream(name), pieces);
        prop_assert_eq!(reading, read_whole(name, dialect, &bytes), "{} cut at {:?}", name, at);
    }
}
