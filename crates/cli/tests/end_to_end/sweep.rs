//! `sweep` as users run it: in virtual time, and against a server over sockets.

use std::path::Path;

use serde_json::Value;

use crate::support::{Engine, folder, inferometer, told};

const CELL: [&str; 4] = ["--input-lengths", "64", "--output-lengths", "16"];

fn sweep(folder: &Path, code: i32, arguments: &[&str]) -> Value {
    let all = [&["sweep", "--json", "--quiet"], &CELL[..], arguments].concat();
    let output = inferometer(folder, &all);
    assert_eq!(output.status.code(), Some(code), "{}", told(&output));
    let summary = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let schema = include_str!("../../../../schema/summary.schema.json");
    let schema = serde_json::from_str(schema).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let errors: Vec<String> = validator.iter_errors(&summary).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    summary
}

#[test]
fn a_sweep_in_virtual_time_finds_a_knee_and_the_report_reproduces_it() {
    let folder = folder();
    // At the same rate, this engine can have a different speed in each trial. With seed 3, few trials are enough.
    for more in [&[][..], &["--by", "rate", "--seed", "3"]] {
        let few = ["--predict", "--max-num-seqs", "16", "--gpus", "2"];
        let summary = sweep(folder.path(), 0, &[&few[..], more].concat());
        let answer = &summary["sweeps"][0];
        assert_eq!(answer["outcome"], "found", "{answer}");
        let sentence = answer["answer"].as_str().expect("a sentence");
        assert!(sentence.contains("in the simulation, the server saturates at "), "{sentence}");
        let (knee, most) = (&answer["knee"], &answer["saturation"]["requests_per_s"]);
        let number = |of: &Value, key: &str| of[key].as_f64().expect("a number");
        assert!(number(knee, "low") <= number(knee, "load"), "{knee}");
        assert!(number(knee, "load") <= number(knee, "high"), "{knee}");
        assert!(number(most, "low") < number(most, "high"), "{most}");
        let first = &answer["levels"][0];
        assert_eq!((&first["by"], &first["load"]), (&"concurrency".into(), &1.0.into()));
        assert!(first["tokens_per_s_per_gpu"]["value"].is_f64(), "{first}");

        let run = summary["run_id"].as_str().expect("a name");
        let again = inferometer(folder.path(), &["report", run, "--json", "--out", "again"]);
        let again: Value = serde_json::from_slice(&again.stdout).expect("JSON");
        assert_eq!(again["sweeps"], summary["sweeps"]);
        assert_eq!(again["findings"], summary["findings"]);
        let page = folder.path().join("again");
        let report = std::fs::read_to_string(page.join("report.md")).expect("a report");
        let [answer, trials] =
            ["the server saturates at ", "## Trials"].map(|words| report.find(words));
        assert!(answer.expect("the answer") < trials.expect("the trials"), "{report}");
        for chart in ["sweep-latency", "sweep-throughput", "sweep-front"] {
            assert!(page.join(format!("{chart}.png")).exists(), "{chart}");
        }
        let shown = inferometer(folder.path(), &["show", run]);
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        assert!(shown.contains(&format!("inferometer sweep --predict {run}.toml")), "{shown}");
    }
    let runs = inferometer(folder.path(), &["runs"]);
    assert!(runs.status.success(), "{}", told(&runs));
}

#[test]
fn a_sweep_of_a_server_prints_its_answer_as_the_last_line() {
    let engine = Engine::start(&[]);
    let folder = folder();
    let asked = ["--target", &engine.url, "--max-concurrency", "2", "--max-requests", "200"];
    let output = inferometer(folder.path(), &[&["sweep", "--quiet"], &CELL[..], &asked].concat());
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let last = text.lines().last().unwrap_or_default();
    assert!(last.starts_with("answer: 64 x 16: "), "{text}");
}

