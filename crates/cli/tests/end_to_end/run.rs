//! The main use of the program, end to end, with the embedded engine.

use std::fs;
use std::process::{Command, Stdio};

use crate::support::{
    BINARY, Engine, Running, Scraped, folder, inferometer, log_bytes, told, wait_until,
};
use serde_json::Value;

const SMALL: [&str; 10] = [
    "--speed", "100", "--input-lengths", "32,64", "--output-lengths", "8", "--one-by-one", "2",
    "--requests", "8",
];

fn schema() -> Value {
    serde_json::from_str(include_str!("../../../../schema/summary.schema.json")).expect("JSON")
}

#[test]
fn a_run_without_a_target_measures_the_embedded_engine_and_is_marked_as_a_simulation() {
    let folder = folder();
    let mut arguments = vec!["run"];
    arguments.extend(SMALL);
    let output = inferometer(folder.path(), &arguments);
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", told(&output));
    assert!(told(&output).contains("SIMULATION"), "{}", told(&output));
    assert!(out.contains("SIMULATED") && out.contains("chatglm3-6b"), "{out}");
    assert!(folder.path().join("inferometer.db").exists());
    let made = fs::read_dir(folder.path().join("inferometer-out")).unwrap().next().unwrap();
    let made = made.unwrap().path();
    for file in [
        "table.md", "cells.csv", "summary.json", "report.md", "report.html", "throughput-req.png",
        "throughput-token-out.png", "pertoken.png", "per-out-token.png",
    ] {
        let size = fs::metadata(made.join(file)).unwrap_or_else(|_| panic!("{file}")).len();
        assert!(size > 100, "{file}: {size} bytes");
    }
    let table = fs::read_to_string(made.join("table.md")).unwrap();
    assert!(
        table.contains("| Input Length | Output Length | Throughput (requests/s) |"),
        "{table}"
    );
}

#[test]
fn json_output_is_a_single_document_that_matches_the_schema() {
    let folder = folder();
    let mut arguments = vec!["run", "--json"];
    arguments.extend(SMALL);
    let output = inferometer(folder.path(), &arguments);
    let summary: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let validator = jsonschema::validator_for(&schema()).expect("a schema");
    let errors: Vec<String> = validator.iter_errors(&summary).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!(summary["schema"], "inferometer.summary/1");
    assert_eq!(summary["target"]["simulated"], true);
    assert_eq!(summary["target"]["profile"], "a100-40g-vllm-0.2.7");
    assert_eq!(summary["cells"].as_array().map(Vec::len), Some(2));
    for cell in summary["cells"].as_array().unwrap() {
        let [alone, crowd] = cell["passes"].as_array().unwrap().as_slice() else { panic!() };
        assert_eq!((&alone["kind"], &crowd["kind"]), (&"one_by_one".into(), &"saturated".into()));
        assert_eq!((&alone["planned"], &crowd["planned"]), (&2.into(), &8.into()));
        assert_eq!(crowd["input_tokens"].as_u64(), cell["input_length"].as_u64().map(|l| l * 8));
        assert_eq!(crowd["output_tokens"], 64);
        assert_eq!(crowd["tokens_from"], "usage");
        // The peak is eight only if the client sends all requests before the first answer ends.
        assert!((1..=8).contains(&crowd["peak_concurrency"].as_u64().unwrap()), "{crowd}");
    }
}

#[test]
fn a_report_generated_again_from_the_store_is_identical() {
    let folder = folder();
    let mut arguments = vec!["run", "--out", "first"];
    arguments.extend(SMALL);
    let output = inferometer(folder.path(), &arguments);
    assert!(output.status.success(), "{}", told(&output));
    let again = inferometer(folder.path(), &["report", "latest", "--out", "second"]);
    assert!(again.status.success(), "{}", told(&again));
    for file in fs::read_dir(folder.path().join("first")).unwrap() {
        let name = file.unwrap().file_name();
        let read = |which: &str| fs::read(folder.path().join(which).join(&name)).unwrap();
        assert!(read("first") == read("second"), "{name:?} differs");
    }
}

