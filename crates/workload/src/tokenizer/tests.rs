//! Tests of the tokenizers: which files are accepted, and that encoding and decoding change no text.

use std::fs;
use std::path::{Path, PathBuf};

use inferometer_model::Tokenizer;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::hub::{HubAccess, HubConfig};
use super::{HfTokenizer, embedded, load_with};
use crate::WorkloadError;

const EMBEDDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/tokenizer.json");

const TEXTS: [&str; 7] = [
    "",
    "Alice was beginning to get very tired.",
    "  two  spaces\n\n\ttabs ",
    "子曰：“学而时习之，不亦说乎？”",
    "mixed 中文 and English, 1234567.89 km²",
    "👩‍🚀 naïve café \u{200b}\u{fffd}",
    "<s></s><|im_start|>",
];

fn offline(cache: &Path) -> HubConfig {
    HubConfig {
        endpoint: "http://hub.invalid".to_owned(),
        cache: cache.to_owned(),
        access: HubAccess::Offline,
        token: None,
    }
}

fn folder_with(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn error_of(spec: &Path, hub: &HubConfig) -> WorkloadError {
    load_with(spec.to_str().unwrap(), hub).err().expect("it must not load")
}

#[test]
fn encoding_and_decoding_with_the_embedded_tokenizer_restores_every_text() {
    let tokenizer = embedded();
    assert_eq!(tokenizer.name(), "embedded");
    for text in TEXTS {
        let ids = tokenizer.encode(text).unwrap();
        assert_eq!(tokenizer.decode(&ids).unwrap(), text);
        assert_eq!(tokenizer.count(text).unwrap() as usize, ids.len());
    }
}

#[test]
fn plain_ids_of_the_embedded_tokenizer_are_words_that_round_trip_in_any_order() {
    let tokenizer = embedded();
    let plain = tokenizer.plain_ids();
    assert!(plain.len() > 1_500, "{}", plain.len());
    assert!(plain.is_sorted_by(|a, b| a < b));
    for id in plain {
        let word = tokenizer.decode(&[*id]).unwrap();
        let letters = word.strip_prefix(' ').unwrap();
        assert!(!letters.is_empty() && letters.chars().all(char::is_alphabetic), "{word}");
    }
    for step in [1, 7, 31] {
        let ids: Vec<u32> = (0..plain.len()).map(|at| plain[at * step % plain.len()]).collect();
        let text = tokenizer.decode(&ids).unwrap();
        assert_eq!(tokenizer.encode(&text).unwrap(), ids, "step {step}");
    }
}

#[test]
fn texts_of_plain_words_of_the_embedded_tokenizer_encode_to_exactly_their_ids() {
    let tokenizer = embedded();
    let (plain, words) = (tokenizer.plain_ids(), tokenizer.plain_words().unwrap());
    let positions: Vec<usize> = (0..3_000).map(|at| at * 577 % plain.len()).collect();
    let ids: Vec<u32> = positions.iter().map(|at| plain[*at]).collect();
    let text = words.text(&positions);
    assert_eq!(tokenizer.decode(&ids).unwrap(), text);
    assert_eq!(tokenizer.encode(&text).unwrap(), ids);
}

#[test]
fn a_file_a_folder_and_a_hub_id_load_the_same_tokenizer() {
    let json = fs::read_to_string(EMBEDDED).unwrap();
    let commit = "models--org--name/snapshots/0123abcd/tokenizer.json";
    let folder = folder_with(&[
        ("tokenizer.json", &json),
        (commit, &json),
        ("models--org--name/refs/main", "0123abcd"),
    ]);
    let path = folder.path().to_str().unwrap();
    for spec in [path, &format!("{path}/tokenizer.json"), "org/name"] {
        let tokenizer = load_with(spec, &offline(folder.path())).unwrap();
        assert_eq!(tokenizer.name(), spec);
        for text in TEXTS {
            assert_eq!(tokenizer.encode(text), embedded().encode(text), "{spec}");
        }
    }
}

#[test]
fn special_tokens_truncation_and_padding_in_the_tokenizer_file_are_not_applied() {
    let mut json: Value = serde_json::from_slice(&fs::read(EMBEDDED).unwrap()).unwrap();
    json["truncation"] = json!({
        "direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0
    });
    json["padding"] = json!({
        "strategy": {"Fixed": 64}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0,
        "pad_type_id": 0, "pad_token": "!"
    });
    json["added_tokens"] = json!([{
        "id": 6144, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": false, "special": true
    }]);
    json["post_processor"] = json!({
        "type": "TemplateProcessing",
        "single": [
            {"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}
        ],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [6144], "tokens": ["<s>"]}}
    });
    let tokenizer = HfTokenizer::from_bytes("changed", json.to_string().as_bytes()).unwrap();
    let text = "Alice was beginning to get very tired of sitting by her sister on the bank";
    assert_eq!(tokenizer.encode(text), embedded().encode(text));
    assert_eq!(tokenizer.decode(&[6144]).unwrap(), "<s>");
    assert!(!tokenizer.plain_ids().contains(&6144));
}

