//! Workloads end to end: their requests reach the server, text blocks have additional output files, and a dumped
//! workload is replayed. Figures are not tested.

use std::fs;

use inferometer_analysis::table_import::published_tables;
use serde_json::Value;

use crate::support::{folder, inferometer, told};

const SHAREGPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../workload/fixtures/sharegpt.json");

#[test]
fn a_run_of_text_blocks_writes_a_log_and_tables_and_the_report_reproduces_them() {
    let folder = folder();
    let arguments = [
        "run", "--workload", "blocks", "--block-sizes", "60,30", "--wanted-lengths", "20",
        "--block-concurrency", "2,3", "--requests", "4", "--max-output-tokens", "24", "--speed",
        "100", "--out", "made", "--json", "--quiet",
    ];
    let output = inferometer(folder.path(), &arguments);
    let summary: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", told(&output)));
    let cells = summary["cells"].as_array().unwrap();
    for (cell, (size, in_flight)) in cells.iter().zip([(60, 2), (30, 3)]) {
        let pass = &cell["passes"][0];
        assert_eq!(
            (&pass["concurrency"], &pass["outcomes"]["complete"]),
            (&in_flight.into(), &4.into())
        );
        let blocks = &pass["blocks"];
        assert_eq!(blocks["block_chars"], size);
        assert_eq!(blocks["prompt_chars"], 4 * (size + 41));
        assert!(blocks["completion_chars"].as_u64() > Some(0));
    }
    let made = folder.path().join("made");
    let log = fs::read_to_string(made.join("blocks.log")).unwrap();
    assert_eq!(log.lines().count(), 2 * 17);
    let tables = published_tables(&fs::read_to_string(made.join("blocks.md")).unwrap()).unwrap();
    assert!(tables.iter().flat_map(|table| &table.rows).count() <= 2);
    let again = inferometer(folder.path(), &["report", "--out", "again"]);
    assert!(again.status.success(), "{}", told(&again));
    for name in ["blocks.log", "blocks.md", "blocks-token-out.png", "summary.json"] {
        let of = |folder_: &str| fs::read(folder.path().join(folder_).join(name)).unwrap();
        assert_eq!(of("made"), of("again"), "{name}");
    }
}

#[test]
fn a_serving_run_sends_the_conversations_of_a_data_set_with_their_own_lengths() {
    let folder = folder();
    let arguments = [
        "run", "--workload", "sharegpt", "--dataset", SHAREGPT, "--requests", "12", "--rate",
        "200", "--seed", "1", "--salt", "fixed", "--speed", "100", "--json", "--quiet",
    ];
    let output = inferometer(folder.path(), &arguments);
    let summary: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", told(&output)));
    let cell = &summary["cells"][0];
    assert_eq!((&cell["input_length"], &cell["output_length"]), (&0.into(), &0.into()));
    let run = &cell["passes"][0]["serving_run"];
    assert_eq!(run["completed"], 12);
    // The embedded engine ignores the end-of-text token if requested, so both counts are equal.
    assert_eq!(run["measured"]["output_tokens"], run["script"]["output_tokens"]);
}

