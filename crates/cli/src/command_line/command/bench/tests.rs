//! Tests the effect of each flag. Every flag with the answer `Same` has a row here, or is in [`NEEDED`]. A flag with
//! the answer `Near` has a row, or a note that is tested.

use std::collections::BTreeSet;

use clap::{Args, Command, FromArgMatches};
use serde_json::{Map, Value, json};

use super::given::GivenFlags;
use super::translate::{Translated, translate};
use crate::other_tools::vllm::{Answer, FLAGS, Values};

fn given(arguments: &str) -> GivenFlags {
    let words = std::iter::once("serve".to_owned()).chain(words(arguments));
    let command = GivenFlags::augment_args(Command::new("serve"));
    let matches = command.try_get_matches_from(words).unwrap_or_else(|error| panic!("{error}"));
    GivenFlags::from_arg_matches(&matches).expect("flags")
}

/// Splits a text into words as a shell does: at spaces, except between single quotes.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in text.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            _ => words.last_mut().expect("a word").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn keys(arguments: &str) -> Map<String, Value> {
    translated(arguments).keys
}

fn translated(arguments: &str) -> Translated {
    translate(&given(arguments), None)
        .unwrap_or_else(|mistakes| panic!("{arguments}: {mistakes:?}"))
}

fn refused(arguments: &str) -> String {
    translate(&given(arguments), None).expect_err(arguments).join("\n")
}

#[test]
fn bench_serve_without_flags_has_the_default_load_of_vllm() {
    let expected = json!({
        "target": "http://127.0.0.1:8000", "dialect": "openai-completions", "workload": "random",
        "input_lengths": [1024], "output_lengths": [128], "requests": 1000, "rate": ["inf"],
        "ignore_eos": true, "warmup": "0",
    });
    assert_eq!(Value::from(keys("")), expected);
}