#[test]
fn decoding_an_id_outside_the_vocabulary_is_an_error() {
    for id in [6_144, u32::MAX] {
        let error = embedded().decode(&[0, id]).unwrap_err();
        assert_eq!(error.tokenizer, "embedded");
        assert!(error.message.contains(&id.to_string()), "{error}");
    }
}

#[test]
fn a_path_without_a_tokenizer_is_refused_with_its_name_and_the_reason() {
    let folder = folder_with(&[
        ("plan.json", "{\"seed\": 1}"),
        ("notes.txt", "not a tokenizer"),
        ("empty.json", ""),
        ("model/tokenizer.model", "sentencepiece"),
        ("model/config.json", "{}"),
        ("bare/.keep", ""),
    ]);
    fs::remove_file(folder.path().join("bare/.keep")).unwrap();
    let cases: [(&str, &[&str]); 7] = [
        ("plan.json", &["plan.json is not a Hugging Face tokenizer.json"]),
        ("notes.txt", &["notes.txt is not a Hugging Face tokenizer.json"]),
        ("empty.json", &["empty.json is not a Hugging Face tokenizer.json"]),
        ("model", &["model contains no tokenizer.json", "config.json, tokenizer.model"]),
        ("bare", &["bare contains no tokenizer.json", "it contains nothing"]),
        ("absent.json", &["there is no file or folder", "absent.json", "Hugging Face id"]),
        ("no/such/folder", &["there is no file or folder", "no/such/folder"]),
    ];
    for (name, parts) in cases {
        let message = error_of(&folder.path().join(name), &offline(folder.path())).to_string();
        for part in parts {
            assert!(message.contains(part), "{name}: {message}");
        }
    }
}

#[test]
fn an_unavailable_hub_id_is_an_error_that_names_the_cache_the_endpoint_and_alternatives() {
    let cache = tempfile::tempdir().unwrap();
    let hub = offline(cache.path());
    let message = error_of(Path::new("org/absent"), &hub).to_string();
    let place = cache.path().to_str().unwrap();
    for part in ["`org/absent`", place, "HF_HUB_OFFLINE is set", "HF_ENDPOINT", "--tokenizer"] {
        assert!(message.contains(part), "{message}");
    }
    // The address is not valid, so the request to the hub fails, and the error reports the failure.
    let hub = HubConfig { access: HubAccess::Online, endpoint: "no address".to_owned(), ..hub };
    let WorkloadError::Hub { id, cache: sought, endpoint, reason } =
        error_of(Path::new("org/absent"), &hub)
    else {
        panic!("another error")
    };
    assert_eq!((id.as_str(), endpoint.as_str()), ("org/absent", "no address"));
    assert_eq!(sought, PathBuf::from(place));
    assert!(reason.contains("request error"), "{reason}");
}
