//! A client with several event loops sends the same requests as a client with one, and reports the number of event
//! loops.

use serde_json::Value;

use crate::support::{Engine, Scraped, folder, inferometer, told};

const CELL: [&str; 10] = [
    "--input-lengths", "64", "--output-lengths", "16", "--seed", "7", "--salt", "loops", "--quiet",
    "--json",
];

/// For each pass: its load, the number of planned requests, and their outcomes.
fn passes(summary: &Value) -> Vec<String> {
    let cells = summary["cells"].as_array().expect("cells").iter();
    let passes = cells.flat_map(|cell| cell["passes"].as_array().expect("passes"));
    let line = |pass: &Value| format!("{} {} {}", pass["load"], pass["planned"], pass["outcomes"]);
    passes.map(line).collect()
}

fn measured(arguments: &[&str]) -> Value {
    let folder = folder();
    let output = inferometer(folder.path(), arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", told(&output));
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

#[test]
fn each_load_sends_the_same_requests_with_any_number_of_event_loops() {
    let engine = Engine::start(&[]);
    let loads: [&[&str]; 5] = [
        &["--one-by-one", "2", "--requests", "13"],
        &["--concurrency", "1,4", "--requests", "9", "--repeat", "2"],
        &["--rate", "200", "--requests", "20", "--warmup", "2"],
        &["--rate", "400", "--requests", "20", "--max-in-flight", "3"],
        &["--workload", "conversation", "--concurrency", "3", "--conversations", "5"],
    ];
    for load in loads {
        let talks = load.contains(&"conversation");
        let cell = if talks { &CELL[4..] } else { &CELL[..] };
        let on = |loops: &str| {
            let run = ["run", "--target", &engine.url, "--loops", loops];
            measured(&[&run[..], cell, load].concat())
        };
        let one = on("1");
        assert_eq!(one["environment"]["event_loops"]["why"], "as --loops says");
        for loops in ["2", "3"] {
            let several = on(loops);
            let count = several["environment"]["event_loops"]["count"].to_string();
            assert_eq!(count, loops, "{load:?}");
            assert_eq!(several["plan_hash"], one["plan_hash"], "{load:?}");
            assert_eq!(several["workload_hash"], one["workload_hash"], "{load:?}");
            assert_eq!(passes(&several), passes(&one), "{load:?}, {loops} loops");
            // In conversations, bodies contain answers, and their order depends on the timing of the answers. So the
            // hashes may differ.
            assert!(talks || several["body_hash"] == one["body_hash"], "{load:?}, {loops} loops");
        }
    }
}

#[test]
fn every_command_that_sends_load_accepts_the_number_of_event_loops() {
    let (engine, other) = (Engine::start(&[]), Engine::start(&[]));
    let target = ["--target", &engine.url, "--loops", "2"];
    let cell = &CELL[..];
    let search = ["search", "--slo", "ttft_p50<10s", "--to", "64", "--start", "32"];
    let search = measured(&[&search[..], &target, cell, &["--max-requests", "600"]].concat());
    assert_eq!(search["environment"]["event_loops"]["count"], 2);
    let sweep = ["sweep", "--max-concurrency", "4", "--max-requests", "300"];
    let sweep = measured(&[&sweep[..], &target, cell].concat());
    assert_eq!(sweep["environment"]["event_loops"]["count"], 2);
    let ab = [
        "ab", "--target", &other.url, "--concurrency", "4", "--requests", "16", "--max-time", "3s",
    ];
    let folder = folder();
    let ab = inferometer(folder.path(), &[&ab[..], &target, cell].concat());
    let ab: Value = serde_json::from_slice(&ab.stdout).unwrap_or_else(|_| panic!("{}", told(&ab)));
    for side in 0..2 {
        let run = ab["ab"]["sides"][side]["run_id"].as_str().expect("a name");
        let again = inferometer(folder.path(), &["report", run, "--json", "--out", "again"]);
        let again: Value = serde_json::from_slice(&again.stdout).expect("JSON");
        assert_eq!(again["environment"]["event_loops"]["count"], 2, "{run}");
    }
    let bench = "bench serve --num-prompts 6 --random-input-len 24 --random-output-len 8 --loops 2";
    let mut arguments: Vec<&str> = bench.split(' ').collect();
    arguments.extend(["--base-url", &engine.url]);
    let bench = inferometer(folder.path(), &arguments);
    assert_eq!(bench.status.code(), Some(0), "{}", told(&bench));
    let page = std::fs::read_dir(folder.path().join("inferometer-out")).expect("reports");
    let found = page.flatten().any(|entry| {
        let report = std::fs::read_to_string(entry.path().join("report.md")).unwrap_or_default();
        report.contains("Event loops") && report.contains("2 (as --loops says)")
    });
    assert!(found, "{}", told(&bench));
}

#[test]
fn an_interruption_ends_all_event_loops_and_each_request_has_one_record() {
    let engine = Engine::start_at("1", &[]);
    let folder = folder();
    let load = ["--concurrency", "4", "--requests", "40", "--loops", "2"];
    let cell = ["--input-lengths", "8", "--output-lengths", "3000", "--warmup", "0"];
    let run = [&["--target", &engine.url], &load[..], &cell].concat();
    let run = Scraped::start(folder.path(), &run);
    run.wait_for("inferometer_requests_begun_total", 4.0);
    let (_, output) = run.interrupt();
    assert_eq!(output.status.code(), Some(130), "{}", told(&output));
    let runs = inferometer(folder.path(), &["runs", "--json"]);
    let runs: Value = serde_json::from_slice(&runs.stdout).expect("JSON");
    let run = runs["runs"][0]["run_id"].as_str().expect("a name").to_owned();
    let again = inferometer(folder.path(), &["report", &run, "--json", "--out", "again"]);
    let again: Value = serde_json::from_slice(&again.stdout).expect("JSON");
    let last = again["cells"][0]["passes"].as_array().and_then(|all| all.last()).expect("a pass");
    assert_eq!(last["planned"], 40, "{last}");
    assert_eq!(last["outcomes"]["cancelled"], 4, "{last}");
}

#[test]
fn an_invalid_number_of_event_loops_is_refused_with_a_clear_error() {
    let folder = folder();
    for (given, why) in [
        ("0", "loops (--loops): 0 is not a number"),
        ("0", " from 1 to 64"),
        ("10000", "loops (--loops): 10000 is not a number"),
        ("many", "invalid value 'many' for '--loops <N>'"),
        ("-1", "--loops"),
    ] {
        let output = inferometer(folder.path(), &["run", "--dry-run", "--loops", given]);
        assert_eq!(output.status.code(), Some(2), "{given}: {}", told(&output));
        assert!(told(&output).contains(why), "{given}: {}", told(&output));
    }
}

#[test]
fn a_dry_run_states_the_number_of_event_loops_and_the_reason() {
    let folder = folder();
    let dry = |more: &[&str]| {
        let output = inferometer(folder.path(), &[&["run", "--dry-run"], more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let text = dry(&[]);
    assert!(text.contains("# event loops: 1 (one for each 1024 requests in flight"), "{text}");
    let text = dry(&["--loops", "3"]);
    assert!(text.contains("# event loops: 3 (as --loops says)"), "{text}");
    let json: Value = serde_json::from_str(&dry(&["--loops", "3", "--json"])).expect("JSON");
    assert_eq!(json["event_loops"]["count"], 3, "{json}");
}