#[test]
fn the_same_salt_gives_the_same_workload_and_without_a_salt_the_workload_differs() {
    let hash = |salt: &[&str]| {
        let folder = folder();
        let mut arguments = vec!["run", "--json", "--passes", "saturated", "--warmup", "0"];
        arguments.extend(&SMALL[..6]);
        arguments.extend(salt);
        let output = inferometer(folder.path(), &[&arguments[..], &["--requests", "4"]].concat());
        let summary: Value = serde_json::from_slice(&output.stdout).expect("a summary");
        (summary["workload_hash"].clone(), summary["plan_hash"].clone())
    };
    let (same, plan) = hash(&["--salt", "x"]);
    assert_eq!((same.clone(), plan.clone()), hash(&["--salt", "x"]));
    let (other, same_plan) = hash(&[]);
    assert_ne!(same, other);
    assert_eq!(plan, same_plan);
}

#[test]
fn flags_override_the_values_of_a_plan_file() {
    let folder = folder();
    fs::write(
        folder.path().join("plan.toml"),
        "input_lengths = [32]\noutput_lengths = [8]\nconcurrency = [2, 4]\nrequests = 6\n\
         speed = 100\nseed = 5\n",
    )
    .unwrap();
    let output = inferometer(folder.path(), &["run", "plan.toml", "--requests", "5", "--json"]);
    let summary: Value = serde_json::from_slice(&output.stdout).expect("a summary");
    let passes = summary["cells"][0]["passes"].as_array().unwrap();
    let seen: Vec<_> = passes
        .iter()
        .map(|pass| (pass["kind"].as_str(), pass["concurrency"].as_u64(), pass["planned"].as_u64()))
        .collect();
    assert_eq!(
        seen,
        [(Some("closed"), Some(2), Some(5)), (Some("closed"), Some(4), Some(5))],
        "{}",
        told(&output)
    );
}

#[test]
fn open_loop_and_time_limited_passes_complete_all_their_requests() {
    let folder = folder();
    let output = inferometer(
        folder.path(),
        &[
            "run", "--speed", "100", "--input-lengths", "32", "--output-lengths", "8", "--rate",
            "200,inf", "--requests", "20", "--concurrency", "3", "--json",
        ],
    );
    let summary: Value = serde_json::from_slice(&output.stdout).expect("a summary");
    let passes = summary["cells"][0]["passes"].as_array().unwrap();
    let complete: Vec<_> = passes.iter().map(|p| p["outcomes"]["complete"].as_u64()).collect();
    assert_eq!(complete, [Some(20); 3], "{}", told(&output));
    let output = inferometer(
        folder.path(),
        &[
            "run", "--speed", "100", "--input-lengths", "32", "--output-lengths", "8",
            "--concurrency", "3", "--duration", "300ms", "--json",
        ],
    );
    let summary: Value = serde_json::from_slice(&output.stdout).expect("a summary");
    let pass = &summary["cells"][0]["passes"][0];
    // Requests that began before the time limit are completed.
    assert!(pass["outcomes"]["complete"].as_u64() >= Some(3), "{pass}");
    assert_eq!(pass["outcomes"]["complete"], pass["planned"], "{pass}");
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
}

#[test]
fn a_pass_without_a_request_count_generates_more_requests_while_it_runs() {
    let folder = folder();
    let lengths = ["--input-lengths", "32", "--output-lengths", "8", "--speed", "100"];
    let load = ["--concurrency", "3", "--duration", "1h", "--json", "--quiet"];
    let scraped = Scraped::start(folder.path(), &[&lengths[..], &load].concat());
    // Only 64 requests are prepared in advance, so this count needs requests that are generated later.
    scraped.wait_for("inferometer_requests_total{outcome=\"complete\"}", 200.0);
    let (said, output) = scraped.interrupt();
    assert_eq!(output.status.code(), Some(130), "{said:?}");
    let summary: Value = serde_json::from_slice(&output.stdout).expect("a summary");
    let outcomes = &summary["cells"][0]["passes"][0]["outcomes"];
    assert!(outcomes["complete"].as_u64() >= Some(200), "{outcomes}");
    assert!(outcomes["cancelled"].as_u64().unwrap_or(0) <= 3, "{outcomes}");
}

#[test]
fn every_dialect_of_the_embedded_engine_counts_the_same_tokens() {
    let engine = Engine::start(&[]);
    for dialect in ["openai-completions", "openai-chat", "vllm", "tgi"] {
        for stream in [&[][..], &["--no-stream"][..]] {
            let mut more = vec!["--dialect", dialect];
            more.extend(stream);
            let (output, summary) = crate::support::measure(&engine.url, &more);
            let summary = summary.unwrap_or_else(|| panic!("{dialect}: {}", told(&output)));
            let pass = &summary["cells"][0]["passes"][0];
            assert_eq!(pass["outcomes"]["complete"], 6, "{dialect} {stream:?}: {}", told(&output));
            assert_eq!(pass["output_tokens"], 72, "{dialect} {stream:?}");
        }
    }
}

