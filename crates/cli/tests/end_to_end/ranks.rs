//! Several processes that measure one plan together, started as by a launcher.

use std::net::TcpListener;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::support::{Engine, Running, folder, inferometer, told, wait_until};

/// An address at which no process listens now.
pub fn meeting() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("it is bound").to_string()
}

/// Starts one of several processes of a run, with the environment variables that a launcher sets.
pub fn rank(folder: &Path, place: (u32, u32), at: &str, arguments: &[&str]) -> Running {
    rank_with(folder, place, at, arguments, &[])
}

/// Like [`rank`], with additional environment variables.
pub fn rank_with(
    folder: &Path,
    (rank, ranks): (u32, u32),
    at: &str,
    arguments: &[&str],
    more: &[(&str, &str)],
) -> Running {
    let (rank, ranks) = (rank.to_string(), ranks.to_string());
    let set = [("INFEROMETER_RANK", rank.as_str()), ("INFEROMETER_RANKS", &ranks)];
    let arguments = [arguments, &["--rendezvous", at]].concat();
    Running::start_with(folder, &arguments, &[&set[..], more].concat())
}

/// Runs all processes of a run with the same arguments; returns the output of each process, rank 0 first.
fn all(folder: &Path, ranks: u32, arguments: &[&str]) -> Vec<Output> {
    let at = meeting();
    // Rank 0 starts last, so the other ranks wait for it.
    let started: Vec<_> =
        (0..ranks).rev().map(|number| rank(folder, (number, ranks), &at, arguments)).collect();
    let mut ended: Vec<_> = started.into_iter().map(Running::finish).collect();
    ended.reverse();
    ended
}

pub fn summary(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", told(output));
    let summary = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let schema = include_str!("../../../../schema/summary.schema.json");
    let schema = serde_json::from_str(schema).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let errors: Vec<String> = validator.iter_errors(&summary).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    summary
}

/// For each pass: its load, the number of planned requests, and their outcomes.
fn passes(summary: &Value) -> Vec<String> {
    let cells = summary["cells"].as_array().expect("cells").iter();
    let passes = cells.flat_map(|cell| cell["passes"].as_array().expect("passes"));
    let line = |pass: &Value| format!("{} {} {}", pass["load"], pass["planned"], pass["outcomes"]);
    passes.map(line).collect()
}

pub const CELL: [&str; 10] = [
    "--input-lengths", "64", "--output-lengths", "16", "--seed", "7", "--salt", "ranks", "--quiet",
    "--json",
];

#[test]
fn several_ranks_send_the_requests_of_one_process_and_store_one_run() {
    let engine = Engine::start(&[]);
    let loads: [&[&str]; 7] = [
        &["--rate", "200", "--requests", "20", "--loops", "2"],
        &["--concurrency", "8", "--requests", "30", "--loops", "2"],
        &["--one-by-one", "2", "--requests", "13"],
        &["--concurrency", "1,4", "--requests", "9", "--repeat", "2"],
        &["--rate", "200", "--requests", "20", "--warmup", "2"],
        &["--workload", "conversation", "--concurrency", "3", "--conversations", "5"],
        &["--concurrency", "4", "--duration", "200ms"],
    ];
    for load in loads {
        let folder = folder();
        let talks = load.contains(&"conversation");
        let cell = if talks { &CELL[4..] } else { &CELL[..] };
        let arguments = [&["run", "--target", &engine.url], cell, load].concat();
        let alone = summary(&inferometer(
            folder.path(),
            &[&arguments[..], &["--store", "alone.db"]].concat(),
        ));
        let ended = all(folder.path(), 3, &arguments);
        let together = summary(&ended[0]);
        assert_eq!(together["workload_hash"], alone["workload_hash"], "{load:?}");
        assert_eq!(together["plan_hash"], alone["plan_hash"], "{load:?}");
        if !load.contains(&"--duration") {
            assert_eq!(passes(&together), passes(&alone), "{load:?}");
            let unknown = Value::from("");
            let expected = if talks { &unknown } else { &alone["body_hash"] };
            assert_eq!(&together["body_hash"], expected, "{load:?}");
        }
        let findings = together["findings"].as_array().expect("findings").iter();
        let of_ranks = findings.filter(|one| one["code"] == "several_ranks").collect::<Vec<_>>();
        let [one] = of_ranks[..] else { panic!("{load:?}: {of_ranks:?}") };
        let message = one["message"].as_str().expect("a text");
        assert!(message.starts_with("3 ranks measured this run together"), "{message}");
        assert!(message.contains("; rank 1 (") && message.contains("; rank 2 ("), "{message}");
        for member in &ended[1..] {
            assert_eq!(member.status.code(), Some(0), "{}", told(member));
            assert!(member.stdout.is_empty() && member.stderr.is_empty(), "{}", told(member));
        }
        let runs = inferometer(folder.path(), &["runs", "--json"]);
        let runs: Value = serde_json::from_slice(&runs.stdout).expect("JSON");
        assert_eq!(runs["runs"].as_array().map(Vec::len), Some(1), "{runs}");
        let run = together["run_id"].as_str().expect("a name");
        let again = inferometer(folder.path(), &["report", run, "--json", "--out", "again"]);
        assert_eq!(summary(&again), together, "{load:?}");
    }
}