#[test]
fn a_run_on_a_server_without_lengths_and_loads_answers_within_its_budget() {
    let engine = Engine::start(&[]);
    let folder = folder();
    let asked = ["run", "--target", &engine.url, "--budget", "10s", "--plots", "none"];
    let output = inferometer(folder.path(), &asked);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert!(told(&output).contains(" tokens a request, which takes "), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let last = text.lines().last().unwrap_or_default();
    assert!(last.starts_with("answer: "), "{text}");
    assert!(last.contains(": One user: first token after ") && last.contains("ttft_p95<1s is "));
}

#[test]
fn the_time_limit_ends_a_sweep_within_its_first_trial_also_in_virtual_time() {
    let engine = Engine::start_at("0.01", &[]);
    let folder = folder();
    let time = ["--max-time", "1s", "--warmup", "0"];
    for target in [&["--target", engine.url.as_str()][..], &["--predict"]] {
        let summary = sweep(folder.path(), 1, &[target, &time].concat());
        let answer = &summary["sweeps"][0];
        assert_eq!((&answer["outcome"], &answer["trials"]), (&"time_spent".into(), &0.into()));
        let sentence = answer["answer"].as_str().expect("a sentence");
        assert!(sentence.contains("the time limit was reached"), "{sentence}");
        let run = summary["run_id"].as_str().expect("a name");
        let again = inferometer(folder.path(), &["report", run, "--json", "--out", "again"]);
        let again: Value = serde_json::from_slice(&again.stdout).expect("JSON");
        assert_eq!(again["sweeps"], summary["sweeps"]);
    }
}

#[test]
fn the_time_limit_ends_a_predicted_sweep_or_search_between_two_trials() {
    let folder = folder();
    let common = ["--json", "--quiet", "--predict", "--max-time", "55s", "--cooldown", "10s"];
    let search = ["search", "--over", "concurrency", "--precision", "0.1%", "--goodput", "ttft<5s"];
    for (command, answers) in [(&["sweep"][..], "sweeps"), (&search, "searches")] {
        let output = inferometer(folder.path(), &[command, &common, &CELL].concat());
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
        let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(summary[answers][0]["outcome"], "time_spent", "{}", summary[answers][0]);
        let passes = summary["cells"][0]["passes"].as_array().expect("passes");
        assert!(passes.iter().all(|pass| pass["stopped"].is_null()), "a trial was ended early");
        let run = summary["run_id"].as_str().expect("a name");
        let again = inferometer(folder.path(), &["report", run, "--json", "--out", "again"]);
        let again: Value = serde_json::from_slice(&again.stdout).expect("JSON");
        assert_eq!(again[answers], summary[answers]);
    }
}

#[test]
fn a_sweep_of_two_servers_draws_both_in_one_chart() {
    let engine = Engine::start(&[]);
    let folder = folder();
    let target = |name: &str| format!("[[target]]\nname = '{name}'\nurl = '{}'\n", engine.url);
    let plan = format!(
        "input_lengths = [64]\noutput_lengths = [16]\nout = 'both'\nplots = 'svg'\n[sweep]\nmax_concurrency = 2\n{}{}",
        target("one"),
        target("two")
    );
    std::fs::write(folder.path().join("plan.toml"), plan).expect("a plan");
    let output = inferometer(folder.path(), &["sweep", "plan.toml", "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let picture = folder.path().join("both/sweep-latency.svg");
    let picture = std::fs::read_to_string(picture).expect("a picture");
    assert!(picture.contains("one") && picture.contains("two"));
    let page = std::fs::read_to_string(folder.path().join("both/comparison.html")).expect("a page");
    // The chart `sweep-front` needs the times between tokens. They are unknown if a busy client reads several tokens in
    // one read.
    assert!(page.contains("sweep-throughput"));
}

#[test]
fn flags_that_do_not_fit_a_sweep_are_refused_and_a_dry_run_states_its_limits() {
    let folder = folder();
    for (arguments, words) in [
        (&["--rate", "3"][..], "rate (--rate): cannot be set: a sweep chooses the loads"),
        (&["--max-rate", "3"], "add --by rate"),
        (&["--stop-when-saturated"], "cannot be set: a sweep chooses the loads"),
        (&["--max-num-seqs", "3"], "add --predict"),
        (&["--resume", "a", "--predict"], "leave out --predict"),
        (&["--junit", "out.xml"], "junit (--junit): a sweep has no objectives"),
        (&["--predict", "--junit", "out.xml"], "junit (--junit): a sweep has no objectives"),
    ] {
        let output = inferometer(folder.path(), &[&["sweep"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", told(&output));
        assert!(told(&output).contains(words), "{arguments:?}: {}", told(&output));
    }
    let output = inferometer(folder.path(), &[&["sweep", "--dry-run"], &CELL[..]].concat());
    let plan = String::from_utf8_lossy(&output.stdout).into_owned();
    for words in
        ["[sweep]", "max_concurrency = 1024", "ends when the server is saturated", "at most about"]
    {
        assert!(plan.contains(words), "{words}: {plan}");
    }
    assert!(!folder.path().join("inferometer.db").exists(), "a store was created");
}
