//! `predict --against` a run or a result file: the facts that the run or the file states about its server, and the
//! errors of the prediction.

use std::path::Path;

use serde_json::Value;

use crate::predict::predict;
use crate::support::{folder, inferometer, told};

/// A result file of another tool.
fn fixture(name: &str) -> String {
    format!("{}/../formats/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Predicts, and returns the results and the messages.
fn predicted(folder: &Path, arguments: &[&str]) -> (Value, String) {
    let output = inferometer(folder, &[&["predict", "--json"], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", told(&output));
    (serde_json::from_slice(&output.stdout).expect("one JSON document"), told(&output))
}

fn refused(folder: &Path, arguments: &[&str]) -> String {
    let output = inferometer(folder, &[&["predict", "--quiet"], arguments].concat());
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", told(&output));
    told(&output)
}

/// The errors of the predicted requests/s of each pass, in percent.
fn errors(summary: &Value) -> Vec<f64> {
    let cells = summary["cells"].as_array().expect("cells");
    let passes = cells.iter().flat_map(|cell| cell["predicted_passes"].as_array().expect("passes"));
    let figures = passes.filter_map(|pass| pass["requests_per_s"]["error_pct"].as_f64());
    figures.collect()
}

const ENGINE: [&str; 16] = [
    "--model", "llama-3.1-8b", "--engine", "vllm-0.8", "--card", "l40s", "--weights", "fp8",
    "--max-num-seqs", "4", "--gpu-memory-utilization", "0.8", "--block-size", "32",
    "--kv-cache-dtype", "fp8",
];
const LOAD: [&str; 10] = [
    "--rate", "9", "--requests", "40", "--range-ratio", "0.5", "--input-lengths", "200",
    "--output-lengths", "30",
];

#[test]
fn a_prediction_against_a_run_uses_the_facts_of_the_run_and_given_flags_replace_them() {
    let folder = folder();
    let own = ["--async-scheduling", "--max-model-len", "4096"];
    let first = predict(folder.path(), &[&ENGINE[..], &own, &LOAD].concat());
    let run = first["run_id"].as_str().expect("a name");
    let (again, told) = predicted(folder.path(), &["--against", run]);
    let facts = format!(
        "taken from run {run}: --model llama-3.1-8b --profile vllm-0.8-l40s --weights fp8 \
         --tensor-parallel-size 1 --pipeline-parallel-size 1 --max-model-len 4096 \
         --max-num-seqs 4 --max-num-batched-tokens 2048 --gpu-memory-utilization 0.8 \
         --block-size 32 --kv-cache-dtype fp8 --async-scheduling\n"
    );
    assert!(told.contains(&facts), "{told}");
    assert_eq!(again["target"]["facts"]["kv_cache_dtype"], "fp8");
    let found = errors(&again);
    assert!(found.len() == 1 && found[0].abs() < 0.2, "{found:?}");
    // The plan asks for varied lengths, so no finding reports that the lengths of the requests differ.
    for code in ["against_another", "output_shorter_than_asked", "input_length_differs"] {
        assert!(!again["findings"].to_string().contains(code), "{code}: {}", again["findings"]);
    }
    let (other, told) = predicted(folder.path(), &["--against", run, "--max-num-seqs", "1"]);
    assert!(!told.contains("--max-num-seqs") && errors(&other)[0] < -10.0, "{told}");
    let (other, told) = predicted(folder.path(), &["--against", run, "--card", "h100-sxm"]);
    assert!(told.contains("--engine vllm-0.8.0 ") || told.contains("--engine vllm-0.8 "), "{told}");
    assert!(!told.contains("--profile") && !told.contains("--card"), "{told}");
    assert_eq!(other["target"]["facts"]["card"], "h100-sxm");
    let message = refused(folder.path(), &["--against", run, "--max-num-batched-tokens", "2"]);
    assert!(message.contains(&format!("run {run} states --model llama-3.1-8b")), "{message}");
}

#[test]
fn a_run_that_does_not_state_its_model_needs_the_flag_and_unknown_facts_are_named() {
    let folder = folder();
    let first = predict(folder.path(), &["--requests", "5", "--input-lengths", "64"]);
    let run = first["run_id"].as_str().expect("a name");
    let results = folder.path().join("inferometer-out").join(run).join("summary.json");
    let results = std::fs::read_to_string(results).expect("results");
    let write = |model: &str| {
        let mut results: Value = serde_json::from_str(&results).expect("JSON");
        results["target"]["model"] = model.into();
        results["target"]["simulated"] = false.into();
        results["target"]["engine_version"] = Value::Null;
        results["target"]["facts"] = serde_json::json!({});
        std::fs::write(folder.path().join("other.json"), results.to_string()).expect("written");
    };
    write("unknown");
    let message = refused(folder.path(), &["--against", "other.json"]);
    assert!(message.contains("--model: other.json does not state the model"), "{message}");
    assert!(message.contains("give --model NAME"), "{message}");
    write("my-own-model");
    let message = refused(folder.path(), &["--against", "other.json"]);
    assert!(message.contains("states the model `my-own-model`, which this program does not know"));
    let (_, told) = predicted(folder.path(), &["--against", "other.json", "--model", "qwen-14b"]);
    for part in [
        "other.json does not state",
        "--engine; assumed: vllm 0.2.7",
        "--card; assumed: a100-pcie-40gb",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn an_imported_run_is_a_reference_if_it_has_records_and_else_the_error_names_the_file() {
    let folder = folder();
    for (name, has_records) in [("vllm.json", false), ("vllm-detailed.json", true)] {
        let file = fixture(name);
        let (of_file, messages) = predicted(folder.path(), &["--against", &file]);
        assert!(messages.contains("--model chatglm3-6b"), "{messages}");
        assert_eq!(errors(&of_file).len(), 1, "{name}");
        let output = inferometer(folder.path(), &["import", &file]);
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
        if has_records {
            let (of_run, _) = predicted(folder.path(), &["--against", "latest-imported"]);
            assert_eq!(errors(&of_run), errors(&of_file), "{name}");
        } else {
            let message = refused(folder.path(), &["--against", "latest-imported"]);
            assert!(message.contains(&format!("({name})")), "{message}");
            assert!(!message.contains("#SECTION") && !message.contains("no file"), "{message}");
        }
    }
}

#[test]
fn results_of_several_models_in_a_file_are_chosen_by_their_section() {
    let folder = folder();
    let one = std::fs::read_to_string(fixture("vllm.json")).expect("a file");
    let one: Value = serde_json::from_str(&one).expect("JSON");
    let mut other = one.clone();
    other["model_id"] = "qwen-14b".into();
    let lines = format!("{one}\n{other}\n");
    std::fs::write(folder.path().join("both.jsonl"), lines).expect("written");
    let message = refused(folder.path(), &["--against", "both.jsonl"]);
    for words in ["several models (chatglm3-6b, qwen-14b)", "both.jsonl#SECTION: result 1"] {
        assert!(message.contains(words), "{message}");
    }
    let (_, told) = predicted(folder.path(), &["--against", "both.jsonl#result 2"]);
    assert!(told.contains("--model qwen-14b"), "{told}");
    let message = refused(folder.path(), &["--against", "both.jsonl#result 3"]);
    assert!(message.contains("no result matches #result 3; the results are: result 1; result 2"));
}

#[test]
fn a_run_with_an_own_card_file_can_be_used_from_another_folder() {
    let folder = folder();
    let card = "name = \"mine\"\nsource = \"me\"\nmemory_bytes = 48e9\n\
                bandwidth_bytes_per_s = 864e9\ndense_flops_per_s = 3.6e14\n\
                single_flops_per_s = 9e13\ncapability = [8, 9]\nlink_bytes_per_s = 3e10\n\
                link_latency_us = 20.0\n";
    std::fs::write(folder.path().join("mine.toml"), card).expect("written");
    let engine = ["--model", "llama-3.1-8b", "--engine", "vllm-0.8", "--card", "mine.toml"];
    let load = ["--requests", "5", "--rate", "3", "--max-model-len", "4096"];
    let first = predict(folder.path(), &[&engine[..], &load].concat());
    assert!(first["findings"].to_string().contains("on mine:"), "{}", first["findings"]);
    let run = first["run_id"].as_str().expect("a name");
    let elsewhere = folder.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).expect("a folder");
    let again = predict(&elsewhere, &["--against", run, "--store", "../inferometer.db"]);
    assert_eq!(again["target"]["facts"]["card"], "mine");
    assert!(errors(&again).iter().all(|error| error.abs() < 1e-3), "{:?}", errors(&again));
    let rows = "requests,max_in_flight,input_length,output_length,requests_per_s,tpot_p50_ms\n\
                8,1,500,60,0.89,18.0\n64,32,500,60,11.0,42.0\n";
    std::fs::write(folder.path().join("runs.csv"), rows).expect("written");
    let calibrate = [&["calibrate", "runs.csv", "--out", "own.toml"], &engine[..]].concat();
    let output = inferometer(folder.path(), &calibrate);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    std::fs::remove_file(folder.path().join("mine.toml")).expect("it exists");
    let own = ["--model", "llama-3.1-8b", "--profile", "../own.toml"];
    let found = predict(&elsewhere, &[&own[..], &load].concat());
    assert_eq!(found["target"]["facts"]["card"], "mine");
    std::fs::write(folder.path().join("wrong.toml"), card.replace("864e9", "864e12"))
        .expect("written");
    let message = refused(folder.path(), &["--model", "llama-3.1-8b", "--card", "wrong.toml"]);
    assert!(message.contains("wrong.toml: bandwidth_bytes_per_s = 8.64e14 does not"), "{message}");
}

#[test]
fn a_run_without_prefix_caching_is_simulated_without_it() {
    let folder = folder();
    let engine = ["--model", "llama-3.1-8b", "--engine", "vllm-0.8", "--card", "l40s"];
    let load = "--max-model-len 4096 --workload prefix --prefix-length 256 --input-lengths 320 \
                --output-lengths 16 --concurrency 8 --requests 40";
    let load: Vec<&str> = load.split_whitespace().collect();
    let rate = |found: &Value| found["cells"][0]["passes"][0]["requests_per_s"].as_f64();
    let with = predict(folder.path(), &[&engine[..], &load].concat());
    let off = ["--no-enable-prefix-caching"];
    let without = predict(folder.path(), &[&engine[..], &off, &load].concat());
    assert!(rate(&with).is_some() && rate(&with) != rate(&without), "{:?}", rate(&with));
    let run = without["run_id"].as_str().expect("a name");
    let (again, told) = predicted(folder.path(), &["--against", run]);
    assert!(told.contains(" --no-enable-prefix-caching"), "{told}");
    assert_eq!(again["target"]["facts"]["prefix_caching"], "false");
    assert!(errors(&again).iter().all(|error| error.abs() < 0.5), "{:?}", errors(&again));
    let with = with["run_id"].as_str().expect("a name");
    // An engine without prefix caching can be simulated instead.
    let old = ["--against", with, "--model", "qwen-14b", "--profile", "a100-40g-vllm-0.2.7"];
    predicted(folder.path(), &[&old[..], &["--max-model-len", "2048"]].concat());
}

#[test]
fn the_model_file_of_a_run_is_read_again_and_its_path_is_printed_quoted_for_a_shell() {
    let folder = folder();
    let config = r#"{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 2048,
        "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8,
        "vocab_size": 32000, "max_position_embeddings": 4096, "torch_dtype": "bfloat16"}"#;
    std::fs::write(folder.path().join("my model.json"), config).expect("written");
    let engine = ["--model", "my model.json", "--engine", "vllm-0.8", "--card", "l40s"];
    let first = predict(folder.path(), &[&engine[..], &["--requests", "5"]].concat());
    let run = first["run_id"].as_str().expect("a name");
    let (again, told) = predicted(folder.path(), &["--against", run]);
    assert_eq!(again["target"]["model"], "my model");
    // The path has a space, so it is quoted.
    assert!(told.contains("--model 'my model.json' "), "{told}");
}

#[test]
fn asynchronous_scheduling_changes_a_prediction_and_is_refused_for_engines_without_it() {
    let folder = folder();
    let engine = ["--model", "qwen3-14b", "--engine", "vllm-0.23", "--card", "h100-sxm"];
    let load = ["--rate", "8", "--requests", "60", "--input-lengths", "512"];
    let ttft = |more: &[&str]| {
        let found = predict(folder.path(), &[&engine[..], &load, more].concat());
        found["cells"][0]["predicted_passes"][0]["ttft_p50_ms"]["predicted"].as_f64()
    };
    let default = ttft(&[]);
    assert_eq!(ttft(&["--async-scheduling"]), default);
    let without = ttft(&["--no-async-scheduling"]);
    assert_eq!(ttft(&["--async-scheduling", "false"]), without);
    assert_ne!(without, default);
    let message = refused(folder.path(), &["--async-scheduling"]);
    assert!(message.contains("--async-scheduling true: is supported only for vLLM 0.8"));
}