/// Arguments of a search for an objective that every load meets.
fn search(url: &str) -> [&str; 7] {
    ["search", "--target", url, "--slo", "ttft_p50<10s", "--max-requests", "600"]
}

#[test]
fn a_search_is_decided_by_rank_0_and_measured_by_all() {
    let engine = Engine::start(&[]);
    let folder = folder();
    let range = ["--start", "32", "--to", "64"];
    let ended = all(folder.path(), 2, &[&search(&engine.url)[..], &range, &CELL].concat());
    let together = summary(&ended[0]);
    assert!(together["searches"][0]["answer"].is_string(), "{}", together["searches"]);
    assert_eq!(ended[1].status.code(), Some(0), "{}", told(&ended[1]));
}

#[test]
fn the_time_limit_of_a_search_ends_the_trial_of_all_ranks() {
    let engine = Engine::start(&[]);
    let folder = folder();
    // At 2 requests/s, the first trial takes far longer than the time limit.
    let long = ["--input-lengths", "64", "--output-lengths", "4096", "--salt", "ranks", "--json"];
    let range = ["--start", "2", "--to", "4", "--max-time", "2s"];
    let ended = all(folder.path(), 2, &[&search(&engine.url)[..], &range, &long].concat());
    assert!(told(&ended[0]).contains("--max-time is reached"), "{}", told(&ended[0]));
    assert_eq!(ended[1].status.code(), Some(0), "{}", told(&ended[1]));
}

