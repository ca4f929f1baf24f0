//! `bench serve`: the load, the table and the result file of `vllm bench serve`, and flags of other tools.

use std::fs;

use serde_json::Value;

use crate::support::{Engine, command, folder, inferometer, told};

const SMALL: &str = "--random-input-len 24 --random-output-len 8 --num-prompts 6";

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

#[test]
fn bench_serve_prints_the_vllm_table_then_our_verdict_and_writes_the_result_file() {
    let (engine, folder) = (Engine::start(&[]), folder());
    let more = "--max-concurrency 2 --save-result --save-detailed --result-dir results \
                --metadata tp=1 version=x --percentile-metrics ttft,e2el,client_queue_time \
                --metric-percentiles 50,99.9 --goodput e2el:100000 --label mine --seed 7";
    let arguments =
        [words("bench serve --base-url"), vec![&engine.url], words(SMALL), words(more)].concat();
    let out = inferometer(folder.path(), &arguments);
    assert_eq!(out.status.code(), Some(0), "{}", told(&out));
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let table = text.find("============ Serving Benchmark Result ============").expect("a table");
    let verdict = text.find("valid:").or_else(|| text.find("suspect:")).expect("a verdict");
    assert!(table < verdict, "{text}");
    for line in [
        "Successful requests:                     6         ",
        "Failed requests:                         0         ",
        "Maximum request concurrency:             2         ",
        "Total generated tokens:                  48        ",
        "---------------Time to First Token----------------",
        "P99.9 E2EL (ms):",
        "P50 Client Queue Time (ms):",
        "Request goodput (req/s):",
        "report: ",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    // Metrics that --percentile-metrics leaves out are not printed. The flag does not affect the steady-state metrics.
    assert!(!text.contains("Time per Output Token"), "{text}");
    assert!(text.contains("Steady-State Metrics"), "{text}");
    assert!(told(&out).contains("note: --seed:"), "{}", told(&out));
    let mut files = fs::read_dir(folder.path().join("results")).expect("a folder");
    let path = files.next().expect("a file").expect("an entry").path();
    let name = path.file_name().expect("a name").to_string_lossy().into_owned();
    assert!(name.starts_with("mine-infqps-concurrency2-chatglm3-6b-20"), "{name}");
    let file: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).expect("JSON");
    for (field, value) in [
        ("tp", Value::from("1")),
        ("num_prompts", 6.into()),
        ("completed", 6.into()),
        ("max_concurrency", 2.into()),
        ("request_rate", "inf".into()),
        ("backend", "openai".into()),
        ("total_output_tokens", 48.into()),
    ] {
        assert_eq!(file[field], value, "{field}");
    }
    assert_eq!(file["ttfts"].as_array().map(Vec::len), Some(6));
    assert!(file["p99.9_e2el_ms"].is_number() && file.get("mean_tpot_ms").is_none());
    // Only two requests may be in flight, so the last request waited for earlier requests.
    let waits: Vec<f64> = serde_json::from_value(file["queue_times"].clone()).expect("seconds");
    let ends: Vec<f64> = serde_json::from_value(file["latencies"].clone()).expect("seconds");
    assert!(waits[5] > waits[0] && waits[5] >= ends[0], "{waits:?} {ends:?}");
    // On any machine, the duration covers the wait and the latency of every request.
    let duration = file["duration"].as_f64().expect("seconds");
    let last = waits.iter().zip(&ends).map(|(wait, end)| wait + end).fold(0.0, f64::max);
    let rounding = 1e-6;
    assert!((last - rounding..last + 300.0).contains(&duration), "{duration} {waits:?} {ends:?}");
    let path = path.to_string_lossy();
    let imported = inferometer(folder.path(), &["import", &path]);
    assert_eq!(imported.status.code(), Some(0), "{}", told(&imported));
}