#[test]
fn a_dumped_workload_is_replayed_with_the_same_workload_hash() {
    let rows = r#"{"question": "one two three", "n": 4}
{"question": "four five six seven", "n": 5}
"#;
    // Half a second of the trace is sent; later rows are not prepared.
    let trace = "0,30,2\n0.2,20,3\n0.4,25,2\n9,25,2\n";
    let sent: [&[&str]; 5] = [
        &["--input-lengths", "24,32", "--output-lengths", "4", "--requests", "3"],
        &["--input-lengths", "24", "--output-lengths", "4", "--rate", "200", "--requests", "5"],
        &[
            "--workload",
            "jsonl",
            "--dataset",
            "rows.jsonl",
            "--columns",
            "prompt=question,output_tokens=n",
            "--passes",
            "saturated",
            "--requests",
            "3",
        ],
        &["--workload", "trace", "--dataset", "trace.csv", "--duration", "0.5s"],
        &[
            "--replay", "instants.txt", "--replay-speed", "2", "--input-lengths", "24",
            "--output-lengths", "4",
        ],
    ];
    for flags in sent {
        let folder = folder();
        fs::write(folder.path().join("rows.jsonl"), rows).unwrap();
        fs::write(folder.path().join("trace.csv"), trace).unwrap();
        fs::write(folder.path().join("instants.txt"), "3\n3.05\n3.1\n").unwrap();
        let hash = |flags: &[&str]| {
            let flags = [&["run", "--speed", "100", "--json", "--quiet"], flags].concat();
            let output = inferometer(folder.path(), &flags);
            let summary: Value = serde_json::from_slice(&output.stdout)
                .unwrap_or_else(|error| panic!("{error}: {}", told(&output)));
            summary["workload_hash"].as_str().unwrap().to_owned()
        };
        let first = hash(&[flags, &["--dump-workload", "sent.jsonl"]].concat());
        let again = hash(&["--workload", "replay", "--dataset", "sent.jsonl"]);
        assert_eq!(again, first, "{flags:?}");
    }
}

#[test]
fn flags_that_need_a_request_count_or_a_single_run_are_refused_without_it() {
    let folder = folder();
    let plan = "[[target]]\nurl = 'http://127.0.0.1:1'\n[[target]]\nurl = 'http://127.0.0.1:2'\n";
    fs::write(folder.path().join("two.toml"), plan).unwrap();
    let stages = ["--rate", "1s@1..4"];
    for (flags, words) in [
        (&["--duration", "1s", "--concurrency", "2", "--dump-workload", "f"][..], "dump_workload"),
        (&[&stages[..], &["--dump-workload", "f"]].concat(), "dump_workload"),
        (&[&stages[..], &["--prefix-length", "8"]].concat(), "shared prefix"),
        (&["two.toml", "--dump-workload", "f"], "several runs would overwrite"),
    ] {
        let output = inferometer(folder.path(), &[&["run"], flags].concat());
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {}", told(&output));
        assert!(told(&output).contains(words), "{flags:?}: {}", told(&output));
    }
}

#[test]
fn an_unusable_template_or_dataset_is_refused_with_its_name() {
    let folder = folder();
    fs::write(folder.path().join("ask.txt"), "{text}\n{wanted}").unwrap();
    for (flags, words) in [
        (["--template", "ask.txt"], "ask.txt has the unknown field `{wanted}`"),
        (["--template", "./none.txt"], "none.txt: cannot be read"),
        (["--dataset", "no.txt"], "no.txt"),
        (["--dataset", "sharegpt"], "inferometer fetch sharegpt"),
    ] {
        let workload = if words.contains("fetch") { "sharegpt" } else { "blocks" };
        let arguments = [&["run", "--workload", workload][..], &flags].concat();
        let output = std::process::Command::new(crate::support::BINARY)
            .current_dir(folder.path())
            .env("INFEROMETER_CACHE", folder.path())
            .args(arguments)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        assert!(told(&output).contains(words), "{}", told(&output));
    }
}

#[test]
fn fetch_lists_the_available_data_sets_and_reports_the_offline_setting() {
    let folder = folder();
    let fetch = |names: &[&str]| {
        std::process::Command::new(crate::support::BINARY)
            .env("INFEROMETER_CACHE", folder.path())
            .env("HF_HUB_OFFLINE", "1")
            .arg("fetch")
            .args(names)
            .output()
            .unwrap()
    };
    let listed = String::from_utf8(fetch(&[]).stdout).unwrap();
    assert!(listed.contains("mooncake-conversation") && listed.contains("azure-2024-code"));
    let offline = fetch(&["azure-2023-conv"]);
    assert_eq!(offline.status.code(), Some(1));
    assert!(told(&offline).contains("HF_HUB_OFFLINE"), "{}", told(&offline));
    let unknown = fetch(&["sharegtp"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(told(&unknown).contains("did you mean `sharegpt`"), "{}", told(&unknown));
}