#[test]
fn an_interrupted_run_stores_its_records_and_exits_with_code_130() {
    let folder = folder();
    // At this speed, an answer takes half an hour, so none has ended before the interruption.
    let lengths = ["--input-lengths", "32", "--output-lengths", "8000", "--speed", "0.1"];
    let load = ["--requests", "50", "--concurrency", "2", "--warmup", "0", "--json", "--quiet"];
    let scraped = Scraped::start(folder.path(), &[&lengths[..], &load].concat());
    scraped.wait_for("inferometer_requests_begun_total", 2.0);
    let (said, output) = scraped.interrupt();
    assert_eq!(output.status.code(), Some(130), "{said:?}");
    let summary: Value = serde_json::from_slice(&output.stdout).expect("a summary");
    let outcomes = &summary["cells"][0]["passes"][0]["outcomes"];
    assert_eq!(outcomes["skipped"], 48, "{outcomes}");
    assert_eq!(outcomes["cancelled"], 2, "{outcomes}");
    let again = inferometer(folder.path(), &["runs"]);
    assert!(String::from_utf8_lossy(&again.stdout).contains("interrupted"));
    // No figure is computed from an interrupted pass, and none of its requests counts as failed.
    let cell = &summary["cells"][0];
    assert!(cell["requests_per_s"].is_null(), "{}", cell["requests_per_s"]);
    let codes: Vec<_> = summary["findings"].as_array().expect("findings").iter().collect();
    assert!(codes.iter().any(|one| one["code"] == "requests_interrupted"), "{codes:?}");
    assert!(!codes.iter().any(|one| one["code"] == "requests_failed"), "{codes:?}");
    let run = summary["run_id"].as_str().expect("a name");
    let shown = inferometer(folder.path(), &["show", run]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(!shown.contains(" 0.00") && !shown.contains("requests failed"), "{shown}");
}

#[test]
fn a_second_interruption_ends_the_process_and_names_the_run() {
    let folder = folder();
    let lengths = ["--input-lengths", "32", "--output-lengths", "8000", "--speed", "0.1"];
    let load = ["--requests", "50", "--concurrency", "2", "--warmup", "0", "--json"];
    let mut scraped = Scraped::start(folder.path(), &[&lengths[..], &load].concat());
    scraped.wait_for("inferometer_requests_begun_total", 2.0);
    scraped.run.signal("-INT");
    let mut said = scraped.errors.by_ref().map_while(Result::ok);
    assert!(said.any(|line| line.starts_with("stopping; the records are kept")));
    // If the run has already ended after the first interruption, its last line names the run.
    let (said, output) = scraped.interrupt();
    assert_eq!(output.status.code(), Some(130), "{said:?}");
    let runs = inferometer(folder.path(), &["runs", "--json"]);
    let runs: Value = serde_json::from_slice(&runs.stdout).expect("JSON");
    let id = runs["runs"][0]["run_id"].as_str().expect("a run");
    assert!(said.iter().any(|line| line.contains(&format!("kept as run {id}"))), "{said:?}");
}

#[test]
fn after_an_interruption_millions_of_unsent_requests_count_as_skipped_and_not_as_failed() {
    let folder = folder();
    let lengths = ["--input-lengths", "16", "--output-lengths", "1", "--speed", "1000"];
    let load = ["--requests", "3000000", "--rate", "1", "--warmup", "0", "--json", "--quiet"];
    let scraped = Scraped::start(folder.path(), &[&lengths[..], &load].concat());
    scraped.wait_for("inferometer_requests_total{outcome=\"complete\"}", 1.0);
    let (said, output) = scraped.interrupt();
    assert_eq!(output.status.code(), Some(130), "{said:?}");
    let summary: Value = serde_json::from_slice(&output.stdout).expect("a summary");
    let pass = &summary["cells"][0]["passes"][0];
    let count = |outcome: &str| pass["outcomes"][outcome].as_u64().unwrap_or(0);
    assert_eq!(count("complete") + count("cancelled") + count("skipped"), 3_000_000, "{pass}");
    assert!(count("skipped") >= 2_999_900 && pass["interrupted"] == true, "{pass}");
    let shown = inferometer(folder.path(), &["show", summary["run_id"].as_str().expect("a name")]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(!shown.contains("requests failed"), "{shown}");
    assert!(shown.contains("of 3,000,000 requests had completed"), "{shown}");
}

#[test]
fn a_killed_run_keeps_its_records_and_its_report_says_that_it_is_incomplete() {
    let folder = folder();
    let lengths = ["run", "--input-lengths", "32", "--output-lengths", "16", "--quiet"];
    let load = ["--concurrency", "4", "--duration", "1h", "--warmup", "0"];
    let mut run = Running::start(folder.path(), &[&lengths[..], &load].concat());
    // Records are written to the disk every second, so the log grows.
    wait_until("the first records", || log_bytes(folder.path()) >= 1_000);
    run.signal("-KILL");
    run.finish();
    let report = inferometer(folder.path(), &["report", "latest", "--json"]);
    let summary: Value = serde_json::from_slice(&report.stdout).expect("a summary");
    let complete = summary["cells"][0]["passes"][0]["outcomes"]["complete"].as_u64();
    assert!(complete > Some(0), "{summary}");
    let killed = inferometer(folder.path(), &["runs", "--state", "killed"]);
    assert!(String::from_utf8_lossy(&killed.stdout).contains("  killed "), "{}", told(&killed));
    let rows = inferometer(folder.path(), &["export", "--format", "jsonl"]);
    let of_complete = r#""outcome":"complete""#;
    let exported = String::from_utf8_lossy(&rows.stdout).matches(of_complete).count() as u64;
    assert_eq!(Some(exported), complete, "{}", told(&rows));
    let file = inferometer(folder.path(), &["export", "--format", "vllm-bench"]);
    let file: Value = serde_json::from_slice(&file.stdout).expect("a result file");
    assert_eq!(file["completed"].as_u64(), complete, "{file}");
    assert_eq!(summary["verdict"]["validity"], "suspect");
    assert!(summary["findings"].to_string().contains("run_incomplete"), "{summary}");
    assert!(told(&report).contains("warning"), "{}", told(&report));
}

#[test]
fn an_unwritable_stderr_does_not_fail_the_run() {
    let folder = folder();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let status = Command::new(BINARY)
        .current_dir(folder.path())
        .args(["run", "--json"])
        .args(SMALL)
        .stdout(Stdio::null())
        .stderr(full)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn the_output_of_a_dry_run_is_a_plan_file_with_the_same_plan_hash() {
    let folder = folder();
    let dry =
        inferometer(folder.path(), &["run", "--dry-run", "--rate", "2,inf", "--requests", "9"]);
    fs::write(folder.path().join("plan.toml"), &dry.stdout).unwrap();
    let again = inferometer(folder.path(), &["run", "plan.toml", "--dry-run"]);
    assert!(again.status.success(), "{}", told(&again));
    let hash = |output: &std::process::Output| {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().find(|line| line.contains("plan_hash")).map(str::to_owned)
    };
    assert!(hash(&dry).is_some());
    assert_eq!(hash(&dry), hash(&again));
}

#[test]
fn an_objective_that_is_not_met_gives_exit_code_3() {
    let folder = folder();
    let mut arguments = vec!["run", "--slo", "ttft_p50<1us", "--json"];
    arguments.extend(SMALL);
    let output = inferometer(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(3), "{}", told(&output));
    assert!(told(&output).contains("limit < 1 us"), "{}", told(&output));
}

#[test]
fn a_dry_run_resolves_the_plan_and_measures_nothing() {
    let folder = folder();
    let output = inferometer(folder.path(), &["run", "--dry-run"]);
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success());
    assert!(out.contains("plan_hash") && out.contains("estimate"), "{out}");
    assert!(!folder.path().join("inferometer.db").exists());
    let dataset = ["--workload", "jsonl", "--dataset", "nosuch.jsonl"];
    let absent = inferometer(
        folder.path(),
        &[&["run", "--dry-run", "--requests", "9"][..], &dataset].concat(),
    );
    assert_eq!(absent.status.code(), Some(2), "{}", told(&absent));
    assert!(told(&absent).contains("nosuch.jsonl"), "{}", told(&absent));
}

#[test]
fn list_commands_print_the_metrics_dialects_and_models() {
    let folder = folder();
    for (command, word) in
        [("metrics", "ttft"), ("dialects", "openai-chat"), ("models", "qwen-14b")]
    {
        let output = inferometer(folder.path(), &[command]);
        assert!(output.status.success());
        assert!(String::from_utf8_lossy(&output.stdout).contains(word), "{command}");
    }
}