#[test]
fn each_rank_reports_why_the_ranks_cannot_run_together() {
    let engine = Engine::start(&[]);
    let plan = [&["run", "--target", &engine.url, "--requests", "4"], &CELL[..]].concat();
    let other = [&plan[..], &["--temperature", "0.5"]].concat();
    let short = [&plan[..], &["--join-timeout", "500ms"]].concat();
    let embedded = [&["run"], &CELL[..]].concat();
    let stops = [&plan[..], &["--rate", "5", "--stop-at-error-rate", "5%"]].concat();
    let staged = [&plan[..], &["--concurrency", "2s@1+2s@4"]].concat();
    let ab = ["ab", "--target", &engine.url];
    type Process<'a> = ((u32, u32), &'a [&'a str], i32, &'a str);
    let cases: [&[Process<'_>]; 9] = [
        &[
            ((0, 2), &plan, 2, "has a different plan than rank 0"),
            ((1, 2), &other, 2, "has a different plan"),
        ],
        &[
            ((0, 2), &plan, 2, "was started for 3 ranks, but rank 0 for 2"),
            ((1, 3), &plan, 2, "was started for 3 ranks"),
        ],
        &[
            ((0, 3), &short, 1, "1 of 2 other ranks did not join"),
            ((2, 3), &plan, 1, "rank 0 is lost"),
        ],
        &[((0, 3), &short, 1, "within 0.5 s (--join-timeout): ranks 1, 2")],
        &[((1, 2), &short, 1, "rank 1 (")],
        &[(
            (0, 2),
            &embedded,
            2,
            "target (--target): several ranks need the address of a common server",
        )],
        &[((0, 2), &stops, 2, "each rank would judge its own share")],
        &[((0, 2), &staged, 2, "with stages of requests in flight")],
        &[((0, 2), &ab, 2, "`inferometer ab` is a single process")],
    ];
    for processes in cases {
        let (folder, at) = (folder(), meeting());
        let started: Vec<_> = processes
            .iter()
            .map(|(place, arguments, ..)| {
                // `ab` does not join other processes.
                let own = arguments[0] == "ab";
                let set = [
                    ("INFEROMETER_RANK", place.0.to_string()),
                    ("INFEROMETER_RANKS", place.1.to_string()),
                ];
                let set = set.each_ref().map(|(name, value)| (*name, value.as_str()));
                match own {
                    true => Running::start_with(folder.path(), arguments, &set),
                    false => rank(folder.path(), *place, &at, arguments),
                }
            })
            .collect();
        for ((place, _, code, words), running) in processes.iter().zip(started) {
            let output = running.finish();
            assert_eq!(output.status.code(), Some(*code), "{place:?}: {}", told(&output));
            assert!(told(&output).contains(words), "{place:?}, {words}: {}", told(&output));
        }
    }
}

#[test]
fn a_second_rank_0_and_a_wrong_token_are_refused_and_the_run_completes() {
    let engine = Engine::start(&[]);
    let plan = [&["run", "--target", &engine.url, "--requests", "4"], &CELL[..]].concat();
    let (folder, at) = (folder(), meeting());
    let first = rank(folder.path(), (0, 2), &at, &plan);
    wait_until("rank 0", || std::net::TcpStream::connect(&at).is_ok());
    let second = rank(folder.path(), (0, 2), &at, &plan).finish();
    assert_eq!(second.status.code(), Some(2), "{}", told(&second));
    assert!(told(&second).contains("in use by another rank 0"), "{}", told(&second));
    let token = folder.path().join("token");
    std::fs::write(&token, "a secret that nobody else has").expect("written");
    let token = token.to_str().expect("a path");
    let stranger =
        rank(folder.path(), (1, 2), &at, &[&plan[..], &["--token-file", token]].concat());
    let stranger = stranger.finish();
    assert_eq!(stranger.status.code(), Some(1), "{}", told(&stranger));
    assert!(told(&stranger).contains("does not have the token"), "{}", told(&stranger));
    let member = rank(folder.path(), (1, 2), &at, &plan).finish();
    assert_eq!(member.status.code(), Some(0), "{}", told(&member));
    let lead = first.finish();
    assert!(told(&lead).contains("was refused: it does not have"), "{}", told(&lead));
    assert!(!told(&lead).contains("a secret that"), "{}", told(&lead));
    summary(&lead);
}

/// Starts a run of three ranks with two cells, and kills rank 1 when the first cell is stored. Returns the processes of
/// ranks 0 and 2. `output` is the output length of the second cell. It must be so long that this cell is still in
/// progress when rank 1 is killed.
pub fn two_of_three_ranks(folder: &Path, url: &str, output: &str) -> [Running; 2] {
    let outputs = format!("8,{output}");
    let load = ["--output-lengths", &outputs, "--concurrency", "3", "--requests", "6", "--quiet"];
    let run = [&["run", "--target", url, "--input-lengths", "64"], &load[..]].concat();
    let at = meeting();
    let [lead, mut lost, other] = [0, 1, 2].map(|number| rank(folder, (number, 3), &at, &run));
    let figures = folder.join("inferometer-out");
    wait_until("the first cell", || {
        figures.read_dir().is_ok_and(|mut runs| {
            runs.any(|run| run.is_ok_and(|run| run.path().join("summary.json").exists()))
        })
    });
    lost.signal("-KILL");
    let _ = lost.finish();
    [lead, other]
}

#[test]
fn the_loss_of_a_rank_ends_the_run_but_its_records_are_stored() {
    let (folder, engine) = (folder(), Engine::start_at("1", &[]));
    let [lead, other] = two_of_three_ranks(folder.path(), &engine.url, "8000");
    let lead = lead.finish();
    assert_eq!(lead.status.code(), Some(1), "{}", told(&lead));
    assert!(told(&lead).contains("rank 1 ("), "{}", told(&lead));
    assert!(told(&lead).contains("is lost: it closed its connection"), "{}", told(&lead));
    let other = other.finish();
    assert_eq!(other.status.code(), Some(1), "{}", told(&other));
    assert!(told(&other).contains("the run failed at rank 0"), "{}", told(&other));
    let runs = inferometer(folder.path(), &["runs", "--json"]);
    let runs: Value = serde_json::from_slice(&runs.stdout).expect("JSON");
    let stored = &runs["runs"][0];
    assert_eq!(stored["state"], "failed", "{runs}");
    let run = stored["run_id"].as_str().expect("a name");
    let shown = inferometer(folder.path(), &["report", run, "--json", "--out", "again"]);
    let shown: Value = serde_json::from_slice(&shown.stdout).expect("JSON");
    assert_eq!(shown["cells"][0]["passes"][0]["outcomes"]["complete"], 6, "{shown}");
    assert_eq!(shown["verdict"]["validity"], "suspect", "{}", shown["verdict"]);
}