/// Each row: a flag, the other flags that it requires, the flag with its value, and the expected keys of the plan.
const CHANGES: &[(&str, &str, &str, &str)] = &[
    ("--model", "", "--model a/b", r#"{"model": "a/b"}"#),
    ("--served-model-name", "--model a/b", "--served-model-name c", r#"{"model": "c"}"#),
    ("--base-url", "", "--base-url https://h/p/", r#"{"target": "https://h/p"}"#),
    ("--host", "", "--host ::1", r#"{"target": "http://[::1]:8000"}"#),
    ("--port", "", "--port 9", r#"{"target": "http://127.0.0.1:9"}"#),
    ("--endpoint", "", "--endpoint /x/completions", r#"{"endpoint": "/x/completions"}"#),
    ("--backend", "", "--backend openai-chat", r#"{"dialect": "openai-chat"}"#),
    (
        "--endpoint-type",
        "",
        "--endpoint-type openai-responses",
        r#"{"dialect": "openai-responses"}"#,
    ),
    ("--header", "", "--header a=b c=d=e", r#"{"header": ["a: b", "c: d=e"]}"#),
    ("--insecure", "--base-url https://h", "--insecure", r#"{"insecure": true}"#),
    ("--ready-check-timeout-sec", "", "--ready-check-timeout-sec 600", r#"{"wait": "600s"}"#),
    ("--tokenizer", "", "--tokenizer t.json", r#"{"tokenizer": "t.json"}"#),
    ("--dataset-name", "", "--dataset-name prefix_repetition", r#"{"workload": "prefix"}"#),
    (
        "--dataset-path",
        "--dataset-name sharegpt --dataset-path y",
        "--dataset-path x.json",
        r#"{"dataset": "x.json"}"#,
    ),
    ("--num-prompts", "", "--num-prompts 7", r#"{"requests": 7}"#),
    ("--seed", "", "--seed 3", r#"{"seed": 3}"#),
    ("--input-len", "--random-input-len 9", "--input-len 5", r#"{"input_lengths": [5]}"#),
    ("--output-len", "--random-output-len 9", "--output-len 5", r#"{"output_lengths": [5]}"#),
    ("--random-input-len", "", "--random-input-len 5", r#"{"input_lengths": [5]}"#),
    ("--random-output-len", "", "--random-output-len 5", r#"{"output_lengths": [5]}"#),
    (
        "--random-range-ratio",
        "",
        "--random-range-ratio 0.5",
        r#"{"range_ratio": 0.5, "input_lengths": [1024]}"#,
    ),
    (
        "--random-range-ratio",
        "",
        r#"--random-range-ratio '{"input": 0.3, "output": 0.5}'"#,
        r#"{"input_distribution": "uniform:716..1332", "output_distribution": "uniform:64..192"}"#,
    ),
    (
        "--random-range-ratio",
        "--random-prefix-len 6",
        r#"--random-range-ratio {"output":0.1}"#,
        r#"{"input_lengths": [1030], "prefix_length": 6, "output_distribution": "uniform:115..141"}"#,
    ),
    (
        "--random-prefix-len",
        "",
        "--random-prefix-len 6",
        r#"{"prefix_length": 6, "input_lengths": [1030]}"#,
    ),
    ("--prompt-token-ids", "", "--prompt-token-ids", r#"{"token_ids": true}"#),
    (
        "--sharegpt-output-len",
        "--dataset-name sharegpt --dataset-path x",
        "--sharegpt-output-len 9",
        r#"{"output_length": 9}"#,
    ),
    (
        "--custom-output-len",
        "--dataset-name custom --dataset-path x --skip-chat-template",
        "--custom-output-len 9",
        r#"{"output_length": 9, "columns": "output_tokens=(none)"}"#,
    ),
    (
        "--prefix-repetition-prefix-len",
        "--dataset-name prefix_repetition",
        "--prefix-repetition-prefix-len 9",
        r#"{"prefix_length": 9, "input_lengths": [265]}"#,
    ),
    (
        "--prefix-repetition-suffix-len",
        "--dataset-name prefix_repetition",
        "--prefix-repetition-suffix-len 9",
        r#"{"input_lengths": [265]}"#,
    ),
    (
        "--prefix-repetition-num-prefixes",
        "--dataset-name prefix_repetition",
        "--prefix-repetition-num-prefixes 4",
        r#"{"prefix_groups": 4, "prompts_per_group": 250}"#,
    ),
    (
        "--prefix-repetition-output-len",
        "--dataset-name prefix_repetition",
        "--prefix-repetition-output-len 9",
        r#"{"output_lengths": [9]}"#,
    ),
    (
        "--timed-trace-sec-multiplier",
        TRACE,
        "--timed-trace-sec-multiplier 1.0 --timed-trace-chunk-hash-size 64",
        r#"{"trace_format": "bailian:64"}"#,
    ),
    (
        "--no-self-timed",
        TRACE,
        "--no-self-timed --request-rate 3",
        r#"{"rate": ["3"], "trace_format": "auto:16"}"#,
    ),
    ("--request-rate", "", "--request-rate 4", r#"{"rate": ["4"]}"#),
    ("--burstiness", "--request-rate 4", "--burstiness 0.5", r#"{"burstiness": "0.5"}"#),
    ("--max-concurrency", "", "--max-concurrency 8", r#"{"concurrency": ["8"]}"#),
    (
        "--max-concurrency",
        "--request-rate 4",
        "--max-concurrency 8",
        r#"{"rate": ["4"], "max_in_flight": 8}"#,
    ),
    (
        "--ramp-up-strategy",
        "",
        "--ramp-up-strategy linear --ramp-up-start-rps 4 --ramp-up-end-rps 4",
        r#"{"rate": ["2525s@4"], "scale": false}"#,
    ),
    (
        "--ramp-up-start-rps",
        "--ramp-up-strategy linear --ramp-up-start-rps 4 --ramp-up-end-rps 5",
        "--ramp-up-start-rps 5",
        r#"{"rate": ["2020s@5"]}"#,
    ),
    (
        "--ramp-up-end-rps",
        "--ramp-up-strategy linear --ramp-up-start-rps 4 --ramp-up-end-rps 5",
        "--ramp-up-end-rps 4",
        r#"{"rate": ["2525s@4"]}"#,
    ),
    ("--num-warmups", "", "--num-warmups 5", r#"{"warmup": "5@rate=inf"}"#),
    ("--num-warmups", "--max-concurrency 2", "--num-warmups 5", r#"{"warmup": "5@concurrency=2"}"#),
    ("--reset-prefix-cache", "", "--reset-prefix-cache", r#"{"reset_prefix_cache": true}"#),
    (
        "--ignore-eos",
        "--dataset-name sharegpt --dataset-path x",
        "--ignore-eos",
        r#"{"ignore_eos": true}"#,
    ),
    ("--temperature", "", "--temperature 0", r#"{"temperature": 0.0}"#),
    ("--top-p", "", "--top-p 0.5", r#"{"extra_body": {"top_p": 0.5}}"#),
    ("--top-k", "", "--top-k 5", r#"{"extra_body": {"top_k": 5}}"#),
    ("--min-p", "", "--min-p 0.5", r#"{"extra_body": {"min_p": 0.5}}"#),
    (
        "--frequency-penalty",
        "",
        "--frequency-penalty 1",
        r#"{"extra_body": {"frequency_penalty": 1.0}}"#,
    ),
    (
        "--presence-penalty",
        "",
        "--presence-penalty 1",
        r#"{"extra_body": {"presence_penalty": 1.0}}"#,
    ),
    (
        "--repetition-penalty",
        "",
        "--repetition-penalty 2",
        r#"{"extra_body": {"repetition_penalty": 2.0}}"#,
    ),
    ("--logprobs", "", "--logprobs 2", r#"{"extra_body": {"logprobs": 2}}"#),
    (
        "--extra-body",
        "--top-p 0.5",
        r#"--extra-body {"top_p":1,"a":2}"#,
        r#"{"extra_body": {"top_p": 1, "a": 2}}"#,
    ),
    ("--lora-modules", "--model a", "--lora-modules b", r#"{"model": "b"}"#),
    (
        "--goodput",
        "",
        "--goodput ttft:500 tpot:50.5 e2el:9000",
        r#"{"goodput": "ttft<=500ms,tpot<=50.5ms,e2e<=9000ms"}"#,
    ),
];

const TRACE: &str = "--dataset-name timed_trace --dataset-path x";

#[test]
fn each_load_flag_of_vllm_is_translated_to_the_expected_plan_keys() {
    for (flag, beside, with, expected) in CHANGES {
        let before = keys(beside);
        let after = keys(&format!("{beside} {with}"));
        let expected: Map<String, Value> = serde_json::from_str(expected).expect("JSON");
        assert_ne!(before, after, "{flag}");
        for (key, value) in expected {
            assert_eq!(after.get(&key), Some(&value), "{flag}: {key} of {after:?}");
        }
    }
}

/// Flags that change only the table or the result file. A row: a flag, other required flags, the flag with its value.
const OUTCOMES: &[(&str, &str, &str)] = &[
    ("--percentile-metrics", "", "--percentile-metrics ttft,e2el"),
    ("--metric-percentiles", "", "--metric-percentiles 50,99.9"),
    ("--disable-tqdm", "", "--disable-tqdm"),
    ("--save-result", "", "--save-result"),
    ("--save-detailed", "--save-result", "--save-detailed"),
    ("--append-result", "", "--append-result"),
    ("--result-dir", "--save-result", "--result-dir x"),
    ("--result-filename", "--save-result", "--result-filename x.json"),
    ("--metadata", "--save-result", "--metadata a=b c=d"),
    ("--label", "", "--label x"),
    ("--dry-run", "", "--dry-run"),
    ("--steady-state-threshold", "--max-concurrency 8", "--steady-state-threshold 0.5"),
    ("--steady-state-min-window", "--max-concurrency 8", "--steady-state-min-window 3"),
    ("--no-steady-state", "--max-concurrency 8", "--no-steady-state"),
];

#[test]
fn output_flags_change_what_is_printed_or_saved_but_not_the_plan() {
    for (flag, beside, with) in OUTCOMES {
        let after = translated(&format!("{beside} {with}"));
        assert_ne!(translated(beside).outcome, after.outcome, "{flag}");
        assert_eq!(translated(beside).keys, after.keys, "{flag}");
    }
}

/// Flags that other flags require, that prevent an error, or that state a default.
const NEEDED: [&str; 3] = ["--skip-chat-template", "--self-timed", "--timed-trace-chunk-hash-size"];

#[test]
fn every_accepted_flag_has_a_test_row_or_prints_a_note() {
    let changes = CHANGES.iter().map(|row| row.0).chain(OUTCOMES.iter().map(|row| row.0));
    let tested: BTreeSet<&str> = changes.chain(NEEDED).collect();
    for flag in FLAGS.iter() {
        match flag.answer {
            Answer::Same => assert!(tested.contains(flag.name), "{} has no row", flag.name),
            Answer::Near(words) if !tested.contains(flag.name) => {
                let value = if flag.values == Values::None { "" } else { " x" };
                let notes = translated(&format!("{}{value}", flag.name)).notes;
                assert!(notes.iter().any(|note| note.contains(words)), "{}", flag.name);
            }
            _ => {}
        }
    }
}

#[test]
fn a_refusal_names_the_missing_flag_and_giving_that_flag_resolves_it() {
    let custom = "--dataset-name custom --dataset-path x";
    assert!(refused(custom).contains("--skip-chat-template"));
    assert_eq!(keys(&format!("{custom} --skip-chat-template"))["output_length"], 256);
    let own = keys(&format!("{custom} --skip-chat-template --custom-output-len -1"));
    assert!(!own.contains_key("output_length") && !own.contains_key("columns"), "{own:?}");
    assert_eq!(keys(&format!("{custom} --backend openai-chat"))["dialect"], "openai-chat");
    assert!(refused(&format!("{TRACE} --timed-trace-sec-multiplier 60")).contains("give 0.001"));
    let own_instants = keys(&format!("{TRACE} --self-timed"));
    assert!(!own_instants.contains_key("rate"), "{own_instants:?}");
    assert!(refused(&format!("{TRACE} --request-rate 3")).contains("--no-self-timed"));
}

#[test]
fn a_refused_flag_states_the_reason_and_its_harmless_values_are_accepted() {
    for flag in FLAGS.iter() {
        let Answer::Refused(why) = flag.answer else { continue };
        let value = match flag.values {
            Values::None => "",
            _ => " something",
        };
        assert!(refused(&format!("{}{value}", flag.name)).contains(why), "{}", flag.name);
        for value in &flag.harmless {
            let known = translate(&given(&format!("{} {value}", flag.name)), None);
            assert!(known.is_ok(), "{} {value}: {known:?}", flag.name);
        }
    }
}

#[test]
fn steady_state_flags_get_a_note_without_a_concurrency_limit_and_bad_values_are_refused() {
    for unlimited in
        ["--steady-state-threshold 0.5", "--request-rate 3 --steady-state-min-window 1"]
    {
        let notes = translated(unlimited).notes;
        assert!(notes.iter().any(|note| note.contains("has no effect without")), "{notes:?}");
    }
    for wrong in ["--steady-state-threshold 0", "--steady-state-threshold 1.1"] {
        assert!(refused(wrong).contains("above 0 and at most 1"));
    }
    assert!(refused("--steady-state-min-window -1").contains("of at least 0"));
}

#[test]
fn each_unsupported_or_wrong_argument_is_refused_with_its_reason() {
    for (arguments, words) in [
        ("--backend openai-embeddings", "not measured"),
        ("--backend tgi", "inferometer list dialects"),
        ("--backend openai-chat --endpoint /v1/completions", "does not end with /chat/completions"),
        ("--dataset-name sonnet", "prefix_repetition"),
        ("--dataset-name hf", "JSON lines"),
        ("--dataset-name nosuch", "not one of random"),
        ("--dataset-name sharegpt", "--dataset-path: is missing"),
        ("--dataset-path x", "reads no file"),
        ("--num-prompts 0", "--num-prompts: `0`"),
        ("--num-prompts many", "`many` is not"),
        ("--request-rate 0", "--request-rate: `0`"),
        ("--max-concurrency 0", "--max-concurrency: `0`"),
        ("--ramp-up-strategy linear", "needs --ramp-up-start-rps too"),
        ("--ramp-up-start-rps 3", "needs --ramp-up-strategy"),
        ("--random-range-ratio 1", "below 1"),
        ("--goodput ttft=5", "KEY:VALUE"),
        ("--goodput itl:5", "`itl` is not one of ttft"),
        ("--lora-modules a b", "run --adapters"),
        ("--percentile-metrics ttft,itx", "`itx` is not one of"),
        ("--metric-percentiles 101", "`101`"),
        ("--extra-body [1]", "not a JSON object"),
        ("--num-prompts 5 --dataset-name prefix_repetition", "below --prefix-repetition"),
    ] {
        let told = refused(arguments);
        assert!(told.contains(words), "{arguments}: {told}");
    }
    // A value of --header without `=` may be an API key, so the message must not repeat it.
    assert!(!refused("--header sk-secret").contains("sk-secret"));
}

#[test]
fn flags_are_parsed_as_by_argparse_of_python() {
    assert_eq!(keys("--num_prompts 5 --num-prompts=6")["requests"], 6);
}

#[test]
fn the_target_of_the_settings_is_used_only_if_no_flag_names_a_server() {
    let target = |arguments: &str| {
        let translated = translate(&given(arguments), Some("http://set:1")).expect("it is right");
        translated.keys["target"].as_str().map(str::to_owned).expect("a text")
    };
    assert_eq!(target("--model m"), "http://set:1");
    assert_eq!(target("--port 9"), "http://127.0.0.1:9");
    assert_eq!(target("--host h"), "http://h:8000");
    assert_eq!(target("--base-url http://b:2/"), "http://b:2");
    assert_eq!(translated_default(), "http://127.0.0.1:8000");
}

fn translated_default() -> String {
    let translated = translate(&given("--model m"), None).expect("it is right");
    translated.keys["target"].as_str().expect("a text").to_owned()
}