#[test]
fn a_timed_trace_has_a_table_and_a_result_file_like_every_other_load() {
    let (engine, folder) = (Engine::start(&[]), folder());
    let row = |at: u32| {
        format!(
            "{{\"timestamp\": {at}, \"input_length\": 8, \"output_length\": 4, \"hash_ids\": [{at}]}}\n"
        )
    };
    let trace = folder.path().join("trace.jsonl");
    fs::write(&trace, [0, 10, 30].map(row).concat()).expect("written");
    let load = "--dataset-name timed_trace --dataset-path trace.jsonl --timed-trace-chunk-hash-size 512 \
                --timed-trace-sec-multiplier 0.001 --save-result --result-filename result.json";
    let arguments = [words("bench serve --base-url"), vec![&engine.url], words(load)].concat();
    let out = inferometer(folder.path(), &arguments);
    assert_eq!(out.status.code(), Some(0), "{}", told(&out));
    let text = fs::read_to_string(folder.path().join("result.json")).expect("a result file");
    let file: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(file["completed"], 3, "{text}");
    // The requests are due over 30 ms.
    assert!(file["duration"].as_f64() >= Some(0.03), "{text}");
}

#[test]
fn append_result_adds_one_line_per_run_without_details() {
    let (engine, folder) = (Engine::start(&[]), folder());
    let more = "--append-result --result-filename all.json --request-rate 500 --quiet";
    let arguments =
        [words("bench serve --base-url"), vec![&engine.url], words(SMALL), words(more)].concat();
    for _ in 0..2 {
        let out = inferometer(folder.path(), &arguments);
        assert_eq!(out.status.code(), Some(0), "{}", told(&out));
        assert_eq!(told(&out), "");
    }
    let ramp = "--append-result --result-filename all.json --quiet --ramp-up-strategy linear \
                --ramp-up-start-rps 200 --ramp-up-end-rps 203";
    let arguments =
        [words("bench serve --base-url"), vec![&engine.url], words(SMALL), words(ramp)].concat();
    assert_eq!(inferometer(folder.path(), &arguments).status.code(), Some(0));
    let text = fs::read_to_string(folder.path().join("all.json")).expect("a file");
    let mut documents: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(documents.len(), 3);
    // The fields have vLLM's order.
    let keys: Vec<&String> = documents[0].as_object().expect("fields").keys().collect();
    let first = "date endpoint_type backend label model_id tokenizer_id num_prompts max_model_len \
                 request_rate burstiness max_concurrency duration completed";
    assert_eq!(keys[..13], words(first), "{keys:?}");
    let ramp = documents.pop().expect("the ramp");
    assert_eq!(ramp["request_rate"], "inf");
    let changes = ramp["rps_change_events"].as_array().expect("changes of the rate");
    let rates: Vec<u64> = changes.iter().filter_map(|change| change["rps"].as_u64()).collect();
    assert_eq!(rates, [200, 201, 202, 203]);
    let is_sorted = changes.is_sorted_by_key(|change| change["timestamp"].to_string());
    assert!(is_sorted, "{changes:?}");
    let keys: Vec<&String> = ramp.as_object().expect("fields").keys().collect();
    let at = |name: &str| keys.iter().position(|key| *key == name);
    assert!(at("max_concurrency") < at("ramp_up_strategy") && at("rtfx") < at("rps_change_events"));
    assert!(at("rps_change_events") < at("mean_ttft_ms"), "{keys:?}");
    assert_eq!(documents[0]["request_rate"], 500.0);
    assert!(documents.iter().all(|one| one.get("ttfts").is_none() && one["completed"] == 6));
    // The duration starts at the beginning of the pass, not at the first arrival, and ends with the last request.
    let duration = documents[0]["duration"].as_f64().expect("seconds");
    assert!((6.0 / 500.0..300.0).contains(&duration), "{duration}");
}

