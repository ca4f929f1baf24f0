//! Servers that a run starts itself: servers that die, do not start, or fill their log. No server process may remain.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::{Engine, PATIENCE_S, Running, fits_its_schema, folder, inferometer, told};

/// Writes a plan with small cells and a server to start. `cells` are the input lengths as TOML.
fn write_plan(folder: &Path, cells: &str, server: &str) {
    let plan = format!(
        "input_lengths = {cells}\noutput_lengths = [8]\npasses = [\"saturated\"]\nrequests = 12\n\
         warmup = 0\n[server]\n{server}\n"
    );
    fs::write(folder.join("plan.toml"), plan).expect("a plan");
}

fn run(folder: &Path) -> (Output, Option<Value>) {
    let output = inferometer(folder, &["run", "plan.toml", "--json", "--out", "out"]);
    let summary = fs::read(folder.join("out/summary.json")).ok();
    (output, summary.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

#[test]
fn a_launched_server_is_measured_and_its_arguments_and_log_are_stored() {
    let folder = folder();
    write_plan(
        folder.path(),
        "[16]",
        "command = ['{inferometer}', 'engine', '--listen', '{host}:{port}', '--model', '{model}']\n\
         model = 'chatglm3-6b'\narguments = { max-num-seqs = 4, speed = 100 }",
    );
    let (output, summary) = run(folder.path());
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let summary = summary.expect("a summary");
    assert_eq!(summary["cells"][0]["passes"][0]["outcomes"]["complete"], 12);
    assert_eq!(summary["target"]["facts"]["--max-num-seqs"], "4");
    let log = fs::read_to_string(folder.path().join("out/server.log")).expect("its log");
    assert!(log.contains("listening on"), "{log}");
}

#[test]
fn a_launched_server_states_the_phases_of_its_log_and_when_it_gave_its_first_token() {
    let folder = folder();
    write_plan(
        folder.path(),
        "[16]",
        "ready_url = '/health'\ncommand = '''sleep 0.1; echo Load weight end. elapsed=9999.00 s; exec \
         {inferometer} engine --listen {host}:{port} --speed 100'''",
    );
    let output = inferometer(folder.path(), &["run", "plan.toml", "--out", "out"]);
    let told = told(&output);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let summary = fs::read(folder.path().join("out/summary.json")).expect("a summary");
    let summary: Value = serde_json::from_slice(&summary).expect("JSON");
    fits_its_schema(&summary);
    let startup = &summary["target"]["startup"];
    let time = |place: &str| startup.pointer(place).and_then(Value::as_f64).expect("a time");
    let places = ["/port_s/1", "/ready_s/1", "/request_s", "/first_token_s"];
    assert!(places.map(time).is_sorted() && time("/ready_s/0") <= time("/ready_s/1"), "{startup}");
    // The absurd length in the log cannot be longer than the start so far.
    let phases = startup["phases"].as_array().expect("phases");
    assert_eq!(phases.len(), 1, "{startup}");
    assert!(phases.iter().all(|it| it["name"] == "weights" && it["from"] == "stated"), "{startup}");
    let of_phases: f64 = phases.iter().filter_map(|it| it["seconds"].as_f64()).sum();
    assert!((of_phases + time("/rest_s") - time("/ready_s/1")).abs() < 0.002, "{startup}");
    assert!(told.contains("server ready after") && told.contains("first token after"), "{told}");
    let report = fs::read_to_string(folder.path().join("out/report.md")).expect("a report");
    assert!(report.contains("**Start**: ready after"), "{report}");
    let shown = inferometer(folder.path(), &["show", "--json"]);
    let shown: Value = serde_json::from_slice(&shown.stdout).expect("one document");
    assert_eq!(shown["target"]["startup"], *startup);
}

#[test]
fn a_server_that_dies_is_restarted_for_the_next_cell_and_the_run_fails() {
    let folder = folder();
    write_plan(
        folder.path(),
        "[16, 24]",
        "command = '''echo attempt; mkdir first 2>/dev/null && set -- --fault die@9 \"$@\"; exec \
         {inferometer} engine --listen {host}:{port} --speed 100'''",
    );
    let (output, summary) = run(folder.path());
    let told = told(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("16 x 8, saturated: the server ended"), "{told}");
    assert!(told.contains("| attempt"), "{told}");
    let summary = summary.expect("a summary");
    // The last lines of the log are printed only once. The finding contains only the first error in the log.
    assert_eq!(told.matches("| attempt").count(), 1, "{told}");
    let findings = summary["findings"].as_array().expect("findings");
    let died = findings.iter().find(|finding| finding["code"] == "server_died").expect("a finding");
    let message = died["message"].as_str().expect("text");
    assert!(message.contains("its first error: error: an injected fault"), "{message}");
    assert!(!message.contains("attempt"), "{message}");
    let cells = &summary["cells"];
    assert!(cells[0]["passes"][0]["outcomes"]["complete"].as_u64() < Some(12), "{told}");
    assert_eq!(cells[1]["passes"][0]["outcomes"]["complete"], 12, "{told}");
}

#[test]
fn a_server_that_fails_to_start_is_reported_with_the_last_lines_of_its_log() {
    let begin = |command: &str, ready_timeout: &str| {
        let folder = folder();
        let server =
            format!("command = '{command}'\nready_timeout = '{ready_timeout}'\ngrace = '1s'");
        write_plan(folder.path(), "[16]", &server);
        let (output, _) = run(folder.path());
        assert_eq!(output.status.code(), Some(1), "{}", told(&output));
        told(&output)
    };
    let told = begin("echo first; echo no such model >&2; exit 3", "1h");
    assert!(told.contains("ended (exit status: 3)"), "{told}");
    assert!(told.contains("| no such model"), "{told}");
    // The last line is printed only if the server wrote it within the timeout.
    let has_line = PATIENCE_S.into_iter().any(|patience_s| {
        let told = begin("echo no such model; exec sleep 100000", &format!("{patience_s}s"));
        let words = format!("not ready after {patience_s} s (ready_timeout)");
        assert!(told.contains(&words), "{told}");
        told.contains("| no such model")
    });
    assert!(has_line, "the last lines of the log were not printed with any timeout");
}

#[test]
fn a_missing_server_program_and_a_port_in_use_are_reported() {
    let other = Engine::start(&[]);
    let port = other.url.rsplit(':').next().expect("a port");
    for (server, words) in [
        (
            "command = ['no-such-program-here']".to_owned(),
            "`no-such-program-here` cannot be started",
        ),
        (format!("command = ['true']\nport = {port}"), "is in use: vllm"),
    ] {
        let folder = folder();
        write_plan(folder.path(), "[16]", &server);
        let (output, _) = run(folder.path());
        let told = told(&output);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains(words), "{told}");
    }
}

#[test]
fn the_middle_of_a_server_log_above_its_limit_is_replaced_by_a_note() {
    let folder = folder();
    write_plan(
        folder.path(),
        "[16]",
        "log_limit_mib = 1\ncommand = '''echo the beginning; yes the middle | head -n 300000; exec \
         {inferometer} engine --listen {host}:{port} --speed 100'''",
    );
    let (output, _) = run(folder.path());
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let log = fs::read_to_string(folder.path().join("out/server.log")).expect("its log");
    assert!(log.len() < (1 << 20) + 200, "{} bytes", log.len());
    assert!(log.starts_with("the beginning\n") && log.contains("listening on"));
    assert!(log.contains("bytes of the log were left out here"));
}

/// Starts a run whose server has a child process in a separate session. Server and child keep the returned pipe open.
fn with_a_grandchild(folder: &Path) -> (Running, File) {
    let made = Command::new("mkfifo").arg(folder.join("pipe")).status().expect("mkfifo runs");
    assert!(made.success());
    let command = "exec 9>pipe; trap \"\" TERM; setsid sleep 100000 & sleep 100000";
    write_plan(folder, "[16]", &format!("grace = '1s'\ncommand = '''{command}'''"));
    let run = Running::start(folder, &["run", "plan.toml", "--quiet"]);
    // Opening the pipe waits until the server has opened the other end.
    (run, File::open(folder.join("pipe")).expect("the pipe"))
}

#[test]
fn no_process_of_a_launched_server_survives_a_killed_or_interrupted_run() {
    for signal in ["-KILL", "-INT"] {
        let folder = folder();
        let (mut run, mut pipe) = with_a_grandchild(folder.path());
        run.signal(signal);
        // Reading ends only after every process with an open write end of the pipe has ended.
        let mut nothing = Vec::new();
        pipe.read_to_end(&mut nothing).expect("the end of the pipe");
        let status = run.finish().status;
        assert_eq!(status.code(), if signal == "-INT" { Some(130) } else { None });
    }
}

#[test]
fn a_failed_run_is_resumed_and_its_completely_measured_cells_are_copied() {
    let folder = folder();
    // The first server dies in the second cell, the second server does not start, and the third server works.
    write_plan(
        folder.path(),
        "[16, 24, 32]",
        "command = '''mkdir a 2>/dev/null && set -- --fault die@20 \"$@\" || { mkdir b 2>/dev/null && \
         exit 3; }; exec {inferometer} engine --listen {host}:{port} --speed 100'''",
    );
    let (output, _) = run(folder.path());
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    let resumed = inferometer(folder.path(), &["run", "--resume", "latest", "--json"]);
    let told = told(&resumed);
    assert_eq!(resumed.status.code(), Some(0), "{told}");
    assert!(told.contains("16 x 8, saturated, copied"), "{told}");
    assert!(!told.contains("24 x 8, saturated, copied"), "{told}");
    let summary: Value = serde_json::from_slice(&resumed.stdout).expect("one document");
    let cells = summary["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 3);
    for cell in cells {
        assert_eq!(cell["passes"][0]["outcomes"]["complete"], 12, "{told}");
    }
    // The prompts are those of an uninterrupted run.
    let salt = summary["environment"]["salt"].as_str().expect("a salt");
    let whole = inferometer(folder.path(), &["run", "plan.toml", "--json", "--salt", salt]);
    let whole: Value = serde_json::from_slice(&whole.stdout).expect("one document");
    assert_eq!(whole["workload_hash"], summary["workload_hash"]);
    // The results of the new run are computed again from its own log. A complete run cannot be resumed.
    let run_id = summary["run_id"].as_str().expect("a name");
    let again = inferometer(folder.path(), &["report", run_id, "--json"]);
    assert_eq!(again.stdout, resumed.stdout);
    let nothing = inferometer(folder.path(), &["run", "--resume", run_id]);
    assert_eq!(nothing.status.code(), Some(2));
}
