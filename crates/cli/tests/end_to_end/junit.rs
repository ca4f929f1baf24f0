//! `--junit` of `run`, `search` and `ab`: no file reports success if the command failed.

use std::fs;
use std::path::Path;

use crate::support::{
    Engine, Nobody, Scraped, folder, inferometer, run_of_one_token, small_run, told,
};

const SLO: [&str; 4] = ["--slo", "ttft_p50<1000000ms", "--junit", "slo.xml"];

/// Runs a command that must fail with exit code 1, and returns the JUnit file that it wrote.
fn written(folder: &Path, arguments: &[&str]) -> String {
    let out = inferometer(folder, arguments);
    assert_eq!(out.status.code(), Some(1), "{}", told(&out));
    let text = fs::read_to_string(folder.join("slo.xml")).expect("a file");
    assert!(text.contains("value=\"FAIL: ") && !text.contains("value=\"PASS"), "{text}");
    text
}

#[test]
fn too_many_failed_requests_and_an_unreachable_server_are_errors_in_the_junit_file() {
    let (folder, engine) = (folder(), Engine::start(&["--fault", "cut@5"]));
    let text = written(folder.path(), &[&small_run(&engine.url)[..], &SLO].concat());
    assert!(text.contains("tests=\"2\" failures=\"0\" errors=\"1\""), "{text}");
    assert!(text.contains("1 of 6 requests failed"), "{text}");
    // A run that fails at its start must replace the file of an earlier run.
    let nobody = Nobody::new();
    let text = written(folder.path(), &[&small_run(&nobody.url)[..], &SLO].concat());
    assert!(text.contains("tests=\"1\" failures=\"0\" errors=\"1\""), "{text}");
    assert!(text.contains("refused") && !text.contains("ttft_p50"), "{text}");
    fs::remove_file(folder.path().join("slo.xml")).expect("the file exists");
    let cell = ["--input-lengths", "24", "--output-lengths", "12"];
    let search = [&["search", "--target", &nobody.url][..], &cell, &SLO].concat();
    assert!(written(folder.path(), &search).contains("refused"));
}

#[test]
fn each_failed_server_of_a_group_is_an_error_in_the_junit_file() {
    let (folder, engine) = (folder(), Engine::start(&[]));
    let plan = format!(
        "input_lengths = [16]\noutput_lengths = [8]\npasses = ['saturated']\nrequests = 6\n\
         warmup = 0\n[[target]]\nname = 'running'\nurl = '{}'\n[[target]]\nname = 'broken'\n\
         server = {{ command = 'echo no card; exit 3' }}\n",
        engine.url
    );
    fs::write(folder.path().join("plan.toml"), plan).expect("a plan");
    let text = written(folder.path(), &[&["run", "plan.toml"][..], &SLO].concat());
    assert!(text.contains("tests=\"2\" failures=\"0\" errors=\"1\""), "{text}");
    assert!(text.contains("name=\"broken\"") && text.contains("no card"), "{text}");
    let out = inferometer(folder.path(), &["run", "--slo", "ttft_p50<1s", "--junit", "-"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(told(&out).contains("give the name of a file"), "{}", told(&out));
}

#[test]
fn an_objective_that_was_not_measured_fails_a_strict_run() {
    let (folder, engine) = (folder(), Engine::start(&[]));
    // An output of one token has no time between tokens.
    let objective = ["--slo", "itl_p50<1s"];
    let code = |more: &[&str]| {
        let flags = [&run_of_one_token(&engine.url)[..], &objective, more].concat();
        inferometer(folder.path(), &flags).status.code()
    };
    assert_eq!((code(&[]), code(&["--strict"])), (Some(0), Some(4)));
}

#[test]
fn the_junit_file_states_why_a_comparison_could_not_be_carried_out() {
    let (folder, nobody) = (folder(), Nobody::new());
    let sides = ["ab", "--quiet", "--yes", "--target", &nobody.url, "--target", &nobody.url];
    let load = ["--input-lengths", "8", "--output-lengths", "4", "--concurrency", "1"];
    let gate = ["--gate", "ttft_p50<+5%", "--junit", "slo.xml"];
    let text = written(folder.path(), &[&sides[..], &load, &gate].concat());
    assert!(text.contains("refused") && !text.contains("did not end"), "{text}");
}

#[test]
fn the_junit_file_of_an_earlier_run_is_replaced_before_the_run_begins() {
    let folder = folder();
    let file = folder.path().join("slo.xml");
    fs::write(&file, "value=\"PASS: met\"").expect("a file");
    // At this speed, no answer ends before the process is killed.
    let lengths = ["--input-lengths", "32", "--output-lengths", "8000", "--speed", "0.1"];
    let load = ["--requests", "50", "--concurrency", "2", "--warmup", "0"];
    let mut scraped = Scraped::start(folder.path(), &[&lengths[..], &load, &SLO].concat());
    scraped.wait_for("inferometer_requests_begun_total", 2.0);
    scraped.run.signal("-KILL");
    scraped.run.finish();
    let text = fs::read_to_string(&file).expect("a file");
    assert!(text.contains("value=\"FAIL: the run did not end") && !text.contains("PASS"), "{text}");
}
