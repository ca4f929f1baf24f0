//! `trace`: what the command prints, writes and refuses.

use std::path::Path;

use serde_json::Value;

use crate::support::{folder, inferometer, told};

fn sample(file: &str) -> String {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    crates.join("workload/tests/jobs").join(file).display().to_string()
}

#[test]
fn a_trace_is_described_in_30_lines_and_written_in_another_format() {
    let folder = folder();
    let weka = sample("weka_job_a.json");
    let output =
        inferometer(folder.path(), &["trace", &weka, "--to", "mooncake", "--out", "job.jsonl"]);
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(output.status.success(), "{}", told(&output));
    assert!(text.lines().count() <= 30, "{text}");
    assert!(text.contains("  in the model         39.4 %"), "{text}");
    assert!(
        told(&output).contains("no place for start of 6 calls, end of 7 calls"),
        "{}",
        told(&output)
    );
    let figures = |file: &str| {
        let output = inferometer(folder.path(), &["trace", file, "--json", "--block-size", "128"]);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let figures = &document["figures"];
        ["jobs", "sessions", "depth", "fan_out", "prompt", "ideal"]
            .map(|name| figures[name].clone())
    };
    assert_eq!(figures("job.jsonl"), figures(&weka));
}

#[test]
fn a_trace_that_cannot_be_read_or_written_is_one_error() {
    let folder = folder();
    let (weka, mooncake) = (sample("weka_job_a.json"), sample("agentic_mooncake_block64.jsonl"));
    for (arguments, code, expected) in [
        (vec!["trace", "absent.jsonl"], 1, "absent.jsonl"),
        (
            vec!["trace", &weka, "--format", "colour"],
            1,
            "--format: there is no `colour`; set --format to one of: agentic-mooncake, aiperf",
        ),
        (
            vec!["trace", &weka, &mooncake],
            1,
            "is agentic-mooncake, but the files before it are weka",
        ),
        (
            vec!["trace", &mooncake, "--to", "weka", "--out", "x"],
            1,
            "--to weka: `A1` (line 1) has no start or no end",
        ),
        (vec!["trace", &weka, "--to", "weka"], 2, "--out <FILE>"),
        (vec!["trace", &weka, "--to", "weka", "--out", "-"], 2, "--out: cannot be `-`"),
        (vec!["trace", &weka, "--block-size", "0"], 2, "--block-size"),
    ] {
        let output = inferometer(folder.path(), &arguments);
        let text = told(&output);
        assert_eq!(output.status.code(), Some(code), "{text}");
        assert!(text.contains(expected), "{text}");
    }
    assert!(!folder.path().join("x").exists());
}