#[test]
fn unsupported_flags_and_unwritable_result_files_are_refused_before_the_run_begins() {
    let folder = folder();
    let out =
        inferometer(folder.path(), &words("bench serve --dataset-name hf --profile --model m"));
    assert_eq!(out.status.code(), Some(2));
    let said = told(&out);
    assert!(
        said.contains("--dataset-name: `hf`") && said.contains("--profile: send POST"),
        "{said}"
    );
    let lost = words("bench serve --model m --save-result --result-filename nowhere/x.json");
    let out = inferometer(folder.path(), &lost);
    assert_eq!(out.status.code(), Some(2));
    assert!(told(&out).contains("there is no folder nowhere"), "{}", told(&out));
    fs::create_dir(folder.path().join("there")).expect("a folder");
    for (flags, why) in [
        ("--result-filename there", "`there` is a folder"),
        ("--result-filename new/", "`new/` is a folder"),
        ("--result-dir there --label a/b", "--label: `a/b`"),
    ] {
        let save = [words("bench serve --model m --save-result"), words(flags)].concat();
        let out = inferometer(folder.path(), &save);
        assert_eq!(out.status.code(), Some(2), "{flags}");
        assert!(told(&out).contains(why), "{flags}: {}", told(&out));
    }
    let out = inferometer(folder.path(), &words("run --goodput ttft:5 tpot:5"));
    assert!(told(&out).contains("ttft<=500ms"), "{}", told(&out));
    let out = inferometer(folder.path(), &words("run --num-prompts 5"));
    assert_eq!(out.status.code(), Some(2));
    let said = told(&out);
    assert!(said.contains("`inferometer run` has --requests N"), "{said}");
    assert!(!said.contains("similar argument"), "{said}");
}

#[test]
fn a_dry_run_of_bench_serve_prints_the_translated_plan() {
    let folder = folder();
    let out = inferometer(
        folder.path(),
        &words(
            "bench serve --model m --num-prompts 5 --request-rate 4 --max-concurrency 3 --dry-run",
        ),
    );
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert_eq!(out.status.code(), Some(0), "{}", told(&out));
    assert!(text.contains("rate = [\"4\"]") && text.contains("max_in_flight = 3"), "{text}");
}

#[test]
fn a_target_that_no_flag_names_is_printed_with_its_source() {
    let folder = folder();
    for (variable, says) in [
        ("INFEROMETER_TARGET", "target: http://named:1, from INFEROMETER_TARGET"),
        ("OPENAI_BASE_URL", "target: http://127.0.0.1:8000, the default of"),
    ] {
        let mut dry = command(folder.path());
        dry.args(["bench", "serve", "--model", "m", "--dry-run"]).env(variable, "http://named:1");
        let out = dry.output().expect("it runs");
        assert!(told(&out).contains(says), "{}", told(&out));
        let is_ignored = told(&out).contains("OPENAI_BASE_URL is ignored");
        assert_eq!(is_ignored, variable == "OPENAI_BASE_URL", "{}", told(&out));
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(text.contains(&format!("# {says}")), "{text}");
        assert_eq!(text.contains("http://named:1"), variable == "INFEROMETER_TARGET", "{text}");
    }
}

#[test]
fn a_key_in_a_header_with_the_syntax_of_vllm_is_not_printed() {
    let folder = folder();
    let key = "Authorization=Bearer sk-this-is-the-key";
    let arguments = ["bench", "serve", "--header", "a=b", key, "--port", "1", "--num-prompts", "2"];
    let out = inferometer(folder.path(), &arguments);
    assert_ne!(out.status.code(), Some(0));
    let arguments = ["bench", "serve", "--nonsense", "sk-this-is-the-key", "--header", key];
    let unknown = inferometer(folder.path(), &arguments);
    for out in [out, unknown] {
        assert!(!told(&out).contains("sk-this-is-the-key"), "{}", told(&out));
    }
}

#[test]
fn the_table_is_printed_even_if_the_result_file_cannot_be_written() {
    let (engine, folder) = (Engine::start(&[]), folder());
    // The label is longer than a file name may be.
    let label = "x".repeat(300);
    let save = ["--save-result", "--label", &label];
    let arguments =
        [words("bench serve --base-url"), vec![&engine.url], words(SMALL), save.to_vec()].concat();
    let out = inferometer(folder.path(), &arguments);
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert_eq!(out.status.code(), Some(1), "{}", told(&out));
    assert!(text.contains("Serving Benchmark Result") && text.contains("store: "), "{text}");
    assert!(!text.contains("result: ") && told(&out).contains("xxx-infqps"), "{}", told(&out));
}
