//! `tune`: the best arguments of a server, simulated and with servers that are started.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::support::{folder, inferometer, told};

fn tune(folder: &Path, arguments: &[&str]) -> Output {
    inferometer(folder, &[&["tune"], arguments].concat())
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", told(output)))
}

fn best_has_no_interval(answer: &Value) -> bool {
    let all = answer["candidates"].as_array().expect("candidates");
    all.iter().all(|one| one["ratio_ci"].is_null())
}

#[test]
fn a_simulated_server_is_tuned_in_stages_and_its_runs_are_stored() {
    let folder = folder();
    let output = tune(
        folder.path(),
        &[
            "--predict", "--json", "--model", "qwen-14b", "--set", "max_num_seqs=4", "--set",
            "noise=drift=0.02:60s", "--try", "max_num_seqs=1,2,4,8,16,32", "--concurrency", "16",
            "--requests", "32", "--input-length", "32", "--output-length", "8", "--rounds", "4",
            "--slo", "e2e_p99<3600s", "--out", "out",
        ],
    );
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert!(told(&output).contains("max-num-seqs=4 is the default"), "{}", told(&output));
    let found = document(&output);
    let answer = &found["tune"];
    assert_eq!(answer["is_better"], true, "{answer}");
    let of = |name: &str| {
        let all = answer["candidates"].as_array().expect("candidates");
        all.iter().find(|one| one["name"] == name).expect("a candidate").clone()
    };
    let both = ["max-num-seqs=16", "max-num-seqs=32"].map(|name| of(name)["status"].clone());
    assert!(
        both == [json!("best"), json!("tie")] || both == [json!("tie"), json!("best")],
        "{answer}"
    );
    assert_eq!(
        (&of("default")["status"], &of("default")["met"]),
        (&json!("worse"), &json!([4, 4]))
    );
    assert_eq!(of("max-num-seqs=1")["status"], "left_out");
    let sentence = answer["sentence"].as_str().expect("a sentence");
    assert!(sentence.contains("a tie with it. e2e_p99<3600s met by `max-num-seqs="), "{sentence}");
    assert!(found["answers"][0].as_str().expect("text").starts_with("predicted: `"), "{found}");
    // Two rounds of six, the final of three in four rounds. Each is a run of the store, and the answer follows from them.
    let runs = found["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 2 * 6 + 4 * 3, "{sentence}");
    assert!(sentence.contains("simulated") && best_has_no_interval(answer), "{answer}");
    let page = fs::read_to_string(folder.path().join("out/comparison.html")).expect("a page");
    assert!(page.contains("Arguments of the server") && page.contains("left out"), "no table");
    let listed = inferometer(folder.path(), &["runs", "--json"]);
    assert!(told(&listed).is_empty(), "{}", told(&listed));
    let group = found["group"].as_str().expect("a group");
    let sides = [format!("{group}/default"), format!("{group}/max-num-seqs=16")];
    let compared = inferometer(folder.path(), &["compare", &sides[0], &sides[1]]);
    assert_eq!(compared.status.code(), Some(0), "{}", told(&compared));
}

#[test]
fn a_server_that_does_not_start_is_a_result_and_predictions_leave_out_what_is_much_worse() {
    let folder = folder();
    let plan = "input_lengths = [16]\noutput_lengths = [8]\nrequests = 8\nconcurrency = [4]\nwarmup = 0\n\
                [server]\npreset = 'inferometer'\narguments = { speed = 100, max-num-seqs = 4 }\n\
                sweep = [{ max-num-seqs = 1 }, { max-num-seqs = 2 }, { max-num-seqs = 8 },\n\
                { max-num-seqs = 16 }, { gpu-memory-utilization = 0.01 }]\n";
    fs::write(folder.path().join("plan.toml"), plan).expect("a plan");
    let output = tune(folder.path(), &["plan.toml", "--json", "--rounds", "3"]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let starts = told(&output).lines().filter(|line| line.starts_with("starting ")).count();
    let found = document(&output);
    let status: Vec<&Value> = found["tune"]["candidates"]
        .as_array()
        .expect("candidates")
        .iter()
        .map(|one| &one["status"])
        .collect();
    assert_eq!(status[1..3], ["not_tried"; 2], "{found}");
    assert_eq!(status[5], "failed", "{found}");
    let why = found["failed"][0].as_str().expect("a reason");
    assert!(
        why.starts_with("gpu-memory-utilization=0.01: ") && why.contains("weights alone"),
        "{why}"
    );

    // Resumed, no run is measured again, and the answer is the same.
    let group = found["group"].as_str().expect("a group");
    let output = tune(folder.path(), &["plan.toml", "--json", "--rounds", "3", "--resume", group]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let again = document(&output);
    assert_eq!(again["tune"]["sentence"], found["tune"]["sentence"]);
    assert_eq!(again["runs"].as_array().map(Vec::len), found["runs"].as_array().map(Vec::len));
    assert!(told(&output).contains("copied from run"), "{}", told(&output));

    // Each run has a server of its own.
    let runs = found["runs"].as_array().map_or(0, Vec::len);
    assert!(starts >= runs, "{starts} starts for {runs} runs");

    // Without a server that starts there is no answer.
    let output =
        tune(folder.path(), &["--set", "gpu-memory-utilization=0.01", "--try", "block-size=16,32"]);
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    assert!(told(&output).contains("No answer"), "{}", told(&output));
}

#[test]
fn mistakes_in_what_is_asked_of_tune_are_told_with_their_flag() {
    let folder = folder();
    fs::write(folder.path().join("two.toml"), "concurrency = [2, 4]\n").expect("a plan");
    fs::write(folder.path().join("target.toml"), "target = 'http://a:1'\n").expect("a plan");
    fs::write(folder.path().join("sweep.toml"), "[sweep]\n").expect("a plan");
    let one = ["--predict", "--try", "max-num-seqs=1,2"];
    let cases: [(&[&str], &str); 12] = [
        (&["--predict"], "--try: is missing"),
        (&["--predict", "--try", "max-num-seqs"], "--try max-num-seqs: write"),
        (&["--try", "block-size=1", "--try", "block_size=2"], "given twice"),
        (&["--try", "a=1", "--set", "b"], "--set b: write"),
        (&["--try", "a=1", "--set", "b=1", "--set", "b=2"], "b is given twice"),
        (&["--predict", "--all", "--try", "a=1"], "cannot be used with"),
        (
            &["--predict", "--preset", "vllm", "--model", "qwen-14b", "--try", "foo=1,2"],
            "foo: the engine model does not know",
        ),
        (&["--predict", "--try", "fault=1,2"], "`fault` cannot be predicted"),
        (&["two.toml", one[0], one[1], one[2]], "one load"),
        (&["target.toml", one[1], one[2]], "leave out targets"),
        (&["sweep.toml", one[1], one[2]], "leave out these tables"),
        (&[one[0], one[1], one[2], "--metric", "ttft"], "--metric: "),
    ];
    for (arguments, expected) in cases {
        let output = tune(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        assert!(told(&output).contains(expected), "{expected}: {}", told(&output));
    }
    let output = tune(folder.path(), &[one[1], one[2], "--budget", "soon"]);
    assert!(told(&output).contains("--budget: "), "{}", told(&output));
    // An objective that no arguments meet.
    let missed = [&one[..], &["--slo", "e2e_p99<1us", "--requests", "8", "--rounds", "3"]].concat();
    let output = tune(folder.path(), &missed);
    assert_eq!(output.status.code(), Some(3), "{}", told(&output));
}
